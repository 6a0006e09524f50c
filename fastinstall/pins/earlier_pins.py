"""Pins that earlier versions of fastinstall wrote into projects themselves: read, and taken out by a diff.

Such a project has `.fastinstall/` with the wheel or the channel, the original files and a record (`pin.json`). Whoever
cloned it may have got them from anybody, so only the manifest and the lock of the project's tool are read by it, and
nothing through a link. Nothing is written.
"""

import hashlib
import stat
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path, PurePath

from fastinstall.core import foreign
from fastinstall.core.errors import DocumentError, FastinstallError, RefusedError
from fastinstall.core.messages import quote
from fastinstall.core.parsing import parse_json
from fastinstall.core.values import immutable
from fastinstall.model.interruption import Interruption, UnfinishedRun
from fastinstall.model.stored_documents import open_stored
from fastinstall.pins.manifests import Addition, withdraw
from fastinstall.pins.tools import tools

HOME = ".fastinstall"
"""Where such a project keeps them, relative to its directory."""

RECORD = ".fastinstall/pin.json"
WHEELS = ".fastinstall/wheels"

_ORIGINALS = f"{HOME}/originals"


class PinStage(StrEnum):
    """How far a pin is: written down before its files change, and after."""

    PINNING = "pinning"
    PINNED = "pinned"
    UNPINNING = "unpinning"


@immutable
class PinnedFile:
    """A file of the project that bears the pin.

    Attributes:
        name: relative to the project's directory.
        before: hexadecimal sha256 of what it was; empty if it was not there.
        after: hexadecimal sha256 of what it is with the pin.
    """

    name: str
    before: str
    after: str


@immutable
class PinRecord:
    """The record of such a pin.

    Attributes:
        stage: how far it is.
        at: ISO 8601, UTC.
        tool_version: of fastinstall.
        prefix: of the environment whose stack it holds, relative to the project if it lies in it.
        manager: the name of the project's tool.
        requirement: what is pinned ("pillow==13.0.0+simd.v3").
        payload: the files beside it that the tool installs from, with their hexadecimal sha256.
        files: the manifest, and then the lock.
        additions: what the manifest says more.
        pieces: what was inserted into it as it stands.
    """

    stage: PinStage
    at: str
    tool_version: str
    prefix: PurePath
    manager: str
    requirement: str
    payload: dict[str, str]
    files: tuple[PinnedFile, ...]
    additions: tuple[Addition, ...]
    pieces: tuple[str, ...]


def read_record(directory: Path) -> PinRecord | None:
    """Read the record of a project's pin, or return None if there is none.

    Raises:
        LaterDocumentError: a later fastinstall wrote it, in a form that cannot be read.
        DocumentError: it is malformed, or names what no pin touches; names the file and the key.
        RefusedError: what it names is a link, or no file.
    """
    _refuse_links(directory, ())
    content = foreign.bytes_if_there(directory / RECORD, limit=foreign.DOCUMENT)
    if content is None:
        return None
    data = parse_json(content, file=directory / RECORD)
    record = open_stored(PinRecord, "project-pin", data, file=directory / RECORD)
    _refuse_foreign_names(directory, record)
    _refuse_links(directory, [file.name for file in record.files])
    return record


def read_unpinned_files(directory: Path, names: Sequence[str]) -> dict[str, bytes | None]:
    """Return what files of a project would be without such a pin, by their names; None for one that is not there then.

    A lock that was made again since stays: the project's tool makes it anew from the manifest.

    Args:
        directory: of the project, pinned or not.
        names: of its manifest and lock.

    Raises:
        RefusedError: one of them is a link, or no file.
        DocumentError: the record of the pin is malformed.
    """
    record = read_record(directory)
    _refuse_links(directory, names)
    contents = {name: foreign.bytes_if_there(directory / name) for name in names}
    if record is None:
        return contents
    pinned = {file.name: _remove_pin(directory, record, file) for file in record.files if file.name in contents}
    return {**contents, **pinned}


def is_pinned_for(directory: Path, prefix: Path) -> bool:
    """Whether a project has such a pin for an environment: what that notes may come from anybody."""
    try:
        record = read_record(directory)
    except FastinstallError:
        return False
    return record is not None and (directory / record.prefix).resolve() == prefix.resolve()


def interruption_of(directory: Path) -> Interruption | None:
    """Return a change of such a pin that was cut short, or None if there is none or the record cannot be read."""
    try:
        record = read_record(directory)
    except FastinstallError:
        return None
    if record is None or record.stage is PinStage.PINNED:
        return None
    return Interruption(cut=UnfinishedRun.PIN, verb="", at=record.at, file=directory / RECORD)


def _refuse_foreign_names(directory: Path, record: PinRecord) -> None:
    tool = tools().get(record.manager)
    if tool is None:
        problem = f"{record.manager!r} is not a tool whose projects can be pinned"
        raise DocumentError(directory / RECORD, "manager", problem)
    for index, file in enumerate(record.files):
        own = (tool.manifests, (tool.lock,) if tool.lock else ())[index] if index <= 1 else ()
        if file.name not in own:
            problem = f"{file.name!r} is neither manifest nor lock of {record.manager}"
            raise DocumentError(directory / RECORD, f"files[{index}].name", problem)


def _refuse_links(directory: Path, names: Sequence[str]) -> None:
    """Refuse a link, or what is no file, where something is read: it may lead to somebody's secrets."""
    for path in (HOME, _ORIGINALS, RECORD, *names, *(f"{_ORIGINALS}/{name}" for name in names)):
        try:
            mode = (directory / path).lstat().st_mode
        except (FileNotFoundError, NotADirectoryError):
            continue
        expected = stat.S_ISDIR if path in (HOME, _ORIGINALS) else stat.S_ISREG
        if not expected(mode):
            what = "a link" if stat.S_ISLNK(mode) else "neither a file nor a directory of fastinstall"
            raise RefusedError(
                f"{directory / path} is {what}: fastinstall does not read it",
                hint=f"see who made it: ls -ld {quote(directory / path)}",
            )


def _remove_pin(directory: Path, record: PinRecord, file: PinnedFile) -> bytes | None:
    now = foreign.bytes_if_there(directory / file.name)
    if now is None or _digest(now) == file.before:
        return now
    original = foreign.bytes_if_there(directory / _ORIGINALS / file.name)
    if _digest(now) == file.after and _digest(original) == file.before:
        return original
    if file is not record.files[0]:  # the lock, which the project's tool makes anew
        return now
    try:
        return withdraw(now.decode("utf-8"), record.additions, record.pieces).encode("utf-8")
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        problem = f"cannot be removed from {file.name}: {error}"
        hint = f"remove the marked lines by hand: grep -n fastinstall {quote(directory / file.name)}"
        raise DocumentError(directory / RECORD, "additions", problem, hint=hint) from error


def _digest(content: bytes | None) -> str:
    return hashlib.sha256(content).hexdigest() if content is not None else ""
