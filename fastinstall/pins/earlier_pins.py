"""Pins that earlier versions of fastinstall wrote into projects themselves: read, and taken out by a diff.

Such a project has `.fastinstall/` with the wheel or the channel, the original files and a record (`pin.json`). Whoever
cloned it may have got them from anybody, so only the manifest and the lock of the project's tool are read by it, and
nothing is written.
"""

import hashlib
from pathlib import Path, PurePath

from fastinstall.core import foreign
from fastinstall.core.errors import DocumentError, FastinstallError, RefusedError
from fastinstall.core.messages import quote
from fastinstall.core.parsing import parse_json
from fastinstall.core.values import immutable
from fastinstall.journal.layout import PROJECT
from fastinstall.model.stored_documents import open_stored

HOME = ".fastinstall"
"""Where such a project keeps them, relative to its directory."""

RECORD = f"{HOME}/pin.json"

_TOUCHED = {
    "uv": ("pyproject.toml", "uv.lock"),
    "poetry": ("pyproject.toml", "poetry.lock"),
    "pdm": ("pyproject.toml", "pdm.lock"),
    "pixi": ("pixi.toml", "pyproject.toml", "pixi.lock"),
    "hatch": ("hatch.toml", "pyproject.toml"),
}
"""By the project's tool, the files that a pin touched."""


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
    """What the record of such a pin has that is still asked for.

    Attributes:
        prefix: of the environment whose stack it holds, relative to the project if it lies in it.
        manager: the name of the project's tool.
        requirement: what is pinned ("pillow==13.0.0+simd.v3").
        files: the manifest, and then the lock.
        pieces: what was inserted into the manifest as it stands.
    """

    prefix: PurePath
    manager: str
    requirement: str
    files: tuple[PinnedFile, ...]
    pieces: tuple[str, ...]


def read_pin_record(directory: Path) -> PinRecord | None:
    """Read the record of a project's pin, or return None if there is none.

    Raises:
        LaterDocumentError: a later fastinstall wrote it, in a form that cannot be read.
        DocumentError: it is malformed, or names what no pin touches; names the file and the key.
    """
    place = directory / RECORD
    content = foreign.bytes_if_there(place, limit=foreign.DOCUMENT)
    if content is None:
        return None
    record = open_stored(PinRecord, "project-pin", parse_json(content, file=place), file=place)
    for index, file in enumerate(record.files):
        if file.name not in _TOUCHED.get(record.manager, ()):
            problem = f"{file.name!r} is neither manifest nor lock of {record.manager}"
            raise DocumentError(place, f"files[{index}].name", problem)
    return record


def find_noted_project(prefix: Path) -> Path | None:
    """Return the project that an environment notes as pinned, if the record there names this very environment.

    Whoever made the environment may have written any directory into it.
    """
    try:
        noted = Path(foreign.read_text(prefix / PROJECT, errors="surrogateescape").strip())
        record = read_pin_record(noted) if noted.is_absolute() else None
    except (OSError, ValueError, FastinstallError):
        return None
    return noted if record is not None and (noted / record.prefix).resolve() == prefix.resolve() else None


def read_unpinned_files(directory: Path, record: PinRecord) -> dict[str, bytes | None]:
    """Return what the files of a project would be without such a pin, by their names; None for one that would not be.

    What nobody edited since is what it was. From an edited manifest goes what the pin had inserted; a lock that was
    made again since stays.

    Raises:
        RefusedError: somebody has edited what the pin inserted.
        DocumentError: one of them cannot be read.
    """
    found: dict[str, bytes | None] = {}
    for file in record.files:
        places = (directory, directory / HOME / "originals")
        now, original = (foreign.bytes_if_there(place / file.name) for place in places)
        if _digest(now) == file.after and _digest(original) == file.before:
            now = original
        elif now is not None and file is record.files[0] and _digest(now) != file.before:
            now = _cut_pieces(directory / file.name, now.decode("utf-8"), record).encode("utf-8")
        found[file.name] = now
    return found


def _cut_pieces(file: Path, text: str, record: PinRecord) -> str:
    for piece in reversed(record.pieces):  # a later one may lie in an earlier one
        if text.count(piece) == 1:
            text = text.replace(piece, "")
    if record.requirement.rpartition("==")[2] in text or f"{HOME}/" in text:
        raise RefusedError(
            f"{file}: the lines of the pin were edited since, and cannot be told from others",
            hint=f"remove what is left of them by hand: grep -n 'fastinstall\\|simd' {quote(file)}",
        )
    return text


def _digest(content: bytes | None) -> str:
    return hashlib.sha256(content).hexdigest() if content is not None else ""
