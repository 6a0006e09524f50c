"""Unpack sdists (`.tar.gz`): every member is checked, to the archive's end, before the first one is written.

Headers are read strictly: what one reader might understand otherwise than another is an error. POSIX ustar and pax
headers and GNU's long names are read, for regular files and directories; other kinds of members are reported, not read.
Not for archives of systems or of version control, which need more than sdists do.

Sources: POSIX.1-2017, pax, "ustar Interchange Format" and "pax Extended Header"; GNU tar's manual, "Basic Tar Format".
"""

import gzip
import os
import re
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import BinaryIO, Protocol

from fastinstall.core import foreign
from fastinstall.core.archive_members import (
    ArchiveError,
    ArchiveMember,
    MalformedError,
    MemberKind,
    Objection,
    Unpacking,
    explain_archive_objection,
    simplify_member_name,
)
from fastinstall.core.values import immutable

_BLOCK = 512
_CHUNK = 1 << 18
_MOST_EXTRA = 1 << 16
"""Bytes of a pax header or a long name: a name with a few dates has some hundred."""

_MOST_PADDING = 1 << 20
"""Bytes of nothing behind the end; tar fills up 10 KiB."""

_KINDS = {
    b"0": MemberKind.FILE,
    b"\0": MemberKind.FILE,
    b"1": MemberKind.HARD_LINK,
    b"2": MemberKind.SYMBOLIC_LINK,
    b"3": MemberKind.DEVICE,
    b"4": MemberKind.DEVICE,
    b"5": MemberKind.DIRECTORY,
    b"6": MemberKind.PIPE,
    b"S": MemberKind.SPARSE,
}
_LONG_NAME, _LONG_TARGET, _PAX, _PAX_GLOBAL = b"L", b"K", b"x", b"g"
_OVERRIDING = re.compile(r"size|linkpath|GNU\.sparse\..*|SCHILY\.realsize")
_RECORD = re.compile(rb"(\d{1,6}) ")


class Readable(Protocol):
    """A stream of bytes."""

    def read(self, size: int, /) -> bytes:
        """Read this many bytes, or what is left."""


class TarError(MalformedError):
    """A tar archive that is malformed."""


@immutable
class TarMember:
    """A member, and the way to its content.

    Attributes:
        member: what its headers say.
        mtime: seconds since 1970.
        content: reads it piece by piece, once, before the next member is asked for.
    """

    member: ArchiveMember
    mtime: int
    content: Callable[[], Iterator[bytes]]


def read_members(stream: Readable) -> Iterator[TarMember]:
    """Every member in order, then the archive's end.

    Args:
        stream: of the archive, uncompressed.

    Raises:
        TarError: it is cut off, has something behind its end, or can be understood in two ways.
    """
    overrides: dict[str, str] = {}
    while (block := _read_exactly(stream, _BLOCK)) != bytes(_BLOCK):
        kind, size = block[156:157], _read_header_size(block)
        name = overrides.get("path") or _name(block)
        if kind in (_LONG_NAME, _LONG_TARGET, _PAX, _PAX_GLOBAL):
            overrides = _join_records(overrides, _read_extra_header(kind, size, stream, name), name)
            continue
        yield from _read_member(stream, block, name, overrides)
        overrides = {}
    if overrides:
        raise TarError("ends with a header that belongs to no member")
    _require_end(stream)


def _read_member(stream: Readable, block: bytes, name: str, overrides: dict[str, str]) -> Iterator[TarMember]:
    """One member; what was not read of its content is passed over."""
    kind = _KINDS.get(block[156:157], MemberKind.UNKNOWN)
    if kind is MemberKind.FILE and name.endswith("/"):
        raise TarError("is a file with the name of a directory", name)
    if kind is MemberKind.DIRECTORY and _read_header_size(block):
        raise TarError("is a directory with content", name)
    size = _read_header_size(block) if kind in (MemberKind.FILE, MemberKind.SPARSE) else 0
    pieces = _read_pieces(stream, size)
    target = overrides.get("linkpath") or _parse_text(block[157:257], name)
    yield TarMember(
        member=ArchiveMember(
            name=name,
            kind=kind,
            size=size,
            mode=_parse_number(block[100:108], name) & 0o7777,
            target=target if kind in (MemberKind.SYMBOLIC_LINK, MemberKind.HARD_LINK) else "",
        ),
        mtime=_parse_number(block[136:148], name),
        content=lambda: pieces,
    )
    for _ in pieces:
        pass


def _read_pieces(stream: Readable, size: int) -> Iterator[bytes]:
    left = size
    while left:
        piece = _read_exactly(stream, min(left, _CHUNK))
        left -= len(piece)
        yield piece
    _read_exactly(stream, -size % _BLOCK)


def _read_exactly(stream: Readable, size: int) -> bytes:
    content = stream.read(size)
    if len(content) != size:
        raise TarError("is cut off")
    return content


def _read_header_size(block: bytes) -> int:
    """The size that a header gives, once its checksum was found right."""
    if block[257:262] != b"ustar":
        raise TarError("is not a tar archive of today (ustar), or damaged")
    blanked = block[:148] + b" " * 8 + block[156:]
    if sum(blanked) != _parse_number(block[148:156], "header"):
        raise TarError("has a header whose checksum is wrong")
    return _parse_number(block[124:136], _parse_text(block[:100], ""))


def _parse_number(field: bytes, name: str) -> int:
    digits = field.strip(b" \0")
    if not re.fullmatch(rb"[0-7]*", digits):
        raise TarError(f"has the number {field!r} in its header", name)
    return int(digits or b"0", 8)


def _name(block: bytes) -> str:
    """With the prefix that POSIX's ustar has, and GNU's does not."""
    name = _parse_text(block[:100], "")
    prefix = _parse_text(block[345:500], name) if block[257:263] == b"ustar\0" else ""
    return f"{prefix}/{name}" if prefix else name


def _parse_text(field: bytes, name: str) -> str:
    try:
        return field.partition(b"\0")[0].decode()
    except UnicodeDecodeError:
        raise TarError(f"has a name that is not UTF-8: {field!r}", name) from None


def _read_extra_header(kind: bytes, size: int, stream: Readable, name: str) -> dict[str, str]:
    """What a header of its own says of the member behind it."""
    if size > _MOST_EXTRA:
        raise TarError(f"has a header of {size} bytes", name)
    content = b"".join(_read_pieces(stream, size))
    if kind in (_LONG_NAME, _LONG_TARGET):
        return {"path" if kind == _LONG_NAME else "linkpath": _parse_text(content, name)}
    records = _parse_pax_records(content, name)
    forbidden = next((key for key in records if _OVERRIDING.fullmatch(key)), "")
    if kind == _PAX_GLOBAL and "path" in records:
        forbidden = "path"
    if forbidden:
        raise TarError(f"has a pax header that sets {forbidden!r}, which not every reader follows", name)
    return records if kind == _PAX else {"": ""}


def _join_records(before: dict[str, str], more: dict[str, str], name: str) -> dict[str, str]:
    if before.keys() & more.keys():
        raise TarError("has two headers of the same kind for one member", name)
    return {**before, **more}


def _parse_pax_records(content: bytes, name: str) -> dict[str, str]:
    found: dict[str, str] = {}
    while content:
        match = _RECORD.match(content)
        length = int(match[1]) if match else 0
        key, separator, value = content[match.end() if match else 0 : length].partition(b"=")
        if not separator or len(content) < length or not value.endswith(b"\n") or (key == b"path" and b"\0" in value):
            raise TarError("has a pax header that cannot be read", name)
        if key.decode("utf-8", "replace") in found:
            raise TarError(f"has a pax header that sets {key.decode('utf-8', 'replace')!r} twice", name)
        found[key.decode("utf-8", "replace")] = _parse_text(value[:-1], name) if key == b"path" else ""
        content = content[length:]
    return found


def _require_end(stream: Readable) -> None:
    """Nothing but zeros behind the end; reading it verifies the checksum of what compressed it."""
    passed = 0
    while piece := stream.read(_CHUNK):
        passed += len(piece)
        if piece.strip(b"\0") or passed > _MOST_PADDING:
            raise TarError("has something behind its end")


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
    with foreign.open_foreign_file(archive) as packed:
        top = _require_single_top(archive, packed)
        packed.seek(0)
        with gzip.open(packed) as stream, Unpacking(directory) as unpacking:
            for each in read_members(stream):
                if wanted(simplify_member_name(each.member.name)):
                    _unpack(each, unpacking)
    return top


def read_tar_member(archive: Path, wanted: Callable[[str], bool]) -> bytes:
    """The content of the first member with a wanted name, once the whole archive is found sound; empty without one.

    Raises:
        ArchiveError: it is damaged or hostile.
        OSError: it cannot be read.
    """
    found: list[bytes] = []

    def look(each: TarMember) -> ArchiveMember:
        if not found and _is_short(each.member) and wanted(each.member.name):
            found.append(b"".join(each.content()))
        return each.member

    with foreign.open_foreign_file(archive) as packed:
        _check(archive, packed, look)
    return found[0] if found else b""


def _is_short(member: ArchiveMember) -> bool:
    return member.kind is MemberKind.FILE and member.size <= _MOST_METADATA


def _require_single_top(archive: Path, packed: BinaryIO) -> str:
    tops: dict[str, None] = {}

    def look(each: TarMember) -> ArchiveMember:
        tops.setdefault(PurePosixPath(simplify_member_name(each.member.name) or ".").parts[0])
        return each.member

    _check(archive, packed, look)
    if len(tops) != 1:
        found = ", ".join(sorted(tops)) or "none"
        raise ArchiveError(archive, Objection(reason=f"expected one top directory, found {found}"))
    return next(iter(tops))


def _check(archive: Path, packed: BinaryIO, look: Callable[[TarMember], ArchiveMember]) -> None:
    """Read to the end, or to the first objection, which comes before the content of the member that it is about."""
    try:
        with gzip.open(packed) as stream:
            objection = explain_archive_objection(map(look, read_members(stream)), os.fstat(packed.fileno()).st_size)
    except TarError as error:
        raise ArchiveError(archive, Objection(reason=error.reason, member=error.member)) from error
    except _BROKEN as error:
        raise ArchiveError(archive, Objection(reason=str(error))) from error
    if objection is not None:
        raise ArchiveError(archive, objection)


def _unpack(each: TarMember, unpacking: Unpacking) -> None:
    name = simplify_member_name(each.member.name)
    if each.member.kind is MemberKind.DIRECTORY:
        unpacking.directory(name)
    else:
        unpacking.file(name, each.content(), executable=bool(each.member.mode & 0o111), mtime=each.mtime)
