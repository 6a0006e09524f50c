"""Write the files of a project's pin, remove them, and undo an interrupted change.

`.fastinstall/` holds the wheel, the originals and the record (`pin.json`) before the first file of the project changes.
Each file is then replaced in one step: after a kill it is either old or new, and the record says which.

A project may come from anybody, with a record in it. So a pin touches only the manifest and lock file of the project's
tool, and no links. An interrupted change is undone automatically only if a note outside the project says that this user
began it.
"""

import errno
import hashlib
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from enum import StrEnum
from pathlib import Path, PurePath

from fastinstall.core import files, foreign, values
from fastinstall.core.errors import DocumentError, FastinstallError, RefusedError
from fastinstall.core.messages import quote
from fastinstall.core.parsing import parse_json
from fastinstall.core.surroundings import make_private
from fastinstall.core.values import immutable
from fastinstall.journal.snapshot import is_at_work
from fastinstall.model.history import Interruption, UnfinishedRun
from fastinstall.model.stored_documents import open_stored
from fastinstall.pins.manifests import Addition, withdraw
from fastinstall.pins.markers import WHEELS
from fastinstall.pins.tool import CHANNEL
from fastinstall.pins.tools import tools

HOME = ".fastinstall"
"""Where a pinned project keeps what is ours, relative to its directory."""

RECORD = ".fastinstall/pin.json"


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
    """A pin of a project.

    Attributes:
        stage: how far it is.
        at: ISO 8601, UTC.
        tool_version: of fastinstall.
        prefix: of the environment whose stack it holds, as it was.
        manager: the name of the project's tool.
        requirement: what is pinned.
        payload: what lies beside it for the project's tool to find, with its hexadecimal sha256.
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


_ORIGINALS = f"{HOME}/originals"
_READY = f"{HOME}/ready"
_README = f"{HOME}/README"
_WHEEL = 1 << 30
"""Bytes."""
_OURS = (RECORD, _ORIGINALS, f"{HOME}/staged", _READY, WHEELS, CHANNEL, _README)
_TEXT = """\
fastinstall keeps the pin of this project here: a build of Pillow (wheels/), the original files (originals/) and a
record (pin.json). Commit this directory with the project: the lock file names the wheel.

To remove the pin: fastinstall guard remove --prefix ENVIRONMENT --project .
By hand: remove what fastinstall's comments mark in the manifest, delete this directory, and lock the project again.
"""


@immutable
class UnfinishedPins:
    """What a user has begun: for each project whose pin is being changed the digest of its record, outside of it.

    Attributes:
        directory: where the notes lie, one for each project; the user's alone.
    """

    directory: Path

    def note(self, project: Path, record: bytes) -> None:
        """Note what the record of a project is going to be; without a note what is cut short is told, not finished."""
        with suppress(OSError):
            make_private(self.directory, durable=True)
            files.write_text(self._locate_note(project), f"{_digest(record)}\n", mode=0o600)

    def holds(self, project: Path, record: bytes | None) -> bool:
        """Whether this user has written the record that is there, or had none there yet, or none any more."""
        note = self._locate_note(project)
        try:
            status = note.lstat()
        except OSError:
            return False
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid():
            return False
        return record is None or foreign.text_if_there(note).strip() == _digest(record)

    def forget(self, project: Path) -> None:
        """Drop the note: nothing is unfinished there."""
        with suppress(OSError):
            self._locate_note(project).unlink(missing_ok=True)

    def _locate_note(self, project: Path) -> Path:
        return self.directory / hashlib.sha256(os.fsencode(os.path.realpath(project))).hexdigest()


def write_project_pin(
    directory: Path,
    record: PinRecord,
    payload: Mapping[str, Path],
    contents: Mapping[str, bytes],
    begun: UnfinishedPins,
) -> PinRecord:
    """Put a pin into a project.

    Args:
        directory: of the project.
        record: of the pin; its stage and files are found here.
        payload: what its tool shall find, by the path in the project.
        contents: what the files shall be, by their names, the manifest first.
        begun: where it is noted that this user does it.

    Returns:
        The record that was written.

    Raises:
        RefusedError: one of these is a link, or no file.
    """
    _refuse_links(directory, (*payload, *contents))
    begun.note(directory, b"")
    files.write_text(directory / _README, _TEXT)
    for name, source in payload.items():
        files.write_bytes(directory / name, foreign.read_bytes(source, limit=_WHEEL))
    before = {name: foreign.bytes_if_there(directory / name) for name in contents}
    for name, content in before.items():
        if content is not None:
            files.write_bytes(directory / _ORIGINALS / name, content)
    entries = (PinnedFile(name=name, before=_digest(before[name]), after=_digest(contents[name])) for name in contents)
    pinned = replace(record, stage=PinStage.PINNED, files=tuple(entries))
    _write(directory, replace(pinned, stage=PinStage.PINNING), begun)
    for name, content in contents.items():
        _replace(directory, name, content)
    _write(directory, pinned, begun)
    files.discard(directory / _READY)
    begun.forget(directory)
    return pinned


def compute_unpinned_files(directory: Path, names: Sequence[str]) -> dict[str, bytes | None]:
    """What files of a project would be without its pin, by their names; None for one that is not there then.

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
    if record is not None:
        pinned = {file.name: _remove_pin(directory, record, file) for file in record.files if file.name in contents}
        contents.update(pinned)
    return contents


def take_back(directory: Path, begun: UnfinishedPins) -> bool:
    """Take the pin out of a project: its files are as they were, or, where they were edited since, without our part.

    A lock that was made again since stays: the project's tool makes it anew from the manifest. A change that was cut
    short is taken back likewise, whoever began it.

    Returns:
        False if there is no pin.
    """
    record = read_record(directory)
    if record is None:
        return False
    started = replace(record, stage=PinStage.UNPINNING)
    _write(directory, started, begun)
    _restore(directory, started, begun)
    return True


def is_touched(directory: Path) -> bool:
    """Whether there is a pin, or what is left of one; one stat."""
    return (directory / HOME).is_dir()


def is_pinned_for(directory: Path, prefix: Path) -> bool:
    """Whether the pin of a project is one for this environment, and the project this user's, or around it.

    What an environment notes may come from anybody; so this is asked before something is changed in a project that
    nobody named.
    """
    try:
        record = read_record(directory)
        owners = {(directory / RECORD).lstat().st_uid, directory.stat().st_uid}
    except (FastinstallError, OSError):
        return False
    where, home = os.path.realpath(prefix), os.path.realpath(directory)
    if record is None or os.path.realpath(directory / record.prefix) != where:
        return False
    return owners == {os.geteuid()} or where.startswith(f"{home}{os.sep}")


def recover(directory: Path, begun: UnfinishedPins) -> None:
    """Take back a change that was cut short, where this user began it; nothing where none was.

    Raises:
        DocumentError: the record is malformed.
        RefusedError: something of it is a link.
    """
    record, content = _read(directory)
    if not begun.holds(directory, content):
        return
    if record is None:
        if _is_abandoned(directory):
            _discard(directory)
        begun.forget(directory)
    elif record.stage is not PinStage.PINNED:
        _restore(directory, record, begun)


def interruption_of(directory: Path, begun: UnfinishedPins) -> Interruption | None:
    """A change that was cut short, with whether this user began it.

    Returns:
        None if none was, if a living run is at it, or if the record cannot be read.
    """
    if not is_touched(directory):
        return None
    try:
        record, content = _read(directory)
    except FastinstallError:
        return None
    cut = _is_abandoned(directory) if record is None else record.stage is not PinStage.PINNED
    if not cut or is_at_work(directory):
        return None
    kind = UnfinishedRun.PIN if begun.holds(directory, content) else UnfinishedRun.FOREIGN_PIN
    return Interruption(cut=kind, verb="", at=record.at if record is not None else "", file=directory / RECORD)


def read_record(directory: Path) -> PinRecord | None:
    """Read the record of a project's pin, or return None if there is none.

    Raises:
        LaterDocumentError: a later fastinstall wrote it, in a form that cannot be read.
        DocumentError: it is malformed, or names what no pin touches; names the file and the key.
        RefusedError: what it names is a link, or no file.
    """
    return _read(directory)[0]


def _read(directory: Path) -> tuple[PinRecord | None, bytes | None]:
    _refuse_links(directory, ())
    content = foreign.bytes_if_there(directory / RECORD, limit=foreign.DOCUMENT)
    if content is None:
        return None, None
    data = parse_json(content, file=directory / RECORD)
    record = open_stored(PinRecord, "project-pin", data, file=directory / RECORD)
    _refuse_foreign_names(directory, record)
    _refuse_links(directory, [file.name for file in record.files])
    return record, content


def _refuse_foreign_names(directory: Path, record: PinRecord) -> None:
    """Refuse a record that names what no pin of ours touches: a project may come from anybody, and its record with it.

    Of the files beside it we write the manifest and the lock of its tool alone, and of the payload only what lies in
    our own directory there.
    """
    tool = tools().get(record.manager)
    if tool is None:
        raise DocumentError(
            directory / RECORD, "manager", f"{record.manager!r} is not a tool whose projects can be pinned"
        )
    for index, file in enumerate(record.files):
        own = (tool.manifests, (tool.lock,) if tool.lock else ())[index] if index <= 1 else ()
        if file.name not in own:
            problem = f"{file.name!r} is neither manifest nor lock of {record.manager}"
            raise DocumentError(directory / RECORD, f"files[{index}].name", problem)
    for name in record.payload:
        if not name.startswith((f"{WHEELS}/", f"{CHANNEL}/")) or ".." in PurePath(name).parts:
            raise DocumentError(directory / RECORD, "payload", f"{name!r} does not lie in {WHEELS} or {CHANNEL}")


def _refuse_links(directory: Path, names: Sequence[str]) -> None:
    """Nothing is read or written through a link that lies in a project, nor where no file is.

    Args:
        directory: of the project.
        names: of what is written, relative to it.
    """
    places = (*(f"{kept}/{name}" for name in names for kept in (_ORIGINALS, _READY)), *names)
    above = (str(parent) for name in names for parent in PurePath(name).parents if parent.name)
    trees = (HOME, _ORIGINALS, _READY, WHEELS, CHANNEL, *above)
    for path in dict.fromkeys((*trees, RECORD, _README, *places)):
        try:
            mode = (directory / path).lstat().st_mode
        except (FileNotFoundError, NotADirectoryError):
            continue
        expected = stat.S_ISDIR if path in trees else stat.S_ISREG
        if not expected(mode):
            what = "a link" if stat.S_ISLNK(mode) else f"not a {'directory' if path in trees else 'file'}"
            raise RefusedError(
                f"{directory / path} is {what}: fastinstall changes nothing there",
                hint=f"see who made it: ls -ld {quote(directory / path)}",
            )


def _restore(directory: Path, record: PinRecord, begun: UnfinishedPins) -> None:
    for file in record.files:
        path = directory / file.name
        content = _remove_pin(directory, record, file)
        if content is not None:
            _replace(directory, file.name, content)
        elif path.is_file():
            path.unlink()
            files.sync_directory(path.parent)
    _discard(directory)
    begun.forget(directory)


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


def _is_abandoned(directory: Path) -> bool:
    """Whether what is left there, without a record, is what a death leaves before the first step or after the last.

    What a manifest names, or one that cannot be read may name, has to stay even without a record.
    """
    home = directory / HOME
    empty = home.is_dir() and not any(home.iterdir())
    if not empty and not (directory / _README).is_file() and not any(_list_drafts(directory)):
        return False
    manifests = {directory / name for each in tools().values() for name in each.manifests}
    try:
        return not any(HOME.encode() in foreign.read_bytes(manifest) for manifest in manifests if manifest.is_file())
    except OSError:
        return False


def _replace(directory: Path, name: str, content: bytes) -> None:
    """Put a file in place in one step; what a death leaves half-made lies in our directory."""
    target = directory / name
    if foreign.bytes_if_there(target) == content:
        return
    mode = target.stat().st_mode & 0o7777 if target.exists() else 0o644
    ready = directory / _READY / name
    files.write_bytes(ready, content, mode=mode)
    try:
        os.replace(ready, target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        files.write_bytes(target, content, mode=mode)
    files.sync_directory(target.parent)


def _discard(directory: Path) -> None:
    # The record goes first: what is left without one is swept away by `recover`.
    for path in (*(directory / name for name in _OURS), *_list_drafts(directory)):
        files.discard(path)
    home = directory / HOME
    if home.is_dir() and not any(home.iterdir()):
        home.rmdir()
    elif home.is_dir():
        files.sync_directory(home)
    files.sync_directory(directory)


def _list_drafts(directory: Path) -> Iterator[Path]:
    """What a death in `files.write_bytes` has left beside the record and the page for people."""
    return (path for name in (RECORD, _README) for path in (directory / HOME).glob(f".{Path(name).name}.*"))


def _write(directory: Path, record: PinRecord, begun: UnfinishedPins) -> None:
    content = values.dump(values.document("project-pin", record)).encode("utf-8")
    if record.stage is not PinStage.PINNED:
        begun.note(directory, content)
    files.write_bytes(directory / RECORD, content)


def _digest(content: bytes | None) -> str:
    return hashlib.sha256(content).hexdigest() if content is not None else ""
