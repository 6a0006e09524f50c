"""Read and unpack wheels (`.whl`) and sdists (`.tar.gz`) with the standard library, under rules of our own.

What is unpacked goes into directories of ours, through no link and with modes of ours.

`archive_members` judges the names, kinds and sizes of all members before the first one is written. Here an archive is
held to what a reader may rely on: it ends where it says, nothing stands before or behind it, no member overlaps another
one, and a content has the declared length and checksum. Whether two readers might read one archive differently is not
looked into any further: what comes from an index is compared with its hash, and what a wheel holds with its RECORD.

Source: D. Fifield, "A better zip bomb" (WOOT 2019), on members that overlap.
"""

import gzip
import io
import itertools
import os
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import BinaryIO, Self, cast

from fastinstall.core import files, foreign
from fastinstall.core.archive_members import (
    ArchiveError,
    ArchiveMember,
    MemberKind,
    Objection,
    explain_archive_objection,
    simplify_member_name,
)

_CHUNK = 1 << 18
_NO_FOLLOWING = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
BROKEN = (
    *(zipfile.BadZipFile, tarfile.TarError, gzip.BadGzipFile, zlib.error),
    *(EOFError, UnicodeDecodeError, NotImplementedError, struct.error, OverflowError),
)
"""What the readers raise for an archive that is damaged."""

_END_OF_ZIP, _END, _COUNT = b"PK\5\6", 22, slice(10, 12)
"""The record at an archive's end: how it begins, its length without its comment, where it counts the members."""
_LOCAL_HEADER = 30

_ENCRYPTED, _UTF8 = 1, 1 << 11
_KINDS = {
    0: MemberKind.FILE,
    stat.S_IFREG: MemberKind.FILE,
    stat.S_IFDIR: MemberKind.DIRECTORY,
    stat.S_IFLNK: MemberKind.SYMBOLIC_LINK,
}
_TAR_KINDS = {
    tarfile.REGTYPE: MemberKind.FILE,
    tarfile.AREGTYPE: MemberKind.FILE,
    tarfile.LNKTYPE: MemberKind.HARD_LINK,
    tarfile.SYMTYPE: MemberKind.SYMBOLIC_LINK,
    tarfile.DIRTYPE: MemberKind.DIRECTORY,
}
_MOST_METADATA = 1 << 22
"""Bytes of a member that is read as a whole."""

_MOST_AT_ONCE = 1 << 20
"""Bytes that `tarfile` may ask for at once: it reads pax headers and long names whole, whatever length they claim."""


class Unpacking:
    """A tree while it is written. Where the block fails, what it wrote is taken away again.

    Modes are 0755 and 0644 less the umask, whatever the archive says.

    Args:
        root: the directory that receives it; made if it is not there.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._made: set[str] = set()
        self._tops: set[str] = set()
        missing = itertools.takewhile(lambda each: not each.is_dir(), (root, *root.parents))
        self._outermost = next(reversed(list(missing)), None)

    def directory(self, name: str) -> None:
        """Make a directory, with those above it."""
        if name and name not in self._made:
            self.directory(name.rpartition("/")[0])
            (self._root / name).mkdir(0o755)
            self._tops.add(name.partition("/")[0])
            self._made.add(name)

    def file(self, name: str, content: Iterable[bytes], *, executable: bool, mtime: int | None = None) -> None:
        """Write a file that is not there yet.

        Args:
            name: relative to the root, with slashes.
            content: the content in pieces of any size.
            executable: whether it may be run.
            mtime: seconds since 1970; None for now.

        Raises:
            OSError: as the kernel says.
        """
        self.directory(name.rpartition("/")[0])
        descriptor = os.open(self._root / name, _NO_FOLLOWING, 0o755 if executable else 0o644)
        self._tops.add(name.partition("/")[0])
        with os.fdopen(descriptor, "wb") as stream:
            stream.writelines(content)
        if mtime is not None:
            os.utime(self._root / name, (mtime, mtime), follow_symlinks=False)

    def __enter__(self) -> Self:
        """Make the directory where it is missing."""
        self._root.mkdir(0o755, parents=True, exist_ok=True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Take away what was written, where the block failed."""
        if kind is None:
            return
        for name in self._tops:
            files.discard(self._root / name)
        if self._outermost is not None:
            files.discard(self._outermost)


class SoundZip:
    """An open wheel whose structure and members were found sound.

    Args:
        file: the archive, for messages.
        opened: by the standard library.
        members: all of them, in the archive's order.
    """

    def __init__(self, file: Path, opened: zipfile.ZipFile, members: tuple[ArchiveMember, ...]) -> None:
        self._file = file
        self._opened = opened
        self.members = members

    @property
    def files(self) -> tuple[str, ...]:
        """The names of all but the directories."""
        return tuple(member.name for member in self.members if member.kind is MemberKind.FILE)

    def read(self, name: str) -> bytes:
        """Return all of a member's content.

        Raises:
            ArchiveError: it is damaged.
            KeyError: there is none of that name.
        """
        return b"".join(self.content(name))

    def content(self, name: str) -> Iterator[bytes]:
        """Yield a member's content, piece by piece.

        Raises:
            ArchiveError: it is damaged, or longer or shorter than declared.
            KeyError: there is none of that name.
        """
        left = self._opened.getinfo(name).file_size
        try:
            with self._opened.open(name) as stream:
                while piece := stream.read(_CHUNK):
                    left -= len(piece)
                    yield piece
        except BROKEN as error:
            raise ArchiveError(self._file, Objection(member=name, reason=f"is damaged: {error}")) from error
        if left:
            raise ArchiveError(self._file, Objection(member=name, reason="is shorter than declared"))


@contextmanager
def sound_zip(archive: Path) -> Iterator[SoundZip]:
    """Open a wheel and look at its structure, and at the name, kind and declared size of every member.

    Raises:
        ArchiveError: it is damaged or hostile.
        OSError: it cannot be read.
    """
    with foreign.open_foreign_file(archive) as stream:
        size = stream.seek(0, os.SEEK_END)
        try:
            opened = zipfile.ZipFile(stream)
        except BROKEN as error:
            raise ArchiveError(archive, Objection(reason=f"is not a zip archive, or is truncated: {error}")) from error
        members = tuple(map(_make_zip_member, opened.infolist()))
        objection = _explain_zip_objection(opened, stream, size) or explain_archive_objection(members, size)
        if objection is not None:
            raise ArchiveError(archive, objection)
        yield SoundZip(archive, opened, members)


def unpack_zip(archive: Path, directory: Path, wanted: Callable[[str], bool] = lambda _name: True) -> None:
    """Unpack a wheel.

    Args:
        archive: the wheel, which may be hostile.
        directory: where to; made if it is not there.
        wanted: says by its name whether a member is unpacked.

    Raises:
        ArchiveError: it is damaged or hostile; nothing is left of it.
        OSError: it cannot be read, or the directory cannot be written.
    """
    with sound_zip(archive) as found, Unpacking(directory) as unpacking:
        for member in found.members:
            if not wanted(member.name):
                continue
            if member.kind is MemberKind.DIRECTORY:
                unpacking.directory(simplify_member_name(member.name))
            else:
                executable = bool(member.mode & 0o111)
                unpacking.file(simplify_member_name(member.name), found.content(member.name), executable=executable)


def _explain_zip_objection(opened: zipfile.ZipFile, stream: BinaryIO, size: int) -> Objection | None:
    """Return why members are not read; they must lie one behind the other, from the first byte to the directory's.

    What zipfile finds between the directory and the end it counts as lying before all members.
    """
    stream.seek(size - _END - len(opened.comment))
    end = stream.read(_END)
    if not end.startswith(_END_OF_ZIP):
        return Objection(reason="has data after its end")
    in_order = sorted(opened.infolist(), key=lambda info: info.header_offset)
    count = int.from_bytes(end[_COUNT], "little")
    if count != len(in_order):
        return Objection(reason=f"declares {count} members but lists {len(in_order)}")
    ends = [*(info.header_offset for info in in_order), opened.start_dir]
    if ends[0] != 0:
        return Objection(reason="has data before its first member, or between its directory and its end")
    for info, following in zip(in_order, ends[1:], strict=True):
        reason = _explain_zip_member_objection(info)
        if info.header_offset + _LOCAL_HEADER + len(info.orig_filename) + info.compress_size > following:
            reason = reason or "overlaps another member"
        if reason:
            return Objection(member=info.orig_filename, reason=reason)
    return None


def _explain_zip_member_objection(info: zipfile.ZipInfo) -> str:
    if info.flag_bits & _ENCRYPTED:
        return "is encrypted"
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        return f"is compressed by method {info.compress_type}, which wheels do not use"
    if not info.flag_bits & _UTF8 and not info.orig_filename.isascii():
        return "has a name in no known encoding"
    return "has a directory's name but is a file" if info.is_dir() and info.file_size else ""


def _make_zip_member(info: zipfile.ZipInfo) -> ArchiveMember:
    mode = info.external_attr >> 16  # of Unix; whatever made the archive, that is what installers take for the mode
    kind = _KINDS.get(stat.S_IFMT(mode), MemberKind.SPECIAL)
    if info.is_dir() and kind is MemberKind.FILE:
        kind = MemberKind.DIRECTORY
    # As it stands there: zipfile cuts a name at a NUL.
    return ArchiveMember(name=info.orig_filename, kind=kind, size=info.file_size, mode=stat.S_IMODE(mode))


def unpack_tar(archive: Path, directory: Path, wanted: Callable[[str], bool] = lambda _name: True) -> str:
    """Unpack an sdist, which has one top directory, with the dates of its files.

    Args:
        archive: the sdist, which may be hostile.
        directory: where to; made if it is not there.
        wanted: says by its name whether a member is unpacked.

    Returns:
        The name of the top directory.

    Raises:
        ArchiveError: it is damaged or hostile; nothing is left of it.
        OSError: it cannot be read, or the directory cannot be written.
    """
    tops: dict[str, None] = {}

    def unpack(opened: tarfile.TarFile, info: tarfile.TarInfo) -> None:
        name = simplify_member_name(info.name)
        tops.setdefault(PurePosixPath(name or ".").parts[0])
        if wanted(name):
            unpack_tar_member(opened, info, unpacking)

    with foreign.open_foreign_file(archive) as packed, Unpacking(directory) as unpacking:
        _read_tar(archive, packed, unpack)
        if len(tops) != 1:
            found = ", ".join(sorted(tops)) or "none"
            raise ArchiveError(archive, Objection(reason=f"expected one top directory, found {found}"))
    return next(iter(tops))


def read_tar_member(archive: Path, wanted: Callable[[str], bool], *, thorough: bool = True) -> bytes:
    """Return the content of the first member with a wanted name; empty without one.

    Args:
        archive: the sdist, which may be hostile.
        wanted: says by its name whether it is that member.
        thorough: look for damage behind that member too, which takes a second for each 50 MB.

    Raises:
        ArchiveError: it is damaged or hostile.
        OSError: it cannot be read.
    """
    found: list[bytes] = []

    def look(opened: tarfile.TarFile, info: tarfile.TarInfo) -> None:
        if not found and info.isreg() and info.size <= _MOST_METADATA and wanted(info.name):
            found.append(b"".join(_read_tar_content(opened, info)))

    with foreign.open_foreign_file(archive) as packed:
        _read_tar(archive, packed, look, lambda: bool(found) and not thorough)
    return found[0] if found else b""


class _Bounded:
    """Gives no more at once than a header or a piece of a content needs."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self.seek, self.tell = stream.seek, stream.tell

    def read(self, size: int | None = -1) -> bytes:
        if size is None or not 0 <= size <= _MOST_AT_ONCE:
            raise tarfile.ReadError(f"has a header of {size} bytes")
        return self._stream.read(size)


def open_bounded_tar(unpacked: BinaryIO) -> tarfile.TarFile:
    """Open a tar archive that a decompressor gives, which is never asked for more than a piece."""
    return tarfile.TarFile(fileobj=cast("BinaryIO", _Bounded(unpacked)), mode="r", encoding="utf-8")


def _read_tar(
    archive: Path,
    packed: BinaryIO,
    act: Callable[[tarfile.TarFile, tarfile.TarInfo], None],
    is_enough: Callable[[], bool] = lambda: False,
) -> None:
    """Act on each member to the end, or as far as is enough, or to an objection, which comes before its member."""

    def list_members(opened: tarfile.TarFile) -> Iterator[ArchiveMember]:
        for info in opened:
            yield make_tar_member(info)
            act(opened, info)
            if is_enough():
                return

    try:
        with open_bounded_tar(cast("BinaryIO", gzip.GzipFile(fileobj=packed, mode="rb"))) as opened:
            objection = explain_archive_objection(list_members(opened), os.fstat(packed.fileno()).st_size)
            if objection is None and not is_enough():
                _require_end_of_tar(opened)
    except BROKEN as error:
        raise ArchiveError(archive, Objection(reason=f"cannot be read: {error}")) from error
    if objection is not None:
        raise ArchiveError(archive, objection)


def make_tar_member(info: tarfile.TarInfo) -> ArchiveMember:
    """Return a member of a tar archive, to be judged."""
    kind = MemberKind.SPECIAL if info.issparse() else _TAR_KINDS.get(info.type, MemberKind.SPECIAL)
    return ArchiveMember(
        name=info.name,
        kind=kind,
        size=info.size if kind is MemberKind.FILE else 0,
        mode=info.mode & 0o7777,
        target=info.linkname if kind in (MemberKind.SYMBOLIC_LINK, MemberKind.HARD_LINK) else "",
    )


def _read_tar_content(opened: tarfile.TarFile, info: tarfile.TarInfo) -> Iterator[bytes]:
    with cast("io.BufferedReader", opened.extractfile(info)) as stream:
        left = info.size
        while left:
            piece = stream.read(min(left, _CHUNK))
            if not piece:
                raise tarfile.ReadError("is truncated")
            left -= len(piece)
            yield piece


def _require_end_of_tar(opened: tarfile.TarFile) -> None:
    """Refuse anything but zeros behind the last member; reading them verifies the checksum of the compression."""
    stream = cast("BinaryIO", opened.fileobj)
    stream.seek(opened.offset)
    found = 0
    while piece := stream.read(_CHUNK):
        found += len(piece)
        if piece.strip(b"\0") or found > _MOST_AT_ONCE:
            raise tarfile.ReadError("has data after its end, or a damaged header")
    if found < tarfile.BLOCKSIZE:
        raise tarfile.ReadError("is truncated")


def unpack_tar_member(opened: tarfile.TarFile, info: tarfile.TarInfo, unpacking: Unpacking) -> None:
    """Write a file or directory of a tar archive, found harmless."""
    name = simplify_member_name(info.name)
    if info.isdir():
        unpacking.directory(name)
    else:
        mtime = int(info.mtime) if 0 <= info.mtime < 1 << 33 else None
        content = _read_tar_content(opened, info)
        unpacking.file(name, content, executable=bool(info.mode & 0o111), mtime=mtime)
