"""Find the CPU features that each function of a file uses, and the functions that run without a check of the CPU.

Which functions run without a check is an estimate from the references between functions. Dispatchers are:

- functions that ask the CPU for its features (with CPUID, with `__cpu_model` or as an IFUNC's resolver)
- the callers of these functions, and the callers of the callers
- functions that read a variable with the CPU's answer

A function that only dispatchers refer to counts as chosen by them. Any other function that can be reached from outside
the file runs "unasked", that is, without a check of the CPU. A dispatcher that receives the CPU's answer as an argument
is not recognised, so the functions that it chooses count as unasked.

Sources: Linux Standard Base, core specification, chapter 10.6, ".eh_frame_hdr"; x86-64 psABI, chapter 4.4,
"Relocation"; generic ABI, "RELR Relative Relocations".
"""

import struct
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from fastinstall.core.values import immutable
from fastinstall.elf.dynamic_symbols import SYMBOL, read_relocations, symbol_entries
from fastinstall.elf.image import EXECUTABLE, LOAD, WRITABLE, ElfError, ElfImage
from fastinstall.elf.isa.instructions import (
    References,
    Style,
    count_and_refer,
    count_instructions,
    demand_of,
    trampolines,
)
from fastinstall.elf.symbols import Section, read_sections, read_static_table

_EH_FRAME = 0x6474E550

_SORTED_TABLE = b"\x01\x1b\x03\x3b"  # .eh_frame_hdr: version 1, relative pointer, plain count, table-relative entries

_UNWIND_HEADER = 12

FUNCTION_KINDS = (0, 2, 10)  # NOTYPE (many assembler functions), FUNC, GNU_IFUNC

_UNDEFINED, _RESERVED = 0, 0xFF00

_SHORTEST_GAP = 64

_ADDRESSES = 1 << 64


@immutable
class Piece:
    """A stretch of code: a function, or the gap between two functions.

    Attributes:
        start: the address of the first byte.
        end: the address after the last byte.
        content: the machine code, `end - start` bytes.
        known: whether the file's symbols or its unwind table have a function that starts at `start`.
    """

    start: int
    end: int
    content: bytes
    known: bool


@immutable
class CodeMap:
    """The code of a file.

    Attributes:
        pieces: all code in address order, except the trampolines to other libraries (.plt).
        trampolines: maps each address at which a trampoline may be entered to the address of the pointer that the
            trampoline jumps through.
        bounded: whether the file's symbols or unwind table give the bounds of its functions.
    """

    pieces: tuple[Piece, ...]
    trampolines: dict[int, int]
    bounded: bool


def map_code(image: ElfImage) -> CodeMap:
    """Find the code of a file and cut it into pieces.

    Raises:
        ElfError: the file is malformed.
    """
    stubs, regions = dict[int, int](), list[tuple[int, bytes]]()
    for section in read_sections(image):
        if not section.has_code or not section.size:
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
    """Cut a piece at the addresses `starts`, which must be sorted and inside the piece."""
    for start, end in pairwise([piece.start, *starts, piece.end]):
        content = piece.content[start - piece.start : end - piece.start]
        yield Piece(start=start, end=end, content=content, known=piece.known and start == piece.start)


def _check_extent(image: ElfImage, regions: list[tuple[int, bytes]]) -> None:
    """Refuse overlapping sections, because they could make a small file cause a lot of work.

    Raises:
        ElfError: the regions are together larger than the file, or extend beyond the last address.
    """
    if sum(len(content) for _, content in regions) > image.size:
        raise ElfError(image.path, "malformed: more code than the file has bytes")
    if any(address + len(content) > _ADDRESSES for address, content in regions):
        raise ElfError(image.path, "malformed: code beyond the last address")


def _list_segment_regions(image: ElfImage, bounds: dict[int, int]) -> Iterator[tuple[int, bytes]]:
    """Yield the address and the content of each region of code in a file without section headers.

    An executable segment may also contain data. If `bounds`, a map of the functions' start and end addresses, has
    functions in the segment, only the range from the first to the last of them is yielded.
    """
    for segment in image.of_kind(LOAD):
        if segment.flags & EXECUTABLE:
            own = [start for start in bounds if segment.address <= start < segment.address + segment.size]
            if own:
                start, end = min(own), min(max(map(bounds.__getitem__, own)), segment.address + segment.size)
                yield start, image.read_at(start, end - start)
            else:
                yield segment.address, image.read(segment.offset, segment.size)


def _map_section(image: ElfImage, section: Section) -> int:
    """Return the address at which a section with code is mapped."""
    for segment in image.of_kind(LOAD):
        if segment.offset <= section.offset and section.offset + section.size <= segment.offset + segment.size:
            return segment.address + section.offset - segment.offset
    raise ElfError(image.path, f"malformed: no segment holds the section {section.name}")


def _cut(address: int, content: bytes, bounds: dict[int, int]) -> Iterator[Piece]:
    """Cut a region into functions and the gaps between them; a short gap counts as part of the function before it."""
    limit = address + len(content)
    starts = sorted(start for start in bounds if address <= start < limit)
    cuts = {address: False, **dict.fromkeys(starts, True)}
    for start, following in pairwise([*starts, limit]):
        end = bounds[start]
        if start < end <= following - _SHORTEST_GAP:
            # the gap's code begins at a multiple of 16; the padding before it counts as part of the function
            cuts[min(-(-end // 16) * 16, following - 1)] = False
    places = sorted(cuts)
    for start, end in pairwise([*places, limit]):
        yield Piece(start=start, end=end, content=content[start - address : end - address], known=cuts[start])


def _find_function_bounds(image: ElfImage) -> dict[int, int]:
    """Map the start address of each function to its end address; if the end is unknown, to the start address."""
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
            # A frame description has the function's start and length, both of 32 bits in files with a sorted table.
            length = int.from_bytes(image.read_at(segment.address + description + 12, 4), "little")
            yield segment.address + start, segment.address + start + length


_RELRSZ, _RELR = 35, 36
_INIT, _FINI = 12, 13
_WORD64, _COPY, _GLOBAL, _JUMP, _RELATIVE, _INDIRECT = 1, 5, 6, 7, 8, 37
_NAMED, _POINTING = frozenset({_WORD64, _COPY, _GLOBAL, _JUMP}), frozenset({_WORD64, _GLOBAL, _JUMP})
_WORDS_OF_A_MAP = 63
_ASKING = frozenset({"getauxval", "__cpu_model", "__cpu_indicator_init", "__x86_get_cpuid_feature_leaf"})


@immutable
class Links:
    """The links between a file's code and other files, and the file's relocated pointers.

    Attributes:
        pointers: maps the address of each relocated pointer to its target in this file.
        exported: addresses of functions that other files may call, including initialisers.
        asking: addresses of pointers to other files' symbols that report CPU features (`__cpu_model`, `getauxval`).
        resolvers: addresses of functions that the loader calls to choose an implementation (IRELATIVE).
        constant: address ranges that are not writable and therefore contain no variables.
    """

    pointers: dict[int, int]
    exported: frozenset[int]
    asking: frozenset[int]
    resolvers: frozenset[int]
    constant: tuple[range, ...]


def read_links(image: ElfImage) -> Links:
    """Read the references between functions and data of a file from its relocations and dynamic symbols.

    Raises:
        ElfError: the relocations or symbols are malformed.
    """
    values = image.tags
    symbols = list(SYMBOL.iter_unpack(symbol_entries(image)))
    # Indices of imported symbols that report the CPU's features.
    imported = ((index, name) for index, (name, _, _, section, _, _) in enumerate(symbols) if name and not section)
    wanted = {index for index, name in imported if image.strings.text(name) in _ASKING}
    pointers = dict(_read_packed_relocations(image))
    asking, resolvers = set(), set()
    for place, kind, symbol, addend in read_relocations(image):
        if kind == _RELATIVE:
            pointers[place] = addend
        elif kind == _INDIRECT:
            resolvers.add(addend)
        elif kind in _NAMED and symbol in wanted:
            asking.add(place)
        elif kind in _POINTING and symbol < len(symbols) and symbols[symbol][3]:
            pointers[place] = symbols[symbol][4] + addend
    called = (each[4] for each in symbols if each[3] and each[1] & 15 in FUNCTION_KINDS)
    return Links(
        pointers=pointers,
        exported=frozenset(called).union(values[tag] for tag in (_INIT, _FINI) if tag in values),
        asking=frozenset(asking),
        resolvers=frozenset(resolvers),
        constant=tuple(
            range(segment.address, segment.address + segment.size)
            for segment in image.of_kind(LOAD)
            if not segment.flags & WRITABLE
        ),
    )


def _read_packed_relocations(image: ElfImage) -> Iterator[tuple[int, int]]:
    """Yield the address and the value of each pointer that DT_RELR relocates.

    An even word in the table is the address of a pointer. An odd word is a bitmap: it marks pointers among the next 63
    words after the last word that the table has described so far.
    """
    size = image.tags.get(_RELRSZ, 0) if _RELR in image.tags else 0
    table = image.read_at(image.tags[_RELR], size - size % 8) if size else b""
    place = 0
    for (word,) in struct.iter_unpack("<Q", table):
        if word & 1:
            marked = [place + 8 * bit for bit in range(_WORDS_OF_A_MAP) if word >> bit + 1 & 1]
            place += 8 * _WORDS_OF_A_MAP
        else:
            marked, place = [word], word + 8
        yield from ((each, int.from_bytes(image.read_at(each, 8), "little")) for each in marked)


_CPUID = b"\x0f\xa2"
_DATA = 0.01


@immutable
class Function:
    """A stretch of code and the CPU features that it uses.

    Attributes:
        address: the address of its first instruction.
        instructions: number of instructions.
        features: maps each CPU feature that is used to the number of instructions that need it.
        legacy: number of vector instructions in the SSE encoding.
        wide: number of vector instructions in the AVX and AVX-512 encodings.
        wrong: number of invalid instructions.
        unasked: whether the function may run without a check of the CPU.
    """

    address: int
    instructions: int
    features: Mapping[str, int]
    legacy: int
    wide: int
    wrong: int
    unasked: bool = True

    @property
    def is_code(self) -> bool:
        """Whether nearly all of the stretch decodes to valid instructions; False for constants in a code section."""
        return self.wrong <= 1 or self.wrong < _DATA * self.instructions


@immutable
class Usage:
    """The CPU features that the code of a file uses.

    Attributes:
        functions: every stretch of code in the file, in address order.
        asks: addresses of the functions that ask the CPU or act on its answer.
        bounded: whether the bounds of functions are known; otherwise, their callers cannot be determined.
    """

    functions: tuple[Function, ...]
    asks: tuple[int, ...]
    bounded: bool


def read_usage(image: ElfImage) -> Usage:
    """Decode the code of an open file and return the CPU features that it uses.

    Raises:
        ElfError: the file is malformed.
    """
    code, links = map_code(image), read_links(image)
    if links.asking or links.resolvers or any(_CPUID in piece.content for piece in code.pieces):
        return _select_usage(code, links)
    functions = (_weigh_piece(piece, count_instructions(piece.content, piece.start)) for piece in code.pieces)
    return Usage(functions=tuple(functions), asks=(), bounded=code.bounded)


def features_of(functions: Iterable[Function]) -> Counter[str]:
    """Count, for each feature, the instructions that need it."""
    found: Counter[str] = Counter()
    for function in functions:
        found.update(function.features)
    return found


def _select_usage(code: CodeMap, links: Links) -> Usage:
    read = {(piece.start, piece.end): count_and_refer(piece.content, piece.start) for piece in code.pieces}
    code = _divide_gaps(code, [refers for _, refers in read.values()], links)
    found = [read.get((piece.start, piece.end)) or count_and_refer(piece.content, piece.start) for piece in code.pieces]
    asking = {
        index for index, (codes, _) in enumerate(found) if any(demand_of(code)[1] is Style.QUESTION for code in codes)
    }
    functions = [_weigh_piece(piece, codes) for piece, (codes, _) in zip(code.pieces, found, strict=True)]
    graph = _Graph(code, [refers for _, refers in found], links)
    choosing, reading = graph.find_choosing(asking)
    unasked = graph.find_unasked(choosing, [function.features for function in functions]) - reading
    return Usage(
        functions=tuple(replace(each, unasked=index in unasked) for index, each in enumerate(functions)),
        asks=tuple(code.pieces[index].start for index in sorted(choosing)),
        bounded=code.bounded,
    )


def _divide_gaps(code: CodeMap, references: list[References], links: Links) -> CodeMap:
    """Cut the gaps between known functions at every target of a branch or pointer; most gaps are assembler code."""
    if all(piece.known for piece in code.pieces):
        return code
    targets = set(links.pointers.values()).union(*(each.branches | each.data for each in references))
    ordered, pieces = sorted(targets), list[Piece]()
    for piece in code.pieces:
        inside = ordered[bisect_right(ordered, piece.start) : bisect_left(ordered, piece.end)]
        pieces += [piece] if piece.known else split(piece, inside)
    return replace(code, pieces=tuple(pieces))


def _weigh_piece(piece: Piece, codes: Mapping[int, int]) -> Function:
    features: Counter[str] = Counter()
    styles: Counter[Style] = Counter()
    for code, number in codes.items():
        needed, style = demand_of(code)
        styles[style] += number
        for feature in needed:
            features[feature] += number
    return Function(
        address=piece.start,
        instructions=sum(codes.values()),
        features=features,
        legacy=styles[Style.LEGACY],
        wide=styles[Style.WIDE],
        wrong=styles[Style.NONE],
    )


class _Graph:
    """The graph of references from functions to other functions and to variables.

    Functions are given by the indices of their pieces, variables by their addresses.
    """

    def __init__(self, code: CodeMap, references: Sequence[References], links: Links) -> None:
        self._code = code
        self._starts = [piece.start for piece in code.pieces]
        self._by_start = {start: index for index, start in enumerate(self._starts)}
        self._references = references
        self._links = links
        stubs = code.trampolines
        self._through = frozenset().union(*(each.through for each in references))
        self._named = frozenset().union(*(each.addresses for each in references))
        through = [{stubs[one] for one in each.branches if one in stubs} for each in references]
        self._places = [each.addresses | more for each, more in zip(references, through, strict=True)]
        self._targets = [
            self._find_owners(each.branches | places | {links.pointers.get(place, -1) for place in places})
            for each, places in zip(references, self._places, strict=True)
        ]
        self._users: dict[int, set[int]] = defaultdict(set)
        for index, targets in enumerate(self._targets):
            for target in targets - {index}:
                self._users[target].add(index)

    def find_choosing(self, asking: set[int]) -> tuple[set[int], set[int]]:
        """Find the dispatchers.

        Args:
            asking: indices of the functions that contain an instruction which asks the CPU.

        Returns:
            1. The indices of functions that ask the CPU or act on its answer. 2. A subset of these: the functions that
            only read the answer from a variable.
        """
        probes = asking | self._find_owners(self._links.resolvers) | self._find_reading(self._links.asking)
        callers = self._find_callers(probes)
        calling = probes | callers | self._find_callers(callers)
        reading = self._find_reading(self._find_answers(probes, callers)) - calling
        return calling | reading, reading

    def find_unasked(self, choosing: set[int], needs: Sequence[Collection[str]]) -> set[int]:
        """Return the indices of functions that can be reached from outside the file without a check of the CPU.

        A table of pointers may list implementations for a dispatcher. Therefore a function that is in a table counts
        as reached only if it needs no features beyond those of the other reached functions.

        Args:
            choosing: indices of the functions that ask the CPU or act on its answer.
            needs: the features that each function uses, by the function's index.
        """
        tables = self._find_owners(target for place, target in self._links.pointers.items() if place not in self._named)
        chosen = set().union(*(self._targets[index] for index in choosing)) - choosing
        entries = (self._find_owners(self._links.exported) - chosen) | self._find_owners(self._links.resolvers)
        reached = self._find_reached(entries | {index for index in tables if not needs[index]}, choosing)
        usual = {feature for index in reached for feature in needs[index]}
        return reached | self._find_reached({index for index in tables if usual.issuperset(needs[index])}, choosing)

    def _find_owners(self, addresses: Iterable[int]) -> set[int]:
        """Return the indices of functions whose code contains any of the addresses."""
        found = set()
        for address in addresses:
            index = self._by_start.get(address, bisect_right(self._starts, address) - 1)
            if index >= 0 and address < self._code.pieces[index].end:
                found.add(index)
        return found

    def _find_callers(self, functions: set[int]) -> set[int]:
        """Return the indices of functions that refer to any of the given functions."""
        return set().union(*(self._users[index] for index in functions))

    def _find_reading(self, addresses: frozenset[int]) -> set[int]:
        """Return the indices of functions that use a variable, or call through a pointer, at one of `addresses`."""
        return {index for index, places in enumerate(self._places) if places & addresses}

    def _find_answers(self, probes: set[int], callers: set[int]) -> frozenset[int]:
        """Return the addresses of variables that may hold the CPU's features, and of pointers to these or to probes.

        A variable may hold the features if a probe, or a caller of a probe, refers to it. Pointers through which code
        is called do not count as variables.

        Args:
            probes: indices of the functions that ask the CPU.
            callers: indices of the probes' callers.
        """
        named = (self._references[index] for index in probes | callers)
        plain = {address for each in named for address in each.writes | each.data if self._is_variable(address)}
        pointers = self._links.pointers
        found = plain.union(place for place, target in pointers.items() if self._find_owners((target,)) & probes)
        return frozenset(found.union(place for place, target in pointers.items() if target in found))

    def _find_reached(self, waiting: set[int], choosing: set[int]) -> set[int]:
        reached: set[int] = set()
        while waiting:
            index = waiting.pop()
            if index not in reached:
                reached.add(index)
                waiting |= self._targets[index] & choosing if index in choosing else self._targets[index]
        return reached

    def _is_variable(self, address: int) -> bool:
        fixed = address in self._links.pointers or any(address in part for part in self._links.constant)
        return not fixed and address not in self._through
