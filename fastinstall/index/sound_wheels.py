"""Whether a wheel is sound, and brings nothing into an environment but PIL.

A wheel's structure and members have to be sound. To be installed, it must also bring what its RECORD lists, and of
Pillow nothing but PIL. Source: the binary distribution format of packaging.python.org (PEP 427), "The .dist-info
directory".
"""

import csv
import hashlib
import re
from collections.abc import Iterable
from pathlib import Path

from fastinstall.core.archive_members import ArchiveError, Objection
from fastinstall.core.archives import SoundZip, sound_zip
from fastinstall.core.files import sha256
from fastinstall.model.recipe import LIBRARIES
from fastinstall.observe.stack import encode_digest

_PACKAGE = "PIL"


_FOUND_SOUND: set[str] = set()
"""SHA-256 of each wheel that was found to be PIL alone."""


def read_sound_metadata(wheel: Path, *, thorough: bool = True) -> str:
    """Return the METADATA of a wheel whose structure, members and checksums are sound; empty if it has none.

    Args:
        thorough: inflate all of it, which tells whether it is whole; unneeded where a sum of the file has told.

    Raises:
        ArchiveError: it is damaged or hostile; names the member.
        OSError: it cannot be read.
    """
    with sound_zip(wheel) as archive:
        for name in archive.files if thorough else ():
            for _ in archive.content(name):
                pass
        file = f"{metadata_of(archive.files)}/METADATA"
        return archive.read(file).decode("utf-8", "replace") if file in archive.files else ""


def require_stack_alone(wheel: Path, *, ours: str = "") -> None:
    """Refuse a wheel that brings anything into an environment beside PIL and its libraries.

    The same bytes are found sound once in a process: inflating and hashing all of them takes 150 ms.

    Args:
        ours: the sha256 of a wheel that we have packed; that one's content is as its RECORD says.

    Raises:
        ArchiveError: it does, or it is damaged or hostile; names the member.
        OSError: it cannot be read.
    """
    digest = sha256(wheel)
    if digest not in _FOUND_SOUND:
        _require_stack_alone(wheel, is_ours=digest == ours)
        _FOUND_SOUND.add(digest)


def _require_stack_alone(wheel: Path, *, is_ours: bool) -> None:
    with sound_zip(wheel) as archive:
        metadata = metadata_of(archive.files)
        if not is_ours:
            _require_record(wheel, archive, metadata)
        _refuse_foreign_members(wheel, archive.files, metadata)
        points = f"{metadata}/entry_points.txt"
        if points in archive.files and _SCRIPTS.search(archive.read(points).decode("utf-8", "replace")):
            raise _make_objection(
                wheel, points, "installs programs into the environment's bin directory"
            )  # which no Pillow has


_UNLISTED = ("RECORD", "RECORD.jws", "RECORD.p7s")


_ALGORITHMS = ("sha256", "sha384", "sha512")


_SCRIPTS = re.compile(r"^\s*\[\s*(?:console|gui)_scripts\s*\]", re.MULTILINE)


_METADATA = re.compile(r"[^/]+\.dist-info")


_COLUMNS = 3


def metadata_of(names: Iterable[str]) -> str:
    """Return the only `.dist-info` directory, or "" if there is not exactly one."""
    found = {name.partition("/")[0] for name in names}
    metadata = [name for name in found if _METADATA.fullmatch(name)]
    return metadata[0] if len(metadata) == 1 else ""


def _require_record(wheel: Path, archive: SoundZip, metadata: str) -> None:
    """Hold all content against RECORD; reading it verifies its checksums."""
    record = f"{metadata}/RECORD"
    if not metadata or record not in archive.files:
        raise ArchiveError(wheel, Objection(reason="does not have exactly one .dist-info directory with a RECORD"))
    listed = _parse_record(wheel, archive.read(record).decode("utf-8", "replace"))
    for name in archive.files:
        algorithm, _, digest = listed.get(name, "").partition("=")
        hashed = hashlib.new(algorithm if algorithm in _ALGORITHMS else "sha256")
        for piece in archive.content(name):
            hashed.update(piece)
        if name in (f"{metadata}/{each}" for each in _UNLISTED):
            continue
        if name not in listed:
            raise _make_objection(wheel, name, "is not listed in RECORD")
        if algorithm not in _ALGORITHMS:
            raise _make_objection(wheel, name, f"has no accepted digest in RECORD ({algorithm or 'none'})")
        if digest != encode_digest(hashed.digest()):
            raise _make_objection(wheel, name, "does not match its digest in RECORD")
    for name in sorted(listed.keys() - archive.files):
        raise _make_objection(wheel, name, "is listed in RECORD but missing")


def _parse_record(wheel: Path, record: str) -> dict[str, str]:
    """Return the digest of each file, as it stands there ("sha256=...")."""
    listed: dict[str, str] = {}
    for row in filter(None, csv.reader(record.splitlines())):
        if len(row) != _COLUMNS:
            raise _make_objection(wheel, "RECORD", f"has a malformed row: {','.join(row)[:80]!r}")
        if row[0] in listed:
            raise _make_objection(wheel, row[0], "is listed twice in RECORD")
        listed[row[0]] = row[1]
    return listed


def _refuse_foreign_members(wheel: Path, names: Iterable[str], metadata: str) -> None:
    """Refuse members that a wheel of PIL has no business to bring.

    What comes in is moved into site-packages by its top-level names; a module, a `.pth` file or a script that
    stands beside PIL would run for every program there.
    """
    for name in names:
        top = name.partition("/")[0]
        if "/" not in name or (top not in (_PACKAGE, metadata) and top.lower() not in LIBRARIES):
            raise _make_objection(
                wheel, name, f"is not part of {_PACKAGE} and would be installed beside it in site-packages"
            )
        if "__pycache__" in name.split("/") or name.endswith(".pyc"):
            raise _make_objection(wheel, name, "is bytecode, which would run instead of the source")


def _make_objection(wheel: Path, member: str, reason: str) -> ArchiveError:
    return ArchiveError(wheel, Objection(member=member, reason=reason))
