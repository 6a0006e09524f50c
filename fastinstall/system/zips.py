"""Read and unpack wheels: an archive whose structure and members were found sound, by its own reader.

Content is never longer than declared, and has the checksum that is declared, or there is an error.
"""

import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from fastinstall.model.archive import Member, MemberKind, Objection
from fastinstall.rules.archive_members import objection_to, plain
from fastinstall.system import foreign
from fastinstall.system.archive_error import ArchiveError
from fastinstall.system.unpacking import Unpacking
from fastinstall.system.zip_entries import Entry, ZipError, read_entries

_CHUNK = 1 << 18


class SoundZip:
    """An open archive that was found sound.

    Args:
        file: the archive.
        stream: of it.
        entries: by their names.
    """

    def __init__(self, file: Path, stream: BinaryIO, entries: dict[str, Entry]) -> None:
        self._file = file
        self._stream = stream
        self._entries = entries

    @property
    def members(self) -> tuple[Member, ...]:
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
        for piece in self._pieces(entry):
            done, checksum = done + len(piece), zlib.crc32(piece, checksum)
            if done > entry.member.size:
                raise self._lies(entry, f"is longer than the {entry.member.size} bytes that it declares")
            yield piece
        if done != entry.member.size:
            raise self._lies(entry, f"declares {entry.member.size} bytes, and has {done}")
        if checksum != entry.checksum:
            raise self._lies(entry, "is damaged: its checksum is another")

    def _pieces(self, entry: Entry) -> Iterator[bytes]:
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
                piece, packed = self._inflated(entry, inflating, packed)
            yield piece
        if inflating is not None and not inflating.eof:
            yield self._inflated(entry, inflating, b"")[0]
            if not inflating.eof:
                raise self._lies(entry, "is cut off")

    def _inflated(self, entry: Entry, inflating: "zlib._Decompress", packed: bytes) -> tuple[bytes, bytes]:
        try:
            piece = inflating.decompress(packed, _CHUNK)
        except zlib.error as error:
            raise self._lies(entry, f"is damaged: {error}") from error
        if inflating.unused_data:
            raise self._lies(entry, "has something behind its content")
        return piece, inflating.unconsumed_tail

    def _lies(self, entry: Entry, reason: str) -> ArchiveError:
        return ArchiveError(self._file, Objection(member=entry.member.name, reason=reason))


@contextmanager
def sound_zip(archive: Path) -> Iterator[SoundZip]:
    """Open an archive and look at its structure, and at the name, kind and declared size of every member.

    Raises:
        ArchiveError: it is damaged or hostile.
        OSError: it cannot be read.
    """
    with foreign.opened(archive) as stream:
        try:
            entries = read_entries(stream)
        except ZipError as error:
            raise ArchiveError(archive, Objection(reason=error.reason, member=error.member)) from error
        objection = objection_to((entry.member for entry in entries), os.fstat(stream.fileno()).st_size)
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
                unpacking.directory(plain(member.name))
            else:
                executable = bool(member.mode & 0o111)
                unpacking.file(plain(member.name), found.content(member.name), executable=executable)
