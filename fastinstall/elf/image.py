"""An open ELF file, read piece by piece with every bound checked; it is never mapped, loaded or run.

The file is not mapped because SIGBUS would kill this process if another process truncated the file. This module
interprets only the parts that the loader uses: the file header, the program headers, the dynamic section and its
strings. Sources: elf(5); the System V ABI, chapters 4 and 5.

Tables of unknown size are read in small windows, so that looking up one name among a hundred thousand reads little.
"""

import os
import stat
import struct
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path

from fastinstall.core.architecture import ARCHITECTURES
from fastinstall.core.values import immutable

LOAD, DYNAMIC, INTERP, NOTE, GNU_PROPERTY = 1, 2, 3, 4, 0x6474E553
EXECUTABLE, WRITABLE = 1, 2
STRTAB, STRSZ = 5, 10

_OTHERS = {3: "i686", 21: "ppc64le", 40: "armv7l", 243: "riscv64"}
_MACHINES = _OTHERS | {each.elf_machine: each.machine for each in ARCHITECTURES}
_HEADER = struct.Struct("<16xHHIQQQIHHHHHH")
_PROGRAM_HEADER = struct.Struct("<IIQQQQQQ")
_FIRST_PAGE, _WINDOW = 4096, 512
_LARGEST_READ = 1 << 28
_LARGEST_HEADERS = 1 << 16
_LARGEST_DYNAMIC = 1 << 20
_LOADABLE = (2, 3)


class ElfError(ValueError):
    """A file is empty, truncated, malformed, or not an ELF file for a 64-bit little-endian machine.

    Args:
        path: the file, for the error message.
        problem: a description of the fault, for the error message.
    """

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(f"{path}: {problem}")
        self.path = path
        self.problem = problem


class ForeignElfError(ElfError):
    """A file is an ELF file for a 32-bit or big-endian machine."""


class Elf32Error(ForeignElfError):
    """A file is an ELF file for a 32-bit machine."""


@immutable
class Segment:
    """One program header.

    Attributes:
        kind: `p_type`: `LOAD`, `DYNAMIC` and so on.
        flags: `p_flags`: the bits `EXECUTABLE`, `WRITABLE` and 4 for readable.
        offset: where the segment's content starts in the file, in bytes.
        address: where the loader maps the content, relative to the file's load address.
        size: size of the content in the file, in bytes.
        alignment: `p_align`, in bytes: `offset` and `address` are equal modulo the alignment.
    """

    kind: int
    flags: int
    offset: int
    address: int
    size: int
    alignment: int


class ElfImage:
    """An open ELF file: its headers, and methods that read from it with every bound checked.

    Attributes:
        path: the file, for error messages.
        size: size of the file, in bytes.
        machine: the file's architecture, as the kernel names it: "x86_64", "aarch64".
        segments: the program headers, in order.
        section_headers: four numbers: the offset of the section header table, the size of one header, the number of
            headers, and the index of the section with the sections' names.
    """

    def __init__(self, path: Path, descriptor: int) -> None:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise ElfError(path, "not a regular file")
        self.path = path
        self.size = status.st_size
        self._descriptor = descriptor
        self._window, self._window_address = b"", 0
        self._start = os.pread(descriptor, _FIRST_PAGE, 0)
        _check_identity(path, self._start)
        kind, machine, _, _, table, sections, _, _, one, count, section, number, names = _HEADER.unpack_from(
            self._start
        )
        if kind not in _LOADABLE:
            raise ElfError(path, "neither a program nor a shared library")
        self.machine = _MACHINES.get(machine, f"machine {machine}")
        self.section_headers = (sections, section, number, names)
        self.segments = self._read_segments(table, one, count)
        self._loaded = self.of_kind(LOAD)

    def read(self, offset: int, size: int) -> bytes:
        """Read exactly `size` bytes at an offset of the file.

        Raises:
            ElfError: the file ends before the last of these bytes, or `size` is implausibly large.
        """
        end = offset + size
        if end > self.size:
            raise ElfError(self.path, f"truncated: {self.size} bytes, but its headers describe {end}")
        if end <= len(self._start):
            return self._start[offset:end]
        if size > _LARGEST_READ:
            raise ElfError(self.path, f"malformed: a part of {size} bytes")
        content = os.pread(self._descriptor, size, offset)
        if len(content) != size:
            raise ElfError(self.path, "changed while being read")
        return content

    def read_at(self, address: int, size: int) -> bytes:
        """Read the bytes that the loader maps at an address.

        Raises:
            ElfError: no segment contains all of these bytes.
        """
        segment = self._find_segment(address)
        if address + size > segment.address + segment.size:
            raise ElfError(self.path, f"malformed: {size} bytes at address {address:#x} cross a segment's end")
        return self.read(segment.offset + address - segment.address, size)

    def read_up_to(self, address: int, limit: int) -> bytes:
        """Read the bytes from an address to the end of its segment, but at most `limit` bytes."""
        segment = self._find_segment(address)
        return self.read_at(address, min(limit, segment.address + segment.size - address))

    def unpack(self, layout: struct.Struct, address: int) -> tuple[int, ...]:
        """Unpack the record at an address; neighbouring records share one read.

        Raises:
            ElfError: no segment contains the whole record.
        """
        start = address - self._window_address
        if not 0 <= start <= len(self._window) - layout.size:
            self._window, self._window_address, start = self.read_up_to(address, _WINDOW), address, 0
            if len(self._window) < layout.size:
                raise ElfError(self.path, f"malformed: a table is cut off at address {address:#x}")
        return layout.unpack_from(self._window, start)

    def of_kind(self, kind: int) -> tuple[Segment, ...]:
        """Return the segments of one `p_type`, in order."""
        return tuple(segment for segment in self.segments if segment.kind == kind)

    @cached_property
    def dynamic(self) -> tuple[tuple[int, int], ...]:
        """The tag and value of each entry in the dynamic section, up to DT_NULL; empty without such a section."""
        entries = []
        for segment in self.of_kind(DYNAMIC)[:1]:
            if segment.size > _LARGEST_DYNAMIC:
                raise ElfError(self.path, f"malformed: a dynamic section of {segment.size} bytes")
            for tag, value in struct.iter_unpack("<QQ", self.read(segment.offset, segment.size - segment.size % 16)):
                if tag == 0:
                    break
                entries.append((tag, value))
        return tuple(entries)

    @cached_property
    def tags(self) -> dict[int, int]:
        """The dynamic section's values by tag. If a tag occurs twice, its last value counts, as in the loader."""
        return dict(self.dynamic)

    @cached_property
    def strings(self) -> "Strings":
        """The string table that the dynamic section refers to; empty if the section refers to none."""
        if STRTAB not in self.tags:
            return Strings(self, b"")
        return Strings(self, self.read_at(self.tags[STRTAB], self.tags.get(STRSZ, 0)))

    def constants(self) -> bytes:
        """Return the content of the read-only segments, joined by null bytes.

        Usually, the segments with code are left out. They are included if no read-only data segment follows the code:
        in such a file, the linker has put constants and code into one segment.

        Raises:
            ElfError: the file ends before the segments do, or the segments are implausibly large.
        """
        fixed = [segment for segment in self.of_kind(LOAD) if not segment.flags & WRITABLE]
        apart = [segment for segment in fixed if not segment.flags & EXECUTABLE]
        first_code = min((segment.address for segment in fixed if segment.flags & EXECUTABLE), default=0)
        chosen = apart if any(segment.address > first_code for segment in apart) else fixed
        size = sum(segment.size for segment in chosen)
        if size > _LARGEST_READ:
            raise ElfError(self.path, f"implausibly large: segments of {size} bytes")
        return b"\0".join(self.read(segment.offset, segment.size) for segment in chosen)

    def _find_segment(self, address: int) -> Segment:
        for segment in self._loaded:
            if segment.address <= address < segment.address + segment.size:
                return segment
        raise ElfError(self.path, f"malformed: no segment holds address {address:#x}")

    def _read_segments(self, table: int, one: int, count: int) -> tuple[Segment, ...]:
        if count and one != _PROGRAM_HEADER.size:
            raise ElfError(self.path, f"malformed: program headers of {one} bytes")
        if count * one > _LARGEST_HEADERS:  # the kernel's limit (load_elf_phdrs of fs/binfmt_elf.c)
            raise ElfError(self.path, f"malformed: {count} program headers")
        content = self.read(table, count * one)
        segments = tuple(
            Segment(kind=kind, flags=flags, offset=offset, address=address, size=size, alignment=alignment)
            for kind, flags, offset, address, _, size, _, alignment in _PROGRAM_HEADER.iter_unpack(content)
        )
        end = max((segment.offset + segment.size for segment in segments if segment.kind == LOAD), default=0)
        if end > self.size:
            raise ElfError(self.path, f"truncated: {self.size} bytes, where its segments need {end}")
        return segments


@contextmanager
def open_image(path: Path) -> Iterator[ElfImage]:
    """Open an ELF file for reading, without blocking on a FIFO or device.

    Raises:
        ElfError: the file is not a regular file, or not a valid ELF file for a 64-bit little-endian machine.
        OSError: the file cannot be opened.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        yield ElfImage(path, descriptor)
    finally:
        os.close(descriptor)


def _check_identity(path: Path, start: bytes) -> None:
    if not start:
        raise ElfError(path, "empty file")
    if not start.startswith(b"\x7fELF"[: len(start)]):
        raise ElfError(path, "not an ELF file")
    if start[4:5] == b"\x01":
        raise Elf32Error(path, "an ELF file for a 32-bit machine")
    if start[5:6] == b"\x02":
        raise ForeignElfError(path, "an ELF file for a big-endian machine")
    if len(start) < _HEADER.size:
        raise ElfError(path, f"truncated: {len(start)} bytes, where the header alone has {_HEADER.size}")
    if start[4:6] != b"\x02\x01":
        raise ElfError(path, "malformed: an ELF file of no known class")


_SHARED, _MOST_SHARED = 16, 1 << 26
_LONGEST_STRING = 1 << 20


class Strings:
    """A string table.

    Args:
        image: the open file, for error messages.
        content: the bytes of the table.
    """

    __slots__ = ("_image", "_left", "content")

    def __init__(self, image: ElfImage, content: bytes) -> None:
        self._image = image
        self.content = content
        size = len(content)
        self._left = min(_SHARED * size, size + _MOST_SHARED) + _LONGEST_STRING

    def text(self, offset: int) -> str:
        """Return the string at an offset.

        Raises:
            ElfError: the string begins or ends outside the table; or the strings read so far overlap so much that
                together they are many times as long as the table.
        """
        end = self.content.find(b"\0", offset, offset + _LONGEST_STRING)
        if end < 0:
            problem = f"malformed: no string at offset {offset} of a table of {len(self.content)} bytes"
            raise ElfError(self._image.path, problem)
        self._left -= end - offset
        if self._left < 0:
            problem = f"malformed: too many strings in a table of {len(self.content)} bytes"
            raise ElfError(self._image.path, problem)
        return os.fsdecode(self.content[offset:end])

    def offsets(self, texts: Iterable[str]) -> dict[int, str]:
        """Map the offset of each string that equals one of `texts` to that text; a string's tail is a string too."""
        found = {}
        for text in texts:
            wanted = os.fsencode(text) + b"\0"
            offset = self.content.find(wanted)
            while offset >= 0:
                found[offset] = text
                offset = self.content.find(wanted, offset + 1)
        return found
