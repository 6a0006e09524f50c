"""The files of a project's pin: put in place, taken back, and a change that was cut short brought to its end.

Everything lies in `.fastinstall/` before the first file of the project changes: the wheel, the originals, what comes
in their place, and the record. Each file is then replaced in one step, so that after a kill each of them is either as
it was or as it shall be, and the record says which is which.
"""

import errno
import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePath

from fastinstall.errors import DocumentError
from fastinstall.journal.glance import is_at_work
from fastinstall.model import codec
from fastinstall.model.history import Cut, Interruption
from fastinstall.model.stored import open_stored
from fastinstall.rules.projects.build import WHEELS
from fastinstall.rules.projects.edits import withdraw
from fastinstall.rules.projects.pixi import CHANNEL
from fastinstall.rules.projects.record import HOME, RECORD, PinnedFile, PinRecord, PinStage
from fastinstall.system import files

_ORIGINALS = f"{HOME}/originals"
_STAGED = f"{HOME}/staged"
_READY = f"{HOME}/ready"
_README = f"{HOME}/README"
_OURS = (RECORD, _ORIGINALS, _STAGED, _READY, WHEELS, CHANNEL, _README)
_TEXT = """\
fastinstall keeps here what this project is pinned to: a build of Pillow (wheels/), the files as they were before
(originals/), and the record of it (pin.json). Commit it with the project: its lock names the wheel.

To take it all away: fastinstall guard remove --prefix ENVIRONMENT --project .
By hand: take out of the manifest what the comments of fastinstall mark, delete this directory, and lock again.
"""


def put(directory: Path, record: PinRecord, payload: Mapping[str, Path], contents: Mapping[str, bytes]) -> PinRecord:
    """Put a pin into a project.

    Args:
        directory: of the project.
        record: of the pin; its stage and files are found here.
        payload: what its tool shall find, by the path in the project.
        contents: what the files shall be, by their names, the manifest first.

    Returns:
        The record that was written.

    Raises:
        DocumentError: a file is a link that leads out of the project.
    """
    entries = []
    _refuse_ways_out(directory, tuple(contents))
    files.write_text(directory / _README, _TEXT)
    for name, source in payload.items():
        files.write_bytes(directory / name, source.read_bytes())
    for name, content in contents.items():
        before = _content(directory / name)
        if before is not None:
            files.write_bytes(directory / _ORIGINALS / name, before)
        files.write_bytes(directory / _STAGED / name, content)
        entries.append(PinnedFile(name=name, before=_digest(before), after=_digest(content)))
    begun = replace(record, stage=PinStage.PINNING, files=tuple(entries))
    _write(directory, begun)
    return _finish(directory, begun)


def unpinned(directory: Path, names: Sequence[str]) -> dict[str, bytes | None]:
    """What files of a project would be without its pin, by their names; None for one that is not there then.

    Args:
        directory: of the project, pinned or not.
        names: of its manifest and lock.
    """
    record = read_record(directory)
    contents = {name: _content(directory / name) for name in names}
    for index, file in enumerate(record.files if record is not None else ()):
        if record is not None and file.name in contents:
            contents[file.name] = _without_pin(directory, record, file, is_manifest=index == 0)
    return contents


def take_back(directory: Path) -> bool:
    """Take the pin out of a project: its files are as they were, or, where they were edited since, without our part.

    A lock that was made again since stays: the project's tool makes it anew from the manifest.

    Returns:
        False where there is no pin.
    """
    record = read_record(directory)
    if record is None:
        return False
    begun = replace(record, stage=PinStage.UNPINNING)
    _write(directory, begun)
    _restore(directory, begun)
    return True


def is_touched(directory: Path) -> bool:
    """Whether there is a pin, or what is left of one; one stat."""
    return (directory / HOME).is_dir()


def recover(directory: Path) -> None:
    """Bring a change that was cut short to its end; nothing where none was."""
    record = read_record(directory)
    if record is None:
        if _is_abandoned(directory):
            _discard(directory)
    elif record.stage is PinStage.UNPINNING:
        _restore(directory, record)
    elif record.stage is PinStage.PINNING:
        expected = all(_digest(_content(directory / file.name)) in (file.before, file.after) for file in record.files)
        if expected:
            _finish(directory, record)
        else:
            _restore(directory, record)


def interruption_of(directory: Path) -> Interruption | None:
    """A change that was cut short; None where none was, where a living run is at it, or the record cannot be read."""
    if not is_touched(directory):
        return None
    try:
        record = read_record(directory)
    except DocumentError:
        return None
    cut = _is_abandoned(directory) if record is None else record.stage is not PinStage.PINNED
    if not cut or is_at_work(directory):
        return None
    return Interruption(cut=Cut.PIN, verb="", at=record.at if record is not None else "", file=directory / RECORD)


def read_record(directory: Path) -> PinRecord | None:
    """The record of a project's pin; None where there is none.

    Raises:
        LaterDocumentError: a later fastinstall wrote it, in a form that cannot be read.
        DocumentError: it is malformed, or leads out of the project; names the file and the key.
    """
    content = _content(directory / RECORD)
    if content is None:
        return None
    try:
        data = json.loads(content)
    except ValueError as error:
        raise DocumentError(directory / RECORD, "", f"not JSON: {error}") from error
    record = open_stored(PinRecord, "project-pin", data, file=directory / RECORD)
    _refuse_ways_out(directory, [file.name for file in record.files])
    return record


def _refuse_ways_out(directory: Path, names: Sequence[str]) -> None:
    """A project may come from anybody: nothing outside of it is written or removed because its record says so."""
    home = os.path.realpath(directory)
    for index, name in enumerate(names):
        if not name or PurePath(name).name != name or name == "..":
            raise DocumentError(directory / RECORD, f"files[{index}].name", f"{name!r} is not the name of a file")
    for path in (HOME, *_OURS, *names):
        where = os.path.realpath(directory / path)
        shared = (
            path in names and PurePath(where).suffix == PurePath(path).suffix
        )  # a manifest may be a link to another
        if not where.startswith(f"{home}{os.sep}") and not shared:
            raise DocumentError(directory / RECORD, "", f"{directory / path} leads out of the project, to {where}")


def _finish(directory: Path, record: PinRecord) -> PinRecord:
    for file in record.files:
        staged = _content(directory / _STAGED / file.name)
        if staged is not None:
            _replace(directory, file.name, staged)
    done = replace(record, stage=PinStage.PINNED)
    _write(directory, done)
    for name in (_STAGED, _READY):
        files.discard(directory / name)
    return done


def _restore(directory: Path, record: PinRecord) -> None:
    for index, file in enumerate(record.files):
        path = directory / file.name
        content = _without_pin(directory, record, file, is_manifest=index == 0)
        if content is not None:
            _replace(directory, file.name, content)
        elif path.is_file():
            path.unlink()
            files.sync_directory(path.parent)
    _discard(directory)


def _without_pin(directory: Path, record: PinRecord, file: PinnedFile, *, is_manifest: bool) -> bytes | None:
    now = _content(directory / file.name)
    if now is None or _digest(now) == file.before:
        return now
    if _digest(now) == file.after:
        return _content(directory / _ORIGINALS / file.name) if file.before else None
    if is_manifest:
        return withdraw(now.decode("utf-8"), record.additions, record.pieces).encode("utf-8")
    return now


def _is_abandoned(directory: Path) -> bool:
    """Whether what is left there, without a record, is what a death leaves before the first step or after the last."""
    home = directory / HOME
    ours = (directory / _README).is_file() or any(_drafts(directory)) or (home.is_dir() and not any(home.iterdir()))
    return ours and not _is_named(directory)


def _is_named(directory: Path) -> bool:
    """Whether a manifest names what lies there, so that it has to stay even without a record."""
    contents = (_content(directory / name) for name in ("pyproject.toml", "pixi.toml"))
    return any(HOME.encode() in content for content in contents if content is not None)


def _replace(directory: Path, name: str, content: bytes) -> None:
    """Put a file in place in one step; what a death leaves half-made lies in our directory."""
    target = (directory / name).resolve()  # a link stays one
    if _content(target) == content:
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
    for path in (*(directory / name for name in _OURS), *_drafts(directory)):
        files.discard(path)
    home = directory / HOME
    if home.is_dir() and not any(home.iterdir()):
        home.rmdir()
    files.sync_directory(directory)


def _drafts(directory: Path) -> Iterator[Path]:
    """What a death in `files.write_bytes` has left beside the record and the page for people."""
    return (path for name in (RECORD, _README) for path in (directory / HOME).glob(f".{Path(name).name}.*"))


def _write(directory: Path, record: PinRecord) -> None:
    files.write_text(directory / RECORD, codec.dump(codec.document("project-pin", record)))


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def _digest(content: bytes | None) -> str:
    return hashlib.sha256(content).hexdigest() if content is not None else ""
