"""Whether a wheel may be used: its structure and members; and to be installed, its RECORD, and that it is PIL alone."""

import base64
import hashlib
from collections.abc import Iterable
from pathlib import Path

from fastinstall.model.archive import Objection
from fastinstall.rules import wheel_contents
from fastinstall.system.archive_error import ArchiveError
from fastinstall.system.files import sha256
from fastinstall.system.zips import SoundZip, sound_zip

_PACKAGE = "PIL"
_FOUND_SOUND: set[str] = set()
"""SHA-256 of each wheel that was found to be PIL alone."""


def read_sound_metadata(wheel: Path, *, thorough: bool = True) -> str:
    """The METADATA of a wheel whose structure, members and checksums are sound; empty where it has none.

    Args:
        wheel: the file.
        thorough: inflate all of it, which tells whether it is whole; unneeded where a sum of the file has told.

    Raises:
        ArchiveError: it is damaged or hostile; names the member.
        OSError: it cannot be read.
    """
    with sound_zip(wheel) as archive:
        for name in archive.files if thorough else ():
            for _ in archive.content(name):
                pass
        file = f"{wheel_contents.metadata_of(archive.files)}/METADATA"
        return archive.read(file).decode("utf-8", "replace") if file in archive.files else ""


def require_stack_alone(wheel: Path) -> None:
    """Refuse a wheel that brings anything into an environment beside PIL and its libraries.

    The same bytes are found sound once in a process: inflating and hashing all of them takes 150 ms.

    Raises:
        ArchiveError: it does, or it is damaged or hostile; names the member.
        OSError: it cannot be read.
    """
    digest = sha256(wheel)
    if digest not in _FOUND_SOUND:
        _require_stack_alone(wheel)
        _FOUND_SOUND.add(digest)


def _require_stack_alone(wheel: Path) -> None:
    with sound_zip(wheel) as archive:
        metadata = _require_record(wheel, archive)
        _refuse(wheel, wheel_contents.foreign_members(archive.files, metadata, _PACKAGE))
        points = f"{metadata}/entry_points.txt"
        if points in archive.files:
            text = archive.read(points).decode("utf-8", "replace")
            objection = wheel_contents.scripts_objection(text, metadata)
            _refuse(wheel, () if objection is None else (objection,))


def _require_record(wheel: Path, archive: SoundZip) -> str:
    """Hold all content against RECORD; the name of the metadata's directory."""
    metadata = wheel_contents.metadata_of(archive.files)
    record = f"{metadata}/RECORD"
    if not metadata or record not in archive.files:
        raise ArchiveError(wheel, Objection(reason="has not one .dist-info directory with a RECORD in it"))
    listed, objection = wheel_contents.listed_digests(archive.read(record).decode("utf-8", "replace"))
    if objection is None:
        digests = _digests(archive, wheel_contents.algorithms(listed))
        objection = wheel_contents.objection_to_record(listed, digests, metadata)
    _refuse(wheel, () if objection is None else (objection,))
    return metadata


def _digests(archive: SoundZip, algorithms: dict[str, str]) -> dict[str, dict[str, str]]:
    """Of each file, by the algorithm that RECORD asks for; reading them verifies their checksums."""
    found: dict[str, dict[str, str]] = {}
    for name in archive.files:
        algorithm = algorithms.get(name, "sha256")
        hashed = hashlib.new(algorithm)
        for piece in archive.content(name):
            hashed.update(piece)
        found[name] = {algorithm: base64.urlsafe_b64encode(hashed.digest()).rstrip(b"=").decode()}
    return found


def _refuse(wheel: Path, objections: Iterable[Objection]) -> None:
    for objection in objections:
        raise ArchiveError(wheel, objection)
