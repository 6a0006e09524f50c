"""What fastinstall needs to run, as wheels for several Pythons, fetched by the tool's own pip and kept in our cache.

`<cache>/tool/needs/<key>/` holds directories of wheels, each named after its content, and `latest.json`, which says
which of them was fetched last. It is used for 30 days; after that the index is asked again, and where it cannot be
reached, what is there still serves.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from email.parser import HeaderParser
from pathlib import Path

from fastinstall.build.latest import latest_whole
from fastinstall.errors import FailedError
from fastinstall.installers.pip import pip_environment
from fastinstall.installers.sound_wheel import read_sound_metadata
from fastinstall.model import codec
from fastinstall.model.event import Emit, Noted, ignore
from fastinstall.model.immutable import immutable
from fastinstall.rules.tool_closure import Closure, ShelfWheel, closure_of, shelf_wheel
from fastinstall.system import files
from fastinstall.system.process import CommandError, run

_PIP = (sys.executable, "-P", "-m", "pip")
_LIFETIME = 30 * 24 * 3600.0
_SECONDS = 300.0
_LATEST = "latest.json"
_ROUNDS = 8


@immutable
class Fetching:
    """What is fetched, and by which means.

    Attributes:
        wheel: whose dependencies are meant.
        pythons: minor versions, the lowest first: ("3.11", "3.12").
        platforms: platform tags that the machines accept, the best first.
        cache: our cache directory.
        variables: the environment, with pip's settings.
        offline: whether no index may be asked.
        emit: who hears of trouble.
    """

    wheel: Path
    pythons: tuple[str, ...]
    platforms: tuple[str, ...]
    cache: Path
    variables: Mapping[str, str]
    offline: bool = False
    emit: Emit = ignore


@immutable
class Needs:
    """What was fetched.

    Attributes:
        directory: where the wheels lie.
        files: sha256 by file name.
        left_out: why a Python cannot be served, by its minor version.
    """

    directory: str
    files: dict[str, str]
    left_out: dict[str, str]


def fetch_needs(fetching: Fetching) -> tuple[Path, Needs]:
    """Bring the wheels that a wheel needs for each Python, out of our cache where they are fresh.

    Returns:
        The directory in our cache, and what is in it.

    Raises:
        FailedError: no Python can be served: the index cannot be reached, may not be, or has no wheels.
    """
    place = fetching.cache / "tool" / "needs" / codec.digest(_inputs(fetching))
    latest, age = latest_whole(Needs, "tool-needs", place / _LATEST)
    # That of a time when a Python could not be served may be of a bad moment:
    if latest is None or ((age > _LIFETIME or latest.left_out) and not fetching.offline):
        latest = _refreshed(fetching, place, latest)
    return place / latest.directory, latest


class _Shelf:
    """The wheels of a directory, each read once."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._known: dict[str, ShelfWheel] = {}

    @property
    def wheels(self) -> tuple[ShelfWheel, ...]:
        """Those that lie there now, by name.

        Raises:
            ArchiveError: one is damaged.
        """
        paths = sorted(self.directory.glob("*.whl"))
        self._known |= {path.name: _read(path) for path in paths if path.name not in self._known}
        return tuple(self._known[path.name] for path in paths)


def _read(path: Path) -> ShelfWheel:
    headers = HeaderParser().parsestr(read_sound_metadata(path))
    return shelf_wheel(path.name, map(str, headers.get_all("Requires-Dist") or ()))


def _inputs(fetching: Fetching) -> dict[str, str]:
    return {
        "requires": "\n".join(sorted(_read(fetching.wheel).requires)),
        "pythons": " ".join(fetching.pythons),
        "platforms": " ".join(fetching.platforms),
    }


def _refreshed(fetching: Fetching, place: Path, latest: Needs | None) -> Needs:
    if fetching.offline:
        raise FailedError(
            "what fastinstall itself needs is not in the cache, and this run is offline",
            hint="the same command without --offline, once; what it fetches is kept",
        )
    try:
        return _fetched(fetching, place)
    except CommandError as error:
        if latest is None:
            message = "what fastinstall itself needs cannot be fetched"
            hint = "python -m pip config list shows which index is asked"
            raise FailedError(message, hint=hint, details=error.details) from error
        message = "what fastinstall needs cannot be looked up, so what was fetched before is taken"
        fetching.emit(Noted(message=message, warning=True))
        return latest


def _fetched(fetching: Fetching, place: Path) -> Needs:
    with files.temporary_directory("tool", within=fetching.cache / "tmp") as space:
        shelf, fresh = space / "shelf", space / "wheels"
        shelf.mkdir()
        used, left_out = _gathered(fetching, _Shelf(shelf))
        fresh.mkdir()
        for name in used - {fetching.wheel.name}:
            (shelf / name).rename(fresh / name)
        digests = {path.name: files.sha256(path) for path in sorted(fresh.iterdir())}
        needs = Needs(directory=codec.digest(digests)[:16], files=digests, left_out=left_out)
        files.publish(fresh, place / needs.directory, space / "aside")
    files.write_text(place / _LATEST, codec.dump(codec.document("tool-needs", needs)))
    return needs


def _gathered(fetching: Fetching, shelf: _Shelf) -> tuple[frozenset[str], dict[str, str]]:
    """The names of what is needed, and why some Pythons cannot be served; the first failure where none can."""
    used: set[str] = set()
    failures: dict[str, CommandError] = {}
    for minor in fetching.pythons:
        try:
            used |= set(_complete(fetching, shelf, minor).used)
        except CommandError as error:
            failures[minor] = error
    if len(failures) == len(fetching.pythons):
        raise next(iter(failures.values()))
    return frozenset(used), {minor: _reason(_closure(fetching, shelf, minor)) for minor in failures}


def _complete(fetching: Fetching, shelf: _Shelf, minor: str) -> Closure:
    """Download until nothing is missing: what pip resolves may itself require more under another Python."""
    for _ in range(_ROUNDS):
        found = _closure(fetching, shelf, minor)
        if not found.missing:
            return found
        _download(fetching, shelf, minor, found.missing)
    raise FailedError(f"what fastinstall needs for Python {minor} does not come to an end", details=found.missing)


def _closure(fetching: Fetching, shelf: _Shelf, minor: str) -> Closure:
    return closure_of(_read(fetching.wheel), shelf.wheels, minor, fetching.platforms)


def _reason(closure: Closure) -> str:
    return f"pip finds no wheels of {', '.join(closure.missing)} that fit it"


def _download(fetching: Fetching, shelf: _Shelf, minor: str, wanted: Sequence[str]) -> None:
    pins = shelf.directory.with_name("constraints.txt")
    known = (f"{wheel.name}=={wheel.version}\n" for wheel in shelf.wheels)
    files.write_text(pins, "".join(dict.fromkeys(known)), durable=False)
    words = ("download", "--quiet", "--progress-bar", "off", "--only-binary", ":all:", "--dest", str(shelf.directory))
    argv = (*_PIP, *words, "--constraint", str(pins), *_target(minor, fetching.platforms), *wanted)
    environment = {**pip_environment(fetching.variables), "TMPDIR": str(shelf.directory.parent)}
    run(argv, environment=environment, timeout=_SECONDS)


def _target(minor: str, platforms: Sequence[str]) -> Iterator[str]:
    yield from ("--python-version", minor, "--implementation", "cp")
    for abi in (f"cp{minor.replace('.', '')}", "abi3", "none"):
        yield from ("--abi", abi)
    for platform in platforms:
        yield from ("--platform", platform)
