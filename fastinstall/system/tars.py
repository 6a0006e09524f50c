"""Unpack sdists (`.tar.gz`): every member is checked, to the archive's end, before the first one is written."""

import gzip
import os
import zlib
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from fastinstall.model.archive import Member, MemberKind, Objection
from fastinstall.rules.archive_members import objection_to, plain
from fastinstall.system import foreign
from fastinstall.system.archive_error import ArchiveError
from fastinstall.system.tar_headers import TarError, TarMember, read_members
from fastinstall.system.unpacking import Unpacking

_MOST_METADATA = 1 << 22
"""Bytes of a member that is read as a whole."""

_BROKEN = (TarError, EOFError, zlib.error, gzip.BadGzipFile)


def unpack_tar(archive: Path, directory: Path, wanted: Callable[[str], bool] = lambda _name: True) -> str:
    """Unpack a compressed tar archive that has one top directory, with the dates of its files.

    Args:
        archive: the file.
        directory: where to; made if it is not there.
        wanted: says by its name whether a member is unpacked.

    Returns:
        The name of the top directory.

    Raises:
        ArchiveError: it is damaged or hostile; nothing is unpacked.
        OSError: it cannot be read, or the directory cannot be written.
    """
    with foreign.opened(archive) as packed:
        top = _checked_top(archive, packed)
        packed.seek(0)
        with gzip.open(packed) as stream, Unpacking(directory) as unpacking:
            for each in read_members(stream):
                if wanted(plain(each.member.name)):
                    _unpack(each, unpacking)
    return top


def read_tar_member(archive: Path, wanted: Callable[[str], bool]) -> bytes:
    """The content of the first member with a wanted name, once the whole archive is found sound; empty without one.

    Raises:
        ArchiveError: it is damaged or hostile.
        OSError: it cannot be read.
    """
    found: list[bytes] = []

    def look(each: TarMember) -> Member:
        if not found and _is_short(each.member) and wanted(each.member.name):
            found.append(b"".join(each.content()))
        return each.member

    with foreign.opened(archive) as packed:
        _check(archive, packed, look)
    return found[0] if found else b""


def _is_short(member: Member) -> bool:
    return member.kind is MemberKind.FILE and member.size <= _MOST_METADATA


def _checked_top(archive: Path, packed: BinaryIO) -> str:
    tops: dict[str, None] = {}

    def look(each: TarMember) -> Member:
        tops.setdefault(PurePosixPath(plain(each.member.name) or ".").parts[0])
        return each.member

    _check(archive, packed, look)
    if len(tops) != 1:
        found = ", ".join(sorted(tops)) or "none"
        raise ArchiveError(archive, Objection(reason=f"expected one top directory, found {found}"))
    return next(iter(tops))


def _check(archive: Path, packed: BinaryIO, look: Callable[[TarMember], Member]) -> None:
    """Read to the end, or to the first objection, which comes before the content of the member that it is about."""
    try:
        with gzip.open(packed) as stream:
            objection = objection_to(map(look, read_members(stream)), os.fstat(packed.fileno()).st_size)
    except TarError as error:
        raise ArchiveError(archive, Objection(reason=error.reason, member=error.member)) from error
    except _BROKEN as error:
        raise ArchiveError(archive, Objection(reason=str(error))) from error
    if objection is not None:
        raise ArchiveError(archive, objection)


def _unpack(each: TarMember, unpacking: Unpacking) -> None:
    name = plain(each.member.name)
    if each.member.kind is MemberKind.DIRECTORY:
        unpacking.directory(name)
    else:
        unpacking.file(name, each.content(), executable=bool(each.member.mode & 0o111), mtime=each.mtime)
