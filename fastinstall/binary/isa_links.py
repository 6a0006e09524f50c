"""What leads into a file's code from outside its instructions: exports, pointers in data, and names it imports.

Source: x86-64 psABI, chapter 4.4, "Relocation"; generic ABI, "RELR Relative Relocations".
"""

import struct
from collections.abc import Iterator

from fastinstall.binary.dynamic import all_dynamic_strings, dynamic_entries
from fastinstall.binary.image import LOAD, WRITABLE, ElfImage
from fastinstall.binary.isa_code import SYMBOL, symbol_entries
from fastinstall.model.immutable import immutable

_RELA, _RELASZ, _JMPREL, _PLTRELSZ, _RELRSZ, _RELR = 7, 8, 23, 2, 35, 36
_INIT, _FINI = 12, 13
_WORD64, _COPY, _GLOBAL, _JUMP, _RELATIVE, _INDIRECT = 1, 5, 6, 7, 8, 37
_RELOCATION = struct.Struct("<QQq")
_NAMED, _POINTING = frozenset({_WORD64, _COPY, _GLOBAL, _JUMP}), frozenset({_WORD64, _GLOBAL, _JUMP})
_CALLABLE = (0, 2, 10)  # NOTYPE, FUNC, GNU_IFUNC
_WORDS_OF_A_MAP = 63
_ASKING = frozenset({"getauxval", "__cpu_model", "__cpu_indicator_init", "__x86_get_cpuid_feature_leaf"})

_Symbol = tuple[int, int, int, int, int, int]


@immutable
class Links:
    """What leads into the code.

    Attributes:
        pointers: addresses of pointers, and the addresses in this file that the loader puts there.
        exported: addresses of functions that other files may call, initialisers among them.
        asking: addresses of pointers to what tells the CPU's features in another file (`__cpu_model`, `getauxval`).
        resolvers: addresses of functions that the loader calls to choose others (IRELATIVE).
        constant: what is mapped for reading alone; variables lie elsewhere.
    """

    pointers: dict[int, int]
    exported: frozenset[int]
    asking: frozenset[int]
    resolvers: frozenset[int]
    constant: tuple[range, ...]


def read_links(image: ElfImage) -> Links:
    """Read relocations and dynamic symbols.

    Raises:
        ElfError: they are malformed.
    """
    values = dict(dynamic_entries(image))
    symbols = list(SYMBOL.iter_unpack(symbol_entries(image)))
    wanted = _asking_symbols(image, values, symbols)
    pointers = dict(_packed(image, values))
    asking, resolvers = set(), set()
    for place, kind, symbol, addend in _relocations(image, values):
        if kind == _RELATIVE:
            pointers[place] = addend
        elif kind == _INDIRECT:
            resolvers.add(addend)
        elif kind in _NAMED and symbol in wanted:
            asking.add(place)
        elif kind in _POINTING and symbol < len(symbols) and symbols[symbol][3]:
            pointers[place] = symbols[symbol][4] + addend
    return Links(
        pointers=pointers,
        exported=frozenset(_callable(values, symbols)),
        asking=frozenset(asking),
        resolvers=frozenset(resolvers),
        constant=tuple(
            range(segment.address, segment.address + segment.size)
            for segment in image.of_kind(LOAD)
            if not segment.flags & WRITABLE
        ),
    )


def _asking_symbols(image: ElfImage, values: dict[int, int], symbols: list[_Symbol]) -> set[int]:
    """Indices of the undefined symbols by which other files tell the CPU's features."""
    names = all_dynamic_strings(image, values)
    imported = ((index, name) for index, (name, _, _, section, _, _) in enumerate(symbols) if name and not section)
    return {index for index, name in imported if names.text(name) in _ASKING}


def _callable(values: dict[int, int], symbols: list[_Symbol]) -> Iterator[int]:
    yield from (values[tag] for tag in (_INIT, _FINI) if tag in values)
    for _, information, _, section, address, _ in symbols:
        if section and information & 15 in _CALLABLE:
            yield address


def _relocations(image: ElfImage, values: dict[int, int]) -> Iterator[tuple[int, int, int, int]]:
    """Place, kind, symbol's index and addend of each."""
    for table, length in ((_RELA, _RELASZ), (_JMPREL, _PLTRELSZ)):
        size = values.get(length, 0)
        if table in values and size:
            content = image.read_at(values[table], size - size % _RELOCATION.size)
            for place, information, addend in _RELOCATION.iter_unpack(content):
                yield place, information & 0xFFFFFFFF, information >> 32, addend


def _packed(image: ElfImage, values: dict[int, int]) -> Iterator[tuple[int, int]]:
    """Pointers of DT_RELR: an even word is an address, an odd one says which of the next 63 words follow it."""
    if _RELR not in values:
        return
    size = values.get(_RELRSZ, 0)
    place = 0
    for (word,) in struct.iter_unpack("<Q", image.read_at(values[_RELR], size - size % 8)):
        if not word & 1:
            yield word, _word_at(image, word)
            place = word + 8
            continue
        marked = (place + 8 * bit for bit in range(_WORDS_OF_A_MAP) if word >> bit + 1 & 1)
        yield from ((each, _word_at(image, each)) for each in marked)
        place += 8 * _WORDS_OF_A_MAP


def _word_at(image: ElfImage, address: int) -> int:
    return int(struct.unpack("<Q", image.read_at(address, 8))[0])
