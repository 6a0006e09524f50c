"""fastinstall's own dependencies, as wheels for several Pythons, fetched by the tool's own pip and cached.

`<cache>/tool/needs/<key>/` holds directories of wheels, and which is the latest (`requirements`). After 30 days the
index is asked again. If it cannot be reached, the old files are used.
"""

import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from email.parser import HeaderParser
from pathlib import Path

from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.tags import Tag, compatible_tags, cpython_tags
from packaging.utils import canonicalize_name, parse_wheel_filename

from fastinstall.core import codec, files, temporary_directories
from fastinstall.core.errors import FailedError
from fastinstall.core.events import Emit, Noted, ignore
from fastinstall.core.process import CommandError, run
from fastinstall.core.values import immutable
from fastinstall.index.pip import pip_environment
from fastinstall.index.pip_indexes import pip_settings
from fastinstall.index.selection import list_libc_platforms
from fastinstall.index.wheelhouse import read_sound_metadata
from fastinstall.wheelbuild.requirements import FetchedWheels, describe_wheels, keep_latest, read_latest

_PIP = (sys.executable, "-P", "-m", "pip")
_SECONDS = 300.0
_DOCUMENT = "tool-needs"
_ROUNDS = 8
_BASE_GLIBC = (2, 28)
"""Of the official wheels."""


@immutable
class ShelfWheel:
    """An available wheel.

    Attributes:
        name: of the distribution, normalised.
        tags: the Pythons and platforms that it fits.
        requires: its lines of Requires-Dist.
    """

    filename: str
    name: str
    version: str
    tags: frozenset[Tag]
    requires: tuple[str, ...]


@immutable
class Closure:
    """A distribution's dependencies.

    Attributes:
        used: file names of the available wheels that are needed, sorted.
        missing: requirements without an available wheel, in pip's syntax.
    """

    used: tuple[str, ...]
    missing: tuple[str, ...] = ()


@immutable
class DependencyFetching:
    """What to fetch, and how.

    Attributes:
        wheel: the wheel with the dependencies.
        pythons: minor versions, the lowest first: ("3.11", "3.12").
        machine: the machines, as their kernels name them: "x86_64".
        variables: the environment, with pip's settings.
        offline: whether asking an index is forbidden.
    """

    wheel: Path
    pythons: tuple[str, ...]
    machine: str
    cache: Path
    variables: Mapping[str, str]
    offline: bool = False
    emit: Emit = ignore


@immutable
class FetchedDependencies(FetchedWheels):
    """The fetched wheels.

    Attributes:
        left_out: why a Python is not served, by its minor version.
    """

    left_out: dict[str, str]


def fetch_needs(fetching: DependencyFetching) -> tuple[Path, FetchedDependencies]:
    """Return the wheels that a wheel needs for each Python, from our cache if recent.

    Returns:
        The directory in our cache, and its contents.

    Raises:
        FailedError: no Python can be served: the index is unreachable, not allowed, or has no wheels.
    """
    place = fetching.cache / "tool" / "needs" / codec.digest(_list_key_inputs(fetching))
    latest, recent = read_latest(FetchedDependencies, _DOCUMENT, place, fetching.cache)
    # A fetch that left out a Python may have hit a temporary failure:
    if latest is None or ((latest.left_out or not recent) and not fetching.offline):
        latest = _refresh_dependencies(fetching, place, latest)
    return place / latest.directory, latest


def _list_key_inputs(fetching: DependencyFetching) -> dict[str, str]:
    return {
        "requires": "\n".join(sorted(_read(fetching.wheel).requires)),
        "pythons": " ".join(fetching.pythons),
        "platforms": " ".join(_list_platforms(fetching.machine)),
        "indexes": "\n".join(pip_settings(Path(sys.executable), fetching.variables).places),
    }


def _refresh_dependencies(
    fetching: DependencyFetching, place: Path, latest: FetchedDependencies | None
) -> FetchedDependencies:
    if fetching.offline:
        raise FailedError(
            "fastinstall's own dependencies are not in the cache, and this run is offline",
            hint="run the same command once without --offline",
        )
    try:
        return _fetch_dependencies(fetching, place)
    except CommandError as error:
        if latest is None:
            message = "cannot fetch fastinstall's own dependencies"
            hint = "run `python -m pip config list` to see which index is used"
            raise FailedError(message, hint=hint, details=error.details) from error
        message = "cannot look up fastinstall's own dependencies; using the copies fetched before"
        fetching.emit(Noted(message=message, warning=True))
        return latest


def _fetch_dependencies(fetching: DependencyFetching, place: Path) -> FetchedDependencies:
    with temporary_directories.temporary_directory("tool", within=fetching.cache / "tmp") as space:
        directory, fresh = space / "shelf", space / "wheels"
        directory.mkdir()
        used, left_out = _gather_wheels(fetching, directory)
        fresh.mkdir()
        for name in used - {fetching.wheel.name}:
            (directory / name).rename(fresh / name)
        made = describe_wheels(fresh)
        needs = FetchedDependencies(directory=made.directory, files=made.files, left_out=left_out)
        return keep_latest(fresh, place, _DOCUMENT, needs, cache=fetching.cache)


def _gather_wheels(fetching: DependencyFetching, directory: Path) -> tuple[set[str], dict[str, str]]:
    """Download the dependencies for every Python; raise the first failure if no Python can be served.

    Returns:
        The names of the needed wheels, and for each Python that cannot be served the reason.
    """
    shelf: dict[str, ShelfWheel] = {}
    used: set[str] = set()
    left_out: dict[str, str] = {}
    failures: list[CommandError] = []
    for minor in fetching.pythons:
        try:
            used |= set(_complete(fetching, directory, shelf, minor).used)
        except CommandError as error:
            failures.append(error)
            missing = find_closure(_read(fetching.wheel), shelf.values(), minor, fetching.machine).missing
            left_out[minor] = f"pip finds no wheels of {', '.join(missing)} that fit it"
    if len(failures) == len(fetching.pythons):
        raise failures[0]
    return used, left_out


def _complete(fetching: DependencyFetching, directory: Path, shelf: dict[str, ShelfWheel], minor: str) -> Closure:
    """Download until nothing is missing: under another Python, pip's result may itself require more."""
    for _ in range(_ROUNDS):
        found = find_closure(_read(fetching.wheel), shelf.values(), minor, fetching.machine)
        if not found.missing:
            return found
        pins = {f"{wheel.name}=={wheel.version}" for wheel in shelf.values()}
        _download(fetching, directory, minor, (*found.missing, *_constrain(directory, pins)))
        shelf |= {path.name: _read(path) for path in directory.glob("*.whl") if path.name not in shelf}
    raise FailedError(f"the dependencies of fastinstall for Python {minor} never end", details=found.missing)


def _constrain(directory: Path, pins: Iterable[str]) -> tuple[str, ...]:
    constraints = directory.with_name("constraints.txt")
    files.write_text(constraints, "".join(f"{pin}\n" for pin in sorted(pins)), durable=False)
    return "--constraint", str(constraints)


def _download(fetching: DependencyFetching, directory: Path, minor: str, wanted: Sequence[str]) -> None:
    words = ("download", "--quiet", "--progress-bar", "off", "--only-binary", ":all:", "--dest", str(directory))
    abis = (f"cp{minor.replace('.', '')}", "abi3", "none")
    target = (f"--python-version={minor}", "--implementation=cp", *(f"--abi={abi}" for abi in abis))
    platforms = (f"--platform={platform}" for platform in _list_platforms(fetching.machine))
    environment = {**pip_environment(fetching.variables), "TMPDIR": str(directory.parent)}
    run((*_PIP, *words, *target, *platforms, *wanted), environment=environment, timeout=_SECONDS, while_working=True)


def find_closure(root: ShelfWheel, shelf: Collection[ShelfWheel], minor: str, machine: str) -> Closure:
    """Return what a wheel needs to run under a Python, directly and indirectly.

    pip evaluates environment markers for the Python that runs it, whichever one it downloads for. This is not a
    resolver: one version of each distribution is available, chosen by pip's resolver.

    Args:
        shelf: the wheels that are available.
        minor: of the Python that will run it: "3.12".
        machine: that will run it, as its kernel names it: "x86_64".
    """
    tags = _rank_tags(minor, machine)
    environment = _make_marker_environment(minor, machine)
    used = {root.filename}
    missing: dict[str, None] = {}
    seen: set[tuple[str, str]] = set()
    waiting = [(root, "")]
    while waiting:
        wheel, extra = waiting.pop()
        if (wheel.filename, extra) in seen:
            continue
        seen.add((wheel.filename, extra))
        for requirement in _list_requirements(wheel, {**environment, "extra": extra}):
            offered = [each for each in shelf if each.name == canonicalize_name(requirement.name)]
            fitting = [
                (min(tags[tag] for tag in found), each) for each in offered if (found := each.tags & tags.keys())
            ]
            if not fitting:
                missing[_find_wanted_version(requirement, offered)] = None
                continue
            _rank, best = min(fitting, key=lambda pair: (pair[0], pair[1].filename))
            used.add(best.filename)
            waiting += [(best, each) for each in ("", *requirement.extras)]
    return Closure(used=tuple(sorted(used)), missing=tuple(missing))


def read_shelf_wheel(filename: str, requires: Iterable[str]) -> ShelfWheel:
    """Return a wheel from its name and its lines of Requires-Dist.

    Raises:
        ValueError: it is not a wheel's name.
    """
    name, version, _build, tags = parse_wheel_filename(filename)
    return ShelfWheel(filename=filename, name=name, version=str(version), tags=tags, requires=tuple(requires))


def _read(path: Path) -> ShelfWheel:
    headers = HeaderParser().parsestr(read_sound_metadata(path))
    return read_shelf_wheel(path.name, map(str, headers.get_all("Requires-Dist") or ()))


def _rank_tags(minor: str, machine: str) -> dict[Tag, int]:
    """Rank the wheel tags that CPython of a minor version accepts on a machine, 0 for the best."""
    version = tuple(int(part) for part in minor.split("."))
    abi, platforms = f"cp{minor.replace('.', '')}", _list_platforms(machine)
    accepted = (*cpython_tags(version, abis=[abi], platforms=platforms), *compatible_tags(version, abi, platforms))
    return {tag: rank for rank, tag in enumerate(accepted)}


def _list_platforms(machine: str) -> tuple[str, ...]:
    """List the platform tags that a machine with the official wheels' glibc accepts, the best first (PEP 600)."""
    return tuple(list_libc_platforms("glibc", _BASE_GLIBC, machine))


def _make_marker_environment(minor: str, machine: str) -> dict[str, str]:
    """Return the marker variables (PEP 508) of CPython of a minor version on Linux of a machine."""
    version = f"{minor}.0"
    ours = {"python_version": minor, "python_full_version": version, "implementation_version": version}
    return {key: str(value) for key, value in default_environment().items()} | ours | {"platform_machine": machine}


def _list_requirements(wheel: ShelfWheel, environment: dict[str, str]) -> Iterable[Requirement]:
    requirements = map(Requirement, wheel.requires)
    return (each for each in requirements if each.marker is None or each.marker.evaluate(environment))


def _find_wanted_version(requirement: Requirement, offered: Sequence[ShelfWheel]) -> str:
    """Return the version that the shelf has for another Python, to keep one version of each distribution."""
    extras = f"[{','.join(sorted(requirement.extras))}]" if requirement.extras else ""
    return f"{requirement.name}{extras}{f'=={offered[0].version}' if offered else requirement.specifier}"
