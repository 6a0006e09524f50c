"""Find the candidates that can be compared here: installed, cached, or fetched for the measurement.

Packages that the target lacks are fetched into our cache; nothing is installed into the target. Finding out which
modules the target can import only imports the packages that contain them.

`<cache>/libraries/<key>/` is a directory for the front of a process's path: a package with all its requirements,
including numpy, so that one run can measure stacks that could not be installed together. The key covers the request and
the interpreter's ABI. An entry is complete or absent, keeps the versions that were newest when it was made, and may be
removed at any time.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from fastinstall.bench import candidates
from fastinstall.bench.catalogue import HUGE_PAGES, HUGE_PAGES_TITLE, Description, all_adapters, all_kinds
from fastinstall.bench.effort import BenchContext
from fastinstall.bench.loading import NotLoadedError
from fastinstall.bench.report import Candidate, CandidateKind, CandidateOutcome
from fastinstall.core import codec, process, sealed_trees, temporary_directories
from fastinstall.core.errors import RefusedError, UsageError
from fastinstall.core.events import Emit, ignore
from fastinstall.core.process import CommandError, run
from fastinstall.core.values import immutable
from fastinstall.index.pip import argv_for, pip_environment
from fastinstall.index.pip_indexes import pip_settings
from fastinstall.model.facts import Interpreter
from fastinstall.wheelbuild.wheel_cache import reserve_cache_key

_ALL = "all"


@immutable
class PossibleCandidate:
    """A possible candidate.

    Attributes:
        name: stable, in kebab case.
        title: its name in tables and advice.
        kind: which part of the environment it changes.
        requirements: packages that it needs; `--with NAME` fetches them.
    """

    name: str
    title: str
    kind: CandidateKind
    requirements: tuple[str, ...] = ()


def list_known_candidates() -> tuple[PossibleCandidate, ...]:
    """Return every candidate, even if it cannot be measured on this machine."""
    known: tuple[tuple[CandidateKind, str, str, tuple[str, ...]], ...] = (
        (CandidateKind.STACK, candidates.FASTINSTALL, "fastinstall's build, not yet installed", ()),
        (CandidateKind.STACK, candidates.OFFICIAL_WHEEL, "the newest official wheel of Pillow", ()),
        *((CandidateKind.DECODER, each.name, each.title, each.brings) for each in all_adapters()),
        (CandidateKind.SETTING, HUGE_PAGES, HUGE_PAGES_TITLE, ()),
        *((CandidateKind.STORAGE, each.name, each.title, each.brings) for each in all_kinds()),
    )
    return tuple(
        PossibleCandidate(name=name, title=title, kind=kind, requirements=needs) for kind, name, title, needs in known
    )


def choose_candidate_runs(
    context: BenchContext, official: candidates.UnpackedPackages | None, ours: candidates.UnpackedPackages | None
) -> tuple[candidates.CandidateRun, ...]:
    """Return what to compare with the baseline; requested packages are fetched now.

    Args:
        context: where it is measured.
        official: the official wheel, or None if it is installed already.
        ours: our build, or None if it is installed already.

    Raises:
        UsageError: a requested name is not a candidate's, or has no packages.
    """
    known = {each.name: each for each in list_known_candidates()}
    names = context.request.candidates
    unknown = [name for name in names if name not in known]
    if unknown:
        raise UsageError(f"no candidate is named {unknown[0]!r}", hint=f"choose from: {', '.join(known)}")
    materials = candidates.Materials(
        machine=context.machine,
        variables=context.session.variables,
        own_loader=bool(context.request.loader),
        official=official,
        fastinstall=ours,
        libraries=dict(_find_libraries(context)),
    )
    found = {each.name: each for each in candidates.make_candidate_runs(materials) if not names or each.name in names}
    return (*found.values(), *(_make_absent_run(known[name]) for name in names if name not in found))


def _make_absent_run(known: PossibleCandidate) -> candidates.CandidateRun:
    """Return a requested candidate that does not exist on this machine."""
    is_stack = known.kind is CandidateKind.STACK
    reason = "it is installed already" if is_stack else "it is set already, or unknown to this system"
    candidate = Candidate(name=known.name, title=known.title, kind=known.kind, variables={})
    return candidates.CandidateRun(candidate=candidate, absent=reason, absence=CandidateOutcome.UNSUITED)


def _find_libraries(context: BenchContext) -> Iterator[tuple[str, candidates.UnpackedPackages]]:
    """Yield, by name, what is fetched or missing; what only needs Pillow is left out."""
    both: tuple[Description, ...] = (*all_adapters(), *all_kinds())
    needs = {each.name: each for each in both if set(each.modules) - {"PIL"}}
    wanted = _choose_fetched(context, needs)
    names = [module for each in needs.values() for module in each.modules]
    there = find_modules(names, context.python, context.session.variables)
    for name, need in needs.items():
        lacking = [module for module in need.modules if module not in there]
        if name in wanted:
            yield name, _fetch_unpacked(context, need)
        elif lacking:
            cure = need.by_hand or _explain_fetching(name)
            yield name, candidates.UnpackedPackages(absent=f"{lacking[0]} is not installed; {cure}")


def _choose_fetched(context: BenchContext, needs: Mapping[str, Description]) -> tuple[str, ...]:
    asked = context.request.bring
    if asked == (_ALL,):
        return tuple(name for name, need in needs.items() if not need.by_hand)
    for name in asked:
        if name not in needs:
            problem = f"--with {name}: no candidate of that name has packages to fetch"
            raise UsageError(problem, hint=f"--with {_ALL}, or choose from: {', '.join(needs)}")
    return asked


def _fetch_unpacked(context: BenchContext, need: Description) -> candidates.UnpackedPackages:
    if need.by_hand:
        return candidates.UnpackedPackages(absent=need.by_hand)
    fetching = PackageFetching(
        interpreter=context.facts.interpreter,
        cache=context.session.own_cache(),
        variables=context.session.variables,
        emit=context.session.emit,
        offline=context.request.quick,
        sdists=need.sdists,
    )
    try:
        return candidates.UnpackedPackages(directory=fetch_packages(need.name, need.brings, fetching))
    except NotLoadedError as error:
        return candidates.UnpackedPackages(absent=error.reason)


def _explain_fetching(name: str) -> str:
    return f"to measure it anyway: fastinstall bench --with {name}"


_SECONDS = 300.0


@immutable
class PackageFetching:
    """How to fetch packages.

    Attributes:
        interpreter: the target's; its ABI counts.
        cache: root of our cache.
        variables: environment variables; with pip's own settings they name the index.
        emit: receives an event while this waits for another process.
        offline: whether the network is forbidden.
        sdists: packages that may come as source distributions, because they have no wheels and compile nothing.
    """

    interpreter: Interpreter
    cache: Path
    variables: Mapping[str, str]
    emit: Emit = ignore
    offline: bool = False
    sdists: tuple[str, ...] = ()


def fetch_packages(name: str, requirements: Sequence[str], fetching: PackageFetching) -> Path:
    """Return packages in our cache, fetched if missing.

    Args:
        name: of the adapter or store that needs them, for messages.
        requirements: what to install, in pip's syntax (PEP 508).
        fetching: interpreter, cache and network to fetch with.

    Returns:
        A directory for `Job.site`.

    Raises:
        NotLoadedError: fetching failed, which is the candidate's outcome: the reason, in pip's words.
    """
    place = _place(requirements, fetching)
    if sealed_trees.is_intact(place, cache=fetching.cache):
        return place
    if fetching.offline:
        raise _missing(f"its packages are not in the cache, and --quick fetches nothing; {_explain_fetching(name)}")

    try:
        with reserve_cache_key(fetching.cache, place.name, fetching.emit, f"fetches the packages of {name}"):
            if not sealed_trees.is_intact(place, cache=fetching.cache):
                _fetch(name, requirements, fetching, place)
    except OSError as error:
        raise _missing(f"{name} could not be put into {fetching.cache}: {error}") from error
    return place


def _missing(reason: str) -> NotLoadedError:
    return NotLoadedError(CandidateOutcome.MISSING, reason)


def _place(requirements: Sequence[str], fetching: PackageFetching) -> Path:
    interpreter = fetching.interpreter
    key = codec.digest(
        {
            "requirements": sorted(requirements),
            "python": f"{interpreter.implementation} {interpreter.version.rpartition('.')[0]} {interpreter.abi}",
            "platform": f"{interpreter.platform} {interpreter.libc} {interpreter.libc_version}",
            "indexes": "\n".join(pip_settings(Path(interpreter.executable), fetching.variables).places),
        }
    )
    return fetching.cache / "libraries" / key


def _fetch(name: str, requirements: Sequence[str], fetching: PackageFetching, place: Path) -> None:
    """Fetch with pip: only wheels, except packages without wheels that compile nothing."""
    sdists = ("--no-binary", ",".join(fetching.sdists)) if fetching.sdists else ()
    with temporary_directories.temporary_directory("libraries", within=fetching.cache / "tmp") as space:
        words = ("install", "--quiet", "--progress-bar", "off", "--no-compile", "--only-binary", ":all:", *sdists)
        environment = {**pip_environment(fetching.variables), "TMPDIR": str(space)}
        try:
            argv = (*argv_for(fetching.interpreter), *words, "--target", str(space / "site"), *requirements)
            run(argv, environment=environment, timeout=_SECONDS)
        except (CommandError, RefusedError) as error:
            raise _missing(f"{name} could not be fetched: {_summarize_pip_error(error)}") from error
        sealed_trees.publish_sealed(space / "site", place, space / "aside", cache=fetching.cache)


def _summarize_pip_error(error: CommandError | RefusedError) -> str:
    """Return pip's last complaint, or why pip was not run."""
    complaints = [each.partition("ERROR: ")[2] for each in error.details if each.startswith("stderr: ERROR: ")]
    return complaints[-1] if complaints else error.message


_LOOK_SECONDS = 60.0
_PROGRAM = """
import importlib.util, json, sys

def there(name):
    try:
        return importlib.util.find_spec(name) is not None
    except Exception:
        return False

stdout, sys.stdout = sys.stdout, sys.stderr
found = [name for name in json.loads(sys.argv[1]) if there(name)]
stdout.write(json.dumps(found))
"""


def find_modules(names: Iterable[str], python: Path, variables: Mapping[str, str]) -> frozenset[str]:
    """Return those of these modules that are installed; none if the interpreter cannot tell.

    Args:
        names: dotted names of modules to look for.
        python: path of the target's interpreter, which looks for them.
        variables: the complete environment of the process.
    """
    words = (python, "-I", "-B", "-c", _PROGRAM, json.dumps(sorted(set(names))))
    try:
        done = process.run(words, environment={**variables, "FASTINSTALL_GUARD": "0"}, timeout=_LOOK_SECONDS)
    except process.CommandError:
        return frozenset()
    return frozenset(json.loads(done.stdout))
