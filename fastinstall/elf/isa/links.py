"""What leads into the code of a file from outside its instructions: exports, pointers in data, and imported names.

Source: x86-64 psABI, chapter 4.4, "Relocation"; generic ABI, "RELR Relative Relocations".
"""

import struct
from collections.abc import Iterator

from fastinstall.core.values import immutable
from fastinstall.elf.dynamic_symbols import JMPREL, PLTRELSZ, RELA, RELASZ, SYMBOL, symbol_entries
from fastinstall.elf.image import LOAD, WRITABLE, ElfImage
from fastinstall.elf.isa.code_map import FUNCTION_KINDS

_RELRSZ, _RELR = 35, 36

_INIT, _FINI = 12, 13

_WORD64, _COPY, _GLOBAL, _JUMP, _RELATIVE, _INDIRECT = 1, 5, 6, 7, 8, 37

_RELOCATION = struct.Struct("<QQq")

_NAMED, _POINTING = frozenset({_WORD64, _COPY, _GLOBAL, _JUMP}), frozenset({_WORD64, _GLOBAL, _JUMP})

_WORDS_OF_A_MAP = 63

_ASKING = frozenset({"getauxval", "__cpu_model", "__cpu_indicator_init", "__x86_get_cpuid_feature_leaf"})


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
    values = image.tags
    symbols = list(SYMBOL.iter_unpack(symbol_entries(image)))
    # Undefined symbols by which other files tell the CPU's features.
    imported = ((index, name) for index, (name, _, _, section, _, _) in enumerate(symbols) if name and not section)
    wanted = {index for index, name in imported if image.strings.text(name) in _ASKING}
    pointers = dict(_read_packed_relocations(image))
    asking, resolvers = set(), set()
    for place, kind, symbol, addend in _read_relocations(image):
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


def _read_relocations(image: ElfImage) -> Iterator[tuple[int, int, int, int]]:
    """Place, kind, symbol's index and addend of each."""
    for table, length in ((RELA, RELASZ), (JMPREL, PLTRELSZ)):
        size = image.tags.get(length, 0)
        if table in image.tags and size:
            content = image.read_at(image.tags[table], size - size % _RELOCATION.size)
            for place, information, addend in _RELOCATION.iter_unpack(content):
                yield place, information & 0xFFFFFFFF, information >> 32, addend


def _read_packed_relocations(image: ElfImage) -> Iterator[tuple[int, int]]:
    """Yield pointers of DT_RELR: an even word is an address, an odd one says which of the next 63 words follow it."""
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
