"""fastinstall's own dependencies, as wheels for several Pythons, fetched by the tool's own pip and cached.

`<cache>/tool/needs/<key>/` holds directories of wheels, and which is the latest (`fetched_wheels`). After 30 days the
index is asked again. If it cannot be reached, the old files are used.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from email.parser import HeaderParser
from pathlib import Path

from fastinstall.core import codec, files, temporary_directories
from fastinstall.core.errors import FailedError
from fastinstall.core.events import Emit, Noted, ignore
from fastinstall.core.process import CommandError, run
from fastinstall.core.values import immutable
from fastinstall.index.pip import pip_environment
from fastinstall.index.pip_indexes import pip_settings
from fastinstall.index.sound_wheels import read_sound_metadata
from fastinstall.wheelbuild.dependency_closure import Closure, ShelfWheel, closure_of, make_shelf_wheel, platforms_of
from fastinstall.wheelbuild.fetched_wheels import FetchedWheels, describe_wheels, keep_latest, read_latest

_PIP = (sys.executable, "-P", "-m", "pip")
_SECONDS = 300.0
_DOCUMENT = "tool-needs"
_ROUNDS = 8


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

    @property
    def platforms(self) -> tuple[str, ...]:
        """The platform tags that the machines accept, the best first."""
        return platforms_of(self.machine)


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


class _Shelf:
    """The wheels of a directory, each read once."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._known: dict[str, ShelfWheel] = {}

    @property
    def wheels(self) -> tuple[ShelfWheel, ...]:
        """Return the current wheels, by name.

        Raises:
            ArchiveError: one is damaged.
        """
        paths = sorted(self.directory.glob("*.whl"))
        self._known |= {path.name: _read(path) for path in paths if path.name not in self._known}
        return tuple(self._known[path.name] for path in paths)


def _read(path: Path) -> ShelfWheel:
    headers = HeaderParser().parsestr(read_sound_metadata(path))
    return make_shelf_wheel(path.name, map(str, headers.get_all("Requires-Dist") or ()))


def _list_key_inputs(fetching: DependencyFetching) -> dict[str, str]:
    return {
        "requires": "\n".join(sorted(_read(fetching.wheel).requires)),
        "pythons": " ".join(fetching.pythons),
        "platforms": " ".join(fetching.platforms),
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
        shelf, fresh = space / "shelf", space / "wheels"
        shelf.mkdir()
        used, left_out = _gather_requirements(fetching, _Shelf(shelf))
        fresh.mkdir()
        for name in used - {fetching.wheel.name}:
            (shelf / name).rename(fresh / name)
        made = describe_wheels(fresh)
        needs = FetchedDependencies(directory=made.directory, files=made.files, left_out=left_out)
        return keep_latest(fresh, place, _DOCUMENT, needs, cache=fetching.cache)


def _gather_requirements(fetching: DependencyFetching, shelf: _Shelf) -> tuple[frozenset[str], dict[str, str]]:
    """Return the needed names, and why some Pythons cannot be served; raise the first failure if none can."""
    used: set[str] = set()
    failures: dict[str, CommandError] = {}
    for minor in fetching.pythons:
        try:
            used |= set(_complete(fetching, shelf, minor).used)
        except CommandError as error:
            failures[minor] = error
    if len(failures) == len(fetching.pythons):
        raise next(iter(failures.values()))
    return frozenset(used), {
        minor: _explain_missing_wheels(_find_closure(fetching, shelf, minor)) for minor in failures
    }


def _complete(fetching: DependencyFetching, shelf: _Shelf, minor: str) -> Closure:
    """Download until nothing is missing: under another Python, pip's result may itself require more."""
    for _ in range(_ROUNDS):
        found = _find_closure(fetching, shelf, minor)
        if not found.missing:
            return found
        _download(fetching, shelf, minor, found.missing)
    raise FailedError(f"the dependencies of fastinstall for Python {minor} never end", details=found.missing)


def _find_closure(fetching: DependencyFetching, shelf: _Shelf, minor: str) -> Closure:
    return closure_of(_read(fetching.wheel), shelf.wheels, minor, fetching.machine)


def _explain_missing_wheels(closure: Closure) -> str:
    return f"pip finds no wheels of {', '.join(closure.missing)} that fit it"


def _download(fetching: DependencyFetching, shelf: _Shelf, minor: str, wanted: Sequence[str]) -> None:
    pins = shelf.directory.with_name("constraints.txt")
    known = (f"{wheel.name}=={wheel.version}\n" for wheel in shelf.wheels)
    files.write_text(pins, "".join(dict.fromkeys(known)), durable=False)
    words = ("download", "--quiet", "--progress-bar", "off", "--only-binary", ":all:", "--dest", str(shelf.directory))
    argv = (*_PIP, *words, "--constraint", str(pins), *_make_target_words(minor, fetching.platforms), *wanted)
    environment = {**pip_environment(fetching.variables), "TMPDIR": str(shelf.directory.parent)}
    run(argv, environment=environment, timeout=_SECONDS)


def _make_target_words(minor: str, platforms: Sequence[str]) -> Iterator[str]:
    yield from ("--python-version", minor, "--implementation", "cp")
    for abi in (f"cp{minor.replace('.', '')}", "abi3", "none"):
        yield from ("--abi", abi)
    for platform in platforms:
        yield from ("--platform", platform)
