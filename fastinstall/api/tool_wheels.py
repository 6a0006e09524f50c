"""fastinstall itself and all that it needs, put beside a stack's wheels, for machines that have no package index.

Not an installer: a machine unpacks the wheels that fit it side by side, and runs `python -m fastinstall` from there.
"""

import platform
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from fastinstall.api.session import Session
from fastinstall.build.tool_dependencies import Fetching, Needs, fetch_needs
from fastinstall.build.tool_wheel import own_wheel
from fastinstall.errors import FailedError
from fastinstall.installers.selection import parse_filename
from fastinstall.installers.sound_wheel import read_sound_metadata
from fastinstall.installers.wheelhouse import read_sums
from fastinstall.model.built import ToolWheels
from fastinstall.model.event import Noted, Started
from fastinstall.model.immutable import immutable
from fastinstall.rules.messages import quote
from fastinstall.rules.tool_closure import platforms_of
from fastinstall.system import files

PLACE = "tool"
"""The directory in a wheelhouse."""

_SUMS = "SHA256SUMS"
_OLDEST = (3, 11)
_CLASSIFIER = re.compile(r"^Classifier: Programming Language :: Python :: (3\.\d+)$", re.MULTILINE)
_OF_ONE_MINOR = re.compile(r"cp3(\d+)")


def bring_tool(session: Session, wheelhouse: Path, *, pythons: Sequence[str] = (), offline: bool = False) -> ToolWheels:
    """Put fastinstall and all that it needs into `wheelhouse`/tool, with their sums.

    It serves every Python that fastinstall supports, those that the directory serves already, and `pythons`. What is
    there and right stays; what a former run put there and is needed no more goes; other files are left alone.

    Args:
        session: where variables and the cache come from.
        wheelhouse: the directory, made where it is missing.
        pythons: further minor versions ("3.14"), or full ones; those before 3.11 cannot run fastinstall.
        offline: whether no index may be asked; then all of it has to be in the cache.

    Raises:
        FailedError: something cannot be fetched, built or written; then nothing there has changed.
        DocumentError: its SHA256SUMS cannot be read.
    """
    directory = wheelhouse / PLACE
    there = read_sums(directory / _SUMS)
    session.emit(Started(stage="download", message="bringing fastinstall itself and what it needs"))
    cache = session.own_cache()
    wheel = own_wheel(cache, session.variables, offline=offline)
    wanted = _minors((*_supported(wheel), *_served(there), *pythons))
    fetching = Fetching(
        wheel=wheel,
        pythons=wanted,
        platforms=platforms_of(platform.machine()),
        cache=cache,
        variables=session.variables,
        offline=offline,
        emit=session.emit,
    )
    source, needs = fetch_needs(fetching)
    for minor, reason in needs.left_out.items():
        session.emit(Noted(message=f"fastinstall is not brought for Python {minor}: {reason}", warning=True))
    return _put(session, directory, there, _Brought(wheel=wheel, source=source, needs=needs, pythons=wanted))


@immutable
class _Brought:
    wheel: Path
    source: Path
    needs: Needs
    pythons: tuple[str, ...]


def _put(session: Session, directory: Path, there: Mapping[str, str], brought: _Brought) -> ToolWheels:
    paths = {name: brought.source / name for name in brought.needs.files} | {brought.wheel.name: brought.wheel}
    sums = {name: files.sha256(path) for name, path in sorted(paths.items())}
    try:
        for name, path in paths.items():
            _keep(session, path, directory / name, sums[name], there.get(name))
        files.write_text(directory / _SUMS, "".join(f"{sha256}  {name}\n" for name, sha256 in sums.items()))
        for name in there.keys() - sums.keys():
            files.discard(directory / name)
    except OSError as error:
        reason = error.strerror or error
        hint = f"ls -ld {quote(directory)}; df -h {quote(directory.parent)}"
        raise FailedError(f"{error.filename or directory}: cannot be written: {reason}", hint=hint) from error
    parsed = parse_filename(brought.wheel.name)
    return ToolWheels(
        directory=directory,
        wheel=brought.wheel.name,
        version=str(parsed.version) if parsed is not None else "",
        pythons=tuple(minor for minor in brought.pythons if minor not in brought.needs.left_out),
        files=sums,
        left_out=brought.needs.left_out,
    )


def _keep(session: Session, source: Path, target: Path, sha256: str, recorded: str | None) -> None:
    """Copy a wheel to where it is not, or not as it should be."""
    found = files.sha256(target) if target.is_file() else None
    if found == sha256:
        return
    if found is not None and recorded is not None and found != recorded.lower():
        session.emit(Noted(message=f"{target}: damaged: it is not what {_SUMS} says; it is replaced", warning=True))
    files.write_bytes(target, source.read_bytes(), durable=False)


def _supported(wheel: Path) -> tuple[str, ...]:
    """The minor versions that fastinstall's wheel names, and the one that runs this."""
    named = _CLASSIFIER.findall(read_sound_metadata(wheel))
    return (*named, f"{sys.version_info.major}.{sys.version_info.minor}")


def _served(names: Iterable[str]) -> tuple[str, ...]:
    """The minor versions that wheels of one minor version are for."""
    parsed = (parse_filename(name) for name in names if name.endswith(".whl"))
    tags = (tag for each in parsed if each is not None for tag in each.tags if tag.interpreter == tag.abi)
    return tuple(f"3.{match[1]}" for tag in tags if (match := _OF_ONE_MINOR.fullmatch(tag.interpreter)))


def _minors(pythons: Iterable[str]) -> tuple[str, ...]:
    """Return the versions that can run fastinstall, each once, lowest first."""
    found = {(int(match[1]), int(match[2])) for each in pythons if (match := re.match(r"(\d+)\.(\d+)", each))}
    return tuple(f"{major}.{minor}" for major, minor in sorted(found) if (major, minor) >= _OLDEST)
