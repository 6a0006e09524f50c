"""Find the packages that candidates need: installed in the target, or fetched into the cache for the measurement.

Fetched packages are in `<cache>/libraries/<key>/`, which goes to the front of a process's `sys.path`. The directory
contains a package with all its requirements, including numpy, so one run can measure packages that could not be
installed together. The key is a digest of the requirements, the interpreter's ABI, the platform and the index. An entry
is complete or absent, keeps the versions that were newest when it was fetched, and may be removed at any time. Nothing
is installed into the target.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from fastinstall.bench.catalogue import Way, all_ways, missing
from fastinstall.bench.loading import NotLoadedError, start_target
from fastinstall.bench.report import Candidate
from fastinstall.core import codec, sealed_trees
from fastinstall.core.errors import FastinstallError, RefusedError, UsageError
from fastinstall.core.messages import quote
from fastinstall.core.process import CommandError, run
from fastinstall.index.pip import argv_for, pip_environment, pip_settings
from fastinstall.model.facts import Interpreter
from fastinstall.observe.session import Session
from fastinstall.wheelbuild.wheel_cache import reserve_cache_key

_ALL = "all"
_FETCH_SECONDS, _LOOK_SECONDS = 300.0, 60.0


def require_fetchable(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of candidates whose packages are fetched; expand ("all",) to all that may be fetched.

    Raises:
        UsageError: a name is unknown, or the candidate of that name needs no packages.
    """
    needs = {name: way for name, way in all_ways().items() if set(way.modules) - {"PIL"}}
    if names == (_ALL,):
        return tuple(name for name, way in needs.items() if not way.by_hand)
    for name in names:
        if name not in needs:
            problem = f"--with {name}: no candidate of that name has packages to fetch"
            raise UsageError(problem, hint=f"--with {_ALL}, or choose from: {', '.join(needs)}")
    return names


def find_libraries(
    session: Session,
    interpreter: Interpreter,
    candidates: Sequence[Candidate],
    fetched: Sequence[str],
    *,
    offline: bool,
) -> tuple[Candidate, ...]:
    """Return the candidates, each with the directory of its fetched packages if it has any.

    A candidate whose packages are neither installed nor fetched is marked as missing, with the reason.

    Args:
        session: cache, event listener and environment variables; the variables and pip's settings determine the index.
        interpreter: the target's interpreter.
        candidates: the planned candidates.
        fetched: names of candidates whose packages are fetched, as returned by `require_fetchable`.
        offline: whether the network is forbidden.
    """
    modules = sorted({module for way in all_ways().values() for module in way.modules})
    absent = find_missing(modules, Path(interpreter.executable), session.variables)

    def equip(candidate: Candidate) -> Candidate:
        way, name = all_ways()[candidate.name], candidate.name
        fetch = f"to measure it anyway: fastinstall bench --with {name} --prefix {quote(interpreter.prefix)}"
        if name in fetched and way.by_hand:
            return missing(candidate, way.by_hand)
        if name in fetched:
            try:
                directory = fetch_packages(session, way, interpreter, offline=offline)
            except FastinstallError as error:
                return missing(candidate, f"{error.message}; {fetch}" if offline else error.message)
            return replace(candidate, site=(directory,), stack="its own")
        lacking = [module for module in way.modules if module in absent]
        return missing(candidate, f"{lacking[0]} is not installed; {way.by_hand or fetch}") if lacking else candidate

    return tuple(map(equip, candidates))


def fetch_packages(session: Session, way: Way, interpreter: Interpreter, *, offline: bool = False) -> Path:
    """Return the cached directory with a candidate's packages; if it is missing, let pip fetch the packages into it.

    Only wheels are fetched, except for pure-Python packages that have none (`Way.sdists`).

    Raises:
        RefusedError: pip failed, the cache cannot be written, or the network is needed but forbidden.
    """
    cache, variables = session.own_cache(), session.variables
    key = codec.digest(
        {
            "requirements": sorted(way.brings),
            "python": f"{interpreter.implementation} {interpreter.version.rpartition('.')[0]} {interpreter.abi}",
            "platform": f"{interpreter.platform} {interpreter.libc} {interpreter.libc_version}",
            "indexes": "\n".join(pip_settings(Path(interpreter.executable), variables).places),
        }
    )
    place = cache / "libraries" / key
    if sealed_trees.is_intact(place, cache=cache):
        return place
    if offline:
        raise RefusedError("its packages are not in the cache, and --quick fetches nothing")
    sdists = ("--no-binary", ",".join(way.sdists)) if way.sdists else ()
    words = ("install", "--quiet", "--progress-bar", "off", "--no-compile", "--only-binary", ":all:", *sdists)

    def fetch(site: Path) -> None:
        argv = (*argv_for(interpreter), *words, "--target", str(site), *way.brings)
        run(argv, environment={**pip_environment(variables), "TMPDIR": str(site.parent)}, timeout=_FETCH_SECONDS)

    try:
        with reserve_cache_key(cache, key, session.emit, f"fetches the packages of {way.name}"):
            return sealed_trees.make_once(place, fetch, cache=cache)
    except OSError as error:
        raise RefusedError(f"{way.name} could not be put into {cache}: {error}") from error
    except (CommandError, RefusedError) as error:
        complaints = [each.partition("ERROR: ")[2] for each in error.details if each.startswith("stderr: ERROR: ")]
        reason = complaints[-1] if complaints else error.message
        raise RefusedError(f"{way.name} could not be fetched: {reason}") from error


def find_missing(modules: Sequence[str], python: Path, variables: Mapping[str, str]) -> list[str]:
    """Return the modules that the target lacks; all of `modules` if the target's interpreter cannot be started.

    The modules are not imported, but their parent packages are.

    Args:
        modules: dotted names of the modules.
        python: path of the target's interpreter, which looks for the modules.
        variables: the complete environment of the process.
    """
    try:
        with start_target(python, variables) as target:
            return list(target.ask("_loading.list_missing", _LOOK_SECONDS, modules=modules))
    except NotLoadedError:
        return list(modules)
