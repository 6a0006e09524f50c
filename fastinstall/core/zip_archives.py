"""Read and unpack wheels: an archive's structure and members are checked first, by our own strict reader.

What one reader might understand otherwise than another is an error. The entries that the directory at the end lists
have to fill the archive from its first byte to that directory, side by side and without a gap; so nothing overlaps,
nothing is hidden, and nothing was put before or behind. Content is never longer than declared and has the declared
checksum, or there is an error. Not for archives in several parts, nor beyond 4 GiB.

Sources: PKWARE's APPNOTE 6.3.10; D. Fifield, "A better zip bomb" (WOOT 2019); the Python Package Index on ZIP parser
confusion (2025-08-07).
"""

import os
import stat
import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from fastinstall.core import foreign
from fastinstall.core.archive_members import (
    MOST_MEMBERS,
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

_END = struct.Struct("<4s4H2LH")
_LISTED = struct.Struct("<4s6H3L5H2L")
_LOCAL = struct.Struct("<4s5H3L2H")
_END_SIGN, _LISTED_SIGN, _LOCAL_SIGN, _DATA_SIGN = b"PK\5\6", b"PK\1\2", b"PK\3\4", b"PK\7\10"
_LONGEST_COMMENT = 0xFFFF
_ZIP64 = 0xFFFFFFFF
_ZIP64_FIELD, _NAME_FIELD = 1, 0x7075
_ENCRYPTED = 1 | 1 << 6 | 1 << 13
_SIZES_BEHIND, _UTF8 = 1 << 3, 1 << 11
_FLAGS = 1 << 1 | 1 << 2 | _SIZES_BEHIND | _UTF8  # the first two tell how hard deflate tried
_LATEST = 63
_METHODS = (0, 8)  # stored, deflated
_MOST_LISTED = MOST_MEMBERS * 512
"""Bytes of the directory: an entry takes 46, and its name."""

_KINDS = {
    0: MemberKind.FILE,
    stat.S_IFREG: MemberKind.FILE,
    stat.S_IFDIR: MemberKind.DIRECTORY,
    stat.S_IFLNK: MemberKind.SYMBOLIC_LINK,
    stat.S_IFCHR: MemberKind.DEVICE,
    stat.S_IFBLK: MemberKind.DEVICE,
    stat.S_IFIFO: MemberKind.PIPE,
    stat.S_IFSOCK: MemberKind.SOCKET,
}


class ZipError(MalformedError):
    """A zip archive that is malformed."""


@immutable
class ZipEntry:
    """A member of a zip archive, and where its content lies.

    Attributes:
        member: what the directory says.
        method: 0 stored, 8 deflated.
        checksum: CRC-32 of its content.
        packed: bytes that it takes in the archive.
        start: where they begin.
    """

    member: ArchiveMember
    method: int
    checksum: int
    packed: int
    start: int


@immutable
class _Listed:
    """An entry of the directory, as it stands there."""

    name: bytes
    flags: int
    method: int
    checksum: int
    packed: int
    size: int
    attributes: int
    offset: int


def read_entries(stream: BinaryIO) -> tuple[ZipEntry, ...]:
    """Every entry, in the order in which they lie in the archive.

    Args:
        stream: of the archive, seekable.

    Raises:
        ZipError: it is no zip archive, or can be understood in two ways.
    """
    size = stream.seek(0, os.SEEK_END)
    start, length, count = _end(stream, size)
    stream.seek(start)
    listed = sorted(_parse_directory(stream.read(length), count), key=lambda each: each.offset)
    if not listed and start:
        raise ZipError("has something before its directory")
    entries, position = [], 0
    for each, following in zip(listed, [*(each.offset for each in listed[1:]), start], strict=False):
        if each.offset != position:
            raise ZipError("overlaps another one, or hides something before it", _format_name(each.name))
        entries.append(_read_entry(stream, each, following))
        position = following
    return tuple(entries)


def _end(stream: BinaryIO, size: int) -> tuple[int, int, int]:
    """Where the directory lies, its length, and how many entries it has."""
    stream.seek(max(0, size - _END.size - _LONGEST_COMMENT))
    tail = stream.read()
    place = tail.rfind(_END_SIGN)
    if place < 0 or len(tail) - place < _END.size:
        raise ZipError("is no zip archive, or cut off")
    _, disk, first, here, count, length, start, comment = _END.unpack_from(tail, place)
    if disk or first or here != count:
        raise ZipError("is one part of several")
    if len(tail) - place - _END.size != comment or b"PK" in tail[place + 2 :]:
        raise ZipError("has something behind its end")
    if count > MOST_MEMBERS or length > _MOST_LISTED:
        raise ZipError(f"has {count} members in a directory of {length} bytes; {MOST_MEMBERS} members are allowed")
    if start + length != size - len(tail) + place:
        raise ZipError("has something before its first member, or between its directory and its end")
    return start, length, count


def _parse_directory(content: bytes, count: int) -> Iterator[_Listed]:
    position = 0
    for _ in range(count):
        if len(content) - position < _LISTED.size:
            raise ZipError("has a directory that is cut off")
        fields = _LISTED.unpack_from(content, position)
        sign, _, version, flags, method, _, _, checksum, packed, size, *lengths, disk, _, attributes, offset = fields
        name_end = position + _LISTED.size + lengths[0]
        name = content[position + _LISTED.size : name_end]
        position = name_end + lengths[1] + lengths[2]
        if sign != _LISTED_SIGN or disk or version & 0xFF > _LATEST or position > len(content):
            raise ZipError("has a directory that cannot be read", _format_name(name))
        _require_plain_fields(content[name_end : name_end + lengths[1]], name)
        yield _Listed(
            name=name,
            flags=flags,
            method=method,
            checksum=checksum,
            packed=packed,
            size=size,
            attributes=attributes,
            offset=offset,
        )
    if position != len(content):
        raise ZipError("has more in its directory than it counts")


def _read_entry(stream: BinaryIO, listed: _Listed, following: int) -> ZipEntry:
    """An entry whose own header was found to say what the directory says of it."""
    name = _decode_name(listed)
    if listed.flags & _ENCRYPTED:
        raise ZipError("is encrypted", name)
    if listed.flags & ~_FLAGS:
        raise ZipError(f"asks for what wheels do not use (flags {listed.flags:#x})", name)
    if listed.method not in _METHODS:
        raise ZipError(f"is compressed by method {listed.method}, which wheels do not use", name)
    if _ZIP64 in (listed.size, listed.packed, listed.offset):
        raise ZipError("is said to be longer than 4 GiB", name)
    start = _require_same(stream, listed, name)
    _require_reaches(stream, listed, start + listed.packed, following)
    return ZipEntry(
        member=_make_member(listed, name),
        method=listed.method,
        checksum=listed.checksum,
        packed=listed.packed,
        start=start,
    )


def _require_same(stream: BinaryIO, listed: _Listed, name: str) -> int:
    """Hold the header before a content against the directory; where the content begins."""
    stream.seek(listed.offset)
    header = stream.read(_LOCAL.size)
    if len(header) != _LOCAL.size or not header.startswith(_LOCAL_SIGN):
        raise ZipError("is not where the directory says", name)
    _, _, flags, method, _, _, checksum, packed, size, name_length, extra_length = _LOCAL.unpack(header)
    if stream.read(name_length) != listed.name:
        raise ZipError("has another name in its own header than in the directory", name)
    extra = stream.read(extra_length)
    _require_plain_fields(extra, listed.name)
    own = _parse_long_sizes(extra) if _ZIP64 in (packed, size) else (size, packed)
    said = (listed.size, listed.packed)
    later = bool(flags & _SIZES_BEHIND) and (checksum, *own) == (0, 0, 0)
    if (flags, method) != (listed.flags, listed.method) or not (later or (checksum, own) == (listed.checksum, said)):
        raise ZipError("is described otherwise in its own header than in the directory", name)
    return listed.offset + _LOCAL.size + int(name_length) + int(extra_length)


def _require_reaches(stream: BinaryIO, listed: _Listed, end: int, following: int) -> None:
    """What lies between a content and what follows: nothing, or its sizes once more."""
    allowed = {b""}
    if listed.flags & _SIZES_BEHIND:
        short = struct.pack("<3L", listed.checksum, listed.packed, listed.size)
        long = struct.pack("<L2Q", listed.checksum, listed.packed, listed.size)
        allowed = {short, long, _DATA_SIGN + short, _DATA_SIGN + long}
    stream.seek(end)
    if not 0 <= following - end <= max(map(len, allowed)) or stream.read(following - end) not in allowed:
        raise ZipError("overlaps another one, or hides something behind it", _format_name(listed.name))


def _require_plain_fields(extra: bytes, name: bytes) -> None:
    """No field may give a member a second name. Source: Info-ZIP's `extrafld.txt`."""
    if any(kind == _NAME_FIELD for kind, _ in _parse_fields(extra)):
        raise ZipError("has a second name in an extra field", _format_name(name))


def _parse_fields(extra: bytes) -> Iterator[tuple[int, bytes]]:
    while len(extra) >= 4:  # noqa: PLR2004 (kind and length of a field)
        kind, length = struct.unpack_from("<2H", extra)
        yield kind, extra[4 : 4 + length]
        extra = extra[4 + length :]


def _parse_long_sizes(extra: bytes) -> tuple[int, int]:
    contents = (content for kind, content in _parse_fields(extra) if kind == _ZIP64_FIELD)
    found = next((content for content in contents if len(content) >= 16), None)  # noqa: PLR2004 (two numbers)
    return struct.unpack_from("<2Q", found) if found is not None else (_ZIP64, _ZIP64)


def _make_member(listed: _Listed, name: str) -> ArchiveMember:
    mode = listed.attributes >> 16  # of Unix; whatever made the archive, that is what installers take for the mode
    kind = _KINDS.get(stat.S_IFMT(mode), MemberKind.UNKNOWN)
    if name.endswith("/"):
        if kind not in (MemberKind.FILE, MemberKind.DIRECTORY) or stat.S_ISREG(mode) or listed.size:
            raise ZipError("has the name of a directory and is none", name)
        kind = MemberKind.DIRECTORY
    elif kind is MemberKind.DIRECTORY:
        raise ZipError("is a directory with the name of a file", name)
    return ArchiveMember(name=name, kind=kind, size=listed.size, mode=stat.S_IMODE(mode))


def _decode_name(listed: _Listed) -> str:
    try:
        return listed.name.decode("utf-8" if listed.flags & _UTF8 else "ascii")
    except UnicodeDecodeError:
        raise ZipError("has a name in no known encoding", _format_name(listed.name)) from None


def _format_name(name: bytes) -> str:
    return name.decode("utf-8", "backslashreplace")


_CHUNK = 1 << 18


class SoundZip:
    """An open archive that was found sound.

    Args:
        file: the archive.
        stream: of it.
        entries: by their names.
    """

    def __init__(self, file: Path, stream: BinaryIO, entries: dict[str, ZipEntry]) -> None:
        self._file = file
        self._stream = stream
        self._entries = entries

    @property
    def members(self) -> tuple[ArchiveMember, ...]:
        """All of them, in the archive's order."""
        return tuple(entry.member for entry in self._entries.values())

    @property
    def files(self) -> tuple[str, ...]:
        """The names of all but the directories."""
        return tuple(member.name for member in self.members if member.kind is MemberKind.FILE)

    def read(self, name: str) -> bytes:
        """All of a member's content.

        Raises:
            ArchiveError: it is damaged.
            KeyError: there is none of that name.
        """
        return b"".join(self.content(name))

    def content(self, name: str) -> Iterator[bytes]:
        """A member's content, piece by piece; one archive is read by one reader at a time.

        Raises:
            ArchiveError: it is damaged, or longer or shorter than declared.
            KeyError: there is none of that name.
        """
        entry = self._entries[name]
        done, checksum = 0, 0
        for piece in self._read_pieces(entry):
            done, checksum = done + len(piece), zlib.crc32(piece, checksum)
            if done > entry.member.size:
                raise self._make_objection(entry, f"is longer than the {entry.member.size} bytes that it declares")
            yield piece
        if done != entry.member.size:
            raise self._make_objection(entry, f"declares {entry.member.size} bytes, and has {done}")
        if checksum != entry.checksum:
            raise self._make_objection(entry, "is damaged: its checksum is another")

    def _read_pieces(self, entry: ZipEntry) -> Iterator[bytes]:
        inflating = zlib.decompressobj(-zlib.MAX_WBITS) if entry.method else None
        left, packed = entry.packed, b""
        self._stream.seek(entry.start)
        while left or packed:
            if not packed:
                packed = self._stream.read(min(left, _CHUNK))
                left = left - len(packed) if packed else 0
            if inflating is None:
                piece, packed = packed, b""
            else:
                piece, packed = self._inflate(entry, inflating, packed)
            yield piece
        if inflating is not None and not inflating.eof:
            yield self._inflate(entry, inflating, b"")[0]
            if not inflating.eof:
                raise self._make_objection(entry, "is cut off")

    def _inflate(self, entry: ZipEntry, inflating: "zlib._Decompress", packed: bytes) -> tuple[bytes, bytes]:
        try:
            piece = inflating.decompress(packed, _CHUNK)
        except zlib.error as error:
            raise self._make_objection(entry, f"is damaged: {error}") from error
        if inflating.unused_data:
            raise self._make_objection(entry, "has something behind its content")
        return piece, inflating.unconsumed_tail

    def _make_objection(self, entry: ZipEntry, reason: str) -> ArchiveError:
        return ArchiveError(self._file, Objection(member=entry.member.name, reason=reason))


@contextmanager
def sound_zip(archive: Path) -> Iterator[SoundZip]:
    """Open an archive and look at its structure, and at the name, kind and declared size of every member.

    Raises:
        ArchiveError: it is damaged or hostile.
        OSError: it cannot be read.
    """
    with foreign.open_foreign_file(archive) as stream:
        try:
            entries = read_entries(stream)
        except ZipError as error:
            raise ArchiveError(archive, Objection(reason=error.reason, member=error.member)) from error
        objection = explain_archive_objection((entry.member for entry in entries), os.fstat(stream.fileno()).st_size)
        if objection is not None:
            raise ArchiveError(archive, objection)
        yield SoundZip(archive, stream, {entry.member.name: entry for entry in entries})


def unpack_zip(archive: Path, directory: Path) -> None:
    """Unpack an archive into a directory, made if it is not there.

    Raises:
        ArchiveError: it is damaged or hostile; nothing is left of it.
        OSError: it cannot be read, or the directory cannot be written.
    """
    with sound_zip(archive) as found, Unpacking(directory) as unpacking:
        for member in found.members:
            if member.kind is MemberKind.DIRECTORY:
                unpacking.directory(simplify_member_name(member.name))
            else:
                executable = bool(member.mode & 0o111)
                unpacking.file(simplify_member_name(member.name), found.content(member.name), executable=executable)
