"""Packages that candidates need: installed in the target, or fetched into the cache for the measurement.

`<cache>/libraries/<key>/` is a directory for the front of a process's path: a package with all its requirements,
including numpy, so that one run can measure stacks that could not be installed together. The key covers the request and
the interpreter's ABI. An entry is complete or absent, keeps the versions that were newest when it was made, and may be
removed at any time. Nothing is installed into the target.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from fastinstall.bench.candidates import UnpackedPackages
from fastinstall.bench.catalogue import Way, all_ways
from fastinstall.bench.loading import NotLoadedError, start_target
from fastinstall.core import codec, sealed_trees, temporary_directories
from fastinstall.core.errors import FastinstallError, RefusedError, UsageError
from fastinstall.core.events import Emit
from fastinstall.core.messages import quote
from fastinstall.core.process import CommandError, run
from fastinstall.index.pip import argv_for, pip_environment
from fastinstall.index.pip_indexes import pip_settings
from fastinstall.model.facts import Interpreter
from fastinstall.wheelbuild.wheel_cache import reserve_cache_key

_ALL = "all"
_FETCH_SECONDS, _LOOK_SECONDS = 300.0, 60.0


def find_libraries(
    interpreter: Interpreter,
    cache: Path,
    variables: Mapping[str, str],
    emit: Emit,
    fetched: tuple[str, ...],
    *,
    offline: bool,
) -> Iterator[tuple[str, UnpackedPackages]]:
    """Yield, by name of the candidate, the packages that are fetched or missing.

    Args:
        interpreter: the target's; its ABI counts.
        cache: root of our cache.
        variables: environment variables; with pip's own settings they name the index.
        emit: receives an event while this waits for another process.
        fetched: names of candidates whose packages are fetched; ("all",) for every one that may be.
        offline: whether the network is forbidden.

    Raises:
        UsageError: a name is not a candidate's, or that has no packages.
    """
    needs = {way.name: way for way in all_ways() if set(way.modules) - {"PIL"}}
    if fetched == (_ALL,):
        fetched = tuple(name for name, way in needs.items() if not way.by_hand)
    for name in fetched:
        if name not in needs:
            problem = f"--with {name}: no candidate of that name has packages to fetch"
            raise UsageError(problem, hint=f"--with {_ALL}, or choose from: {', '.join(needs)}")
    modules = {module for way in needs.values() for module in way.modules}
    missing = find_missing(modules, Path(interpreter.executable), variables)
    for name, way in needs.items():
        fetch = f"to measure it anyway: fastinstall bench --with {name} --prefix {quote(interpreter.prefix)}"
        lacking = [module for module in way.modules if module in missing]
        if name in fetched and way.by_hand:
            yield name, UnpackedPackages(absent=way.by_hand)
        elif name in fetched:
            try:
                directory = fetch_packages(way, interpreter, cache, variables, emit, offline=offline)
            except FastinstallError as error:
                hint = f"; {fetch}" if offline else ""
                yield name, UnpackedPackages(absent=f"{error.message}{hint}")
            else:
                yield name, UnpackedPackages(directory=directory)
        elif lacking:
            yield name, UnpackedPackages(absent=f"{lacking[0]} is not installed; {way.by_hand or fetch}")


def fetch_packages(
    way: Way, interpreter: Interpreter, cache: Path, variables: Mapping[str, str], emit: Emit, *, offline: bool = False
) -> Path:
    """Return a directory with the packages of a candidate, fetched by pip if missing.

    Only wheels are fetched, except packages without wheels that compile nothing.

    Raises:
        RefusedError: fetching failed, in pip's words; or it is not in the cache, and the network is forbidden.
    """
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
    try:
        with (
            reserve_cache_key(cache, key, emit, f"fetches the packages of {way.name}"),
            temporary_directories.temporary_directory("libraries", within=cache / "tmp") as space,
        ):
            if not sealed_trees.is_intact(place, cache=cache):
                argv = (*argv_for(interpreter), *words, "--target", str(space / "site"), *way.brings)
                run(argv, environment={**pip_environment(variables), "TMPDIR": str(space)}, timeout=_FETCH_SECONDS)
                sealed_trees.publish_sealed(space / "site", place, space / "aside", cache=cache)
    except OSError as error:
        raise RefusedError(f"{way.name} could not be put into {cache}: {error}") from error
    except (CommandError, RefusedError) as error:
        complaints = [each.partition("ERROR: ")[2] for each in error.details if each.startswith("stderr: ERROR: ")]
        reason = complaints[-1] if complaints else error.message
        raise RefusedError(f"{way.name} could not be fetched: {reason}") from error
    return place


def find_missing(modules: Iterable[str], python: Path, variables: Mapping[str, str]) -> frozenset[str]:
    """Return those of these modules that the target lacks; all of them if its interpreter cannot be asked.

    Only the packages that contain them are imported.

    Args:
        modules: dotted names of modules to look for.
        python: path of the target's interpreter, which looks for them.
        variables: the complete environment of the process.
    """
    names = sorted(set(modules))
    try:
        with start_target(python, variables) as target:
            return frozenset(target.ask("_loading.list_missing", _LOOK_SECONDS, modules=names))
    except NotLoadedError:
        return frozenset(names)
