"""Tables of an ELF file whose size nothing tells, read piece by piece: records at addresses, and strings.

A name is asked of a file that has a hundred thousand: what is read grows with the question, not with the file.
"""

import os
import struct
from collections.abc import Iterable

from fastinstall.binary.image import ElfError, ElfImage

_WINDOW = 4096
_HEAD = 1 << 14
_SHARED, _MOST_SHARED = 16, 1 << 26
_LONGEST_STRING = 1 << 20


class Records:
    """Records of a few bytes at addresses; neighbours share one read.

    Args:
        image: the open file.
    """

    __slots__ = ("_address", "_content", "_image")

    def __init__(self, image: ElfImage) -> None:
        self._image = image
        self._address = 0
        self._content = b""

    def unpack(self, layout: struct.Struct, address: int) -> tuple[int, ...]:
        """The fields of the record at an address.

        Raises:
            ElfError: no segment holds the whole record.
        """
        start = address - self._address
        if not 0 <= start <= len(self._content) - layout.size:
            self._content = self._image.read_up_to(address, _WINDOW)
            self._address, start = address, 0
            if len(self._content) < layout.size:
                raise ElfError(self._image.path, f"malformed: a table is cut off at address {address:#x}")
        return layout.unpack_from(self._content, start)


class Strings:
    """A string table.

    Args:
        image: the open file.
        content: the table, or its beginning.
        address: of a table in a segment, of which only the beginning was read.
        size: of that table, in bytes.
    """

    __slots__ = ("_address", "_content", "_image", "_left", "_size")

    def __init__(self, image: ElfImage, content: bytes, *, address: int = 0, size: int = 0) -> None:
        self._image = image
        self._content = content
        self._address = address
        self._size = max(size, len(content))
        self._left = min(_SHARED * self._size, self._size + _MOST_SHARED) + _LONGEST_STRING

    def text(self, offset: int) -> str:
        """The string at an offset.

        Raises:
            ElfError: it begins or ends outside the table, or the strings that were asked for overlap so
                much that their sum is many times the table.
        """
        end = self._content.find(b"\0", offset, offset + _LONGEST_STRING)
        text = self._content[offset:end] if end >= 0 else self._read(offset)
        self._left -= len(text)
        if self._left < 0:
            raise ElfError(self._image.path, f"malformed: too many strings in a table of {self._size} bytes")
        return os.fsdecode(text)

    def offsets(self, texts: Iterable[str]) -> dict[int, str]:
        """Where in what was read of the table a string begins that is one of `texts`; it may be the end of another."""
        found = {}
        for text in texts:
            wanted = os.fsencode(text) + b"\0"
            offset = self._content.find(wanted)
            while offset >= 0:
                found[offset] = text
                offset = self._content.find(wanted, offset + 1)
        return found

    def _read(self, offset: int) -> bytes:
        length = 256
        while len(self._content) < self._size and length <= _LONGEST_STRING and offset < self._size:
            piece = self._image.read_at(self._address + offset, min(length, self._size - offset))
            text, end, _ = piece.partition(b"\0")
            if end:
                return text
            length *= 4
        raise ElfError(self._image.path, f"malformed: no string at offset {offset} of a table of {self._size} bytes")


def strings_at(image: ElfImage, address: int, size: int) -> Strings:
    """The string table at an address, for the few strings that are wanted of it.

    Raises:
        ElfError: no segment holds it.
    """
    return Strings(image, image.read_at(address, min(size, _HEAD)), address=address, size=size)
