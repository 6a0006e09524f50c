"""Where the code of a file lies, function by function, by sections, symbols and unwind tables.

Source: Linux Standard Base, core specification, chapter 10.6, ".eh_frame_hdr".
"""

import struct
from collections.abc import Iterator
from itertools import pairwise

from fastinstall.core.values import immutable
from fastinstall.elf.dynamic_symbols import SYMBOL, symbol_entries
from fastinstall.elf.image import EXECUTABLE, LOAD, ElfError, ElfImage
from fastinstall.elf.isa.instructions import trampolines
from fastinstall.elf.symbols import Section, read_sections, read_static_table

_PROGRAM_BITS, _EXECUTABLE_SECTION = 1, 4

_EH_FRAME = 0x6474E550

_SORTED_TABLE = b"\x01\x1b\x03\x3b"  # version 1; pointers relative, count plain, entries relative to the table

_UNWIND_HEADER = 12

FUNCTION_KINDS = (0, 2, 10)  # NOTYPE (as assemblers leave them), FUNC, GNU_IFUNC

_UNDEFINED, _RESERVED = 0, 0xFF00

_SHORTEST_GAP = 64

_ADDRESSES = 1 << 64


@immutable
class Piece:
    """A stretch of code: a function, or what lies between two.

    Attributes:
        start: the address of its first byte.
        end: the address behind it.
        content: its machine code, `end - start` bytes.
        known: whether a symbol or the unwind table names its beginning.
    """

    start: int
    end: int
    content: bytes
    known: bool


@immutable
class CodeMap:
    """The code of a file.

    Attributes:
        pieces: in the order of their addresses, without gaps; but for the trampolines to other libraries (.plt).
        trampolines: the pointers that they jump through, by the addresses at which they may be entered.
        bounded: whether functions could be told apart at all.
    """

    pieces: tuple[Piece, ...]
    trampolines: dict[int, int]
    bounded: bool


def map_code(image: ElfImage) -> CodeMap:
    """Find the code.

    Raises:
        ElfError: the file is malformed.
    """
    stubs, regions = dict[int, int](), list[tuple[int, bytes]]()
    for section in read_sections(image):
        if section.kind != _PROGRAM_BITS or not section.flags & _EXECUTABLE_SECTION or not section.size:
            continue
        address, content = _map_section(image, section), image.read(section.offset, section.size)
        if section.name.startswith(".plt"):
            stubs |= trampolines(content, address)
        else:
            regions.append((address, content))
    bounds = _find_function_bounds(image)
    has_sections = bool(stubs or regions)
    regions = regions if has_sections else list(_list_segment_regions(image, bounds))
    _check_extent(image, regions)
    pieces = tuple(piece for address, content in sorted(regions) for piece in _cut(address, content, bounds))
    return CodeMap(pieces=pieces, trampolines=stubs, bounded=bool(bounds) and has_sections)


def split(piece: Piece, starts: list[int]) -> Iterator[Piece]:
    """Cut a piece where other code leads into it; `starts` are such addresses, sorted."""
    for start, end in pairwise([piece.start, *starts, piece.end]):
        content = piece.content[start - piece.start : end - piece.start]
        yield Piece(start=start, end=end, content=content, known=piece.known and start == piece.start)


def _check_extent(image: ElfImage, regions: list[tuple[int, bytes]]) -> None:
    """Refuse sections that overlap, which could make much work of a small file."""
    if sum(len(content) for _, content in regions) > image.size:
        raise ElfError(image.path, "malformed: more code than the file has bytes")
    if any(address + len(content) > _ADDRESSES for address, content in regions):
        raise ElfError(image.path, "malformed: code beyond the last address")


def _list_segment_regions(image: ElfImage, bounds: dict[int, int]) -> Iterator[tuple[int, bytes]]:
    """List code without section headers: what the unwind table covers, as an executable segment may hold data."""
    for segment in image.of_kind(LOAD):
        if segment.flags & EXECUTABLE:
            own = [start for start in bounds if segment.address <= start < segment.address + segment.size]
            if own:
                start, end = min(own), min(max(map(bounds.__getitem__, own)), segment.address + segment.size)
                yield start, image.read_at(start, end - start)
            else:
                yield segment.address, image.read(segment.offset, segment.size)


def _map_section(image: ElfImage, section: Section) -> int:
    """Return where a section with code is mapped to."""
    for segment in image.of_kind(LOAD):
        if segment.offset <= section.offset and section.offset + section.size <= segment.offset + segment.size:
            return segment.address + section.offset - segment.offset
    raise ElfError(image.path, f"malformed: no segment holds the section {section.name}")


def _cut(address: int, content: bytes, bounds: dict[int, int]) -> Iterator[Piece]:
    """Cut a region into pieces: functions, and gaps of more than padding between them."""
    limit = address + len(content)
    starts = sorted(start for start in bounds if address <= start < limit)
    cuts = {address: False, **dict.fromkeys(starts, True)}
    for start, following in pairwise([*starts, limit]):
        end = bounds[start]
        if start < end <= following - _SHORTEST_GAP:
            # code begins at multiples of 16; padding before that belongs to what precedes it
            cuts[min(-(-end // 16) * 16, following - 1)] = False
    places = sorted(cuts)
    for start, end in pairwise([*places, limit]):
        yield Piece(start=start, end=end, content=content[start - address : end - address], known=cuts[start])


def _find_function_bounds(image: ElfImage) -> dict[int, int]:
    """Return the ends of functions by their beginnings; an unknown end is the beginning."""
    bounds = dict(_list_unwind_bounds(image))
    for table in (symbol_entries(image), read_static_table(image)[0]):
        for _, information, _, section, start, size in SYMBOL.iter_unpack(table):
            if _UNDEFINED < section < _RESERVED and information & 15 in FUNCTION_KINDS:
                bounds[start] = max(start + size, bounds.get(start, 0))
    return bounds


def _list_unwind_bounds(image: ElfImage) -> Iterator[tuple[int, int]]:
    for segment in image.of_kind(_EH_FRAME)[:1]:
        content = image.read(segment.offset, segment.size)
        if content[:4] != _SORTED_TABLE or len(content) < _UNWIND_HEADER:
            return
        (count,) = struct.unpack_from("<I", content, 8)
        size = min(8 * count, (len(content) - _UNWIND_HEADER) // 8 * 8)
        for start, description in struct.iter_unpack("<ii", content[_UNWIND_HEADER : _UNWIND_HEADER + size]):
            # the length is a description's second number; both are 32 bits wide where the table's are
            length = int.from_bytes(image.read_at(segment.address + description + 12, 4), "little")
            yield segment.address + start, segment.address + start + length
