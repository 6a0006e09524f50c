"""Read an ELF file's dynamic symbols, and the relocations that refer to them.

Sources: glibc's elf/dl-setup_hash.c; System V ABI, chapter 5, "Hash Table".
"""

import struct
from collections.abc import Iterable, Iterator

from fastinstall.elf.dynamic import GNU_HASH, HASH, SYMTAB
from fastinstall.elf.image import ElfError, ElfImage

SYMBOL = struct.Struct("<IBBHQQ")
"""Fields of a symbol: name offset, binding and type, visibility, section, address, size."""

_RELA, _RELASZ, _JMPREL, _PLTRELSZ = 7, 8, 23, 2
_RELOCATION = struct.Struct("<QQq")


def find_symbols(image: ElfImage, names: Iterable[str]) -> Iterator[tuple[str, int, tuple[int, ...]]]:
    """Yield the name, the index and the fields (see `SYMBOL`) of each dynamic symbol whose name is in `names`.

    In a file without a hash table, neither this function nor the loader finds any symbol.

    Raises:
        ElfError: the symbols or their hash table are malformed.
    """
    if GNU_HASH in image.tags or HASH in image.tags:
        offsets = image.strings.offsets(names)
        entries = symbol_entries(image) if offsets else b""
        for index, offset in enumerate(memoryview(entries).cast("I")[::6]):
            if offset in offsets:
                yield offsets[offset], index, SYMBOL.unpack_from(entries, index * SYMBOL.size)


def symbol_entries(image: ElfImage) -> bytes:
    """Return the bytes of the dynamic symbol table; empty if the file has none."""
    if SYMTAB not in image.tags:
        return b""
    return image.read_at(image.tags[SYMTAB], count_symbols(image) * SYMBOL.size)


def read_relocations(image: ElfImage) -> Iterator[tuple[int, int, int, int]]:
    """Yield address, kind, symbol index and addend of each relocation.

    Raises:
        ElfError: a table is outside the file.
    """
    for table in _read_relocation_tables(image):
        for place, information, addend in _RELOCATION.iter_unpack(table):
            yield place, information & 0xFFFFFFFF, information >> 32, addend


_GNU_HEADER = struct.Struct("<IIII")

_HASH_WORD = struct.Struct("<I")

_PAIR = struct.Struct("<II")


_LONGEST_CHAIN = 1 << 16


def count_symbols(image: ElfImage) -> int:
    """Return the number of dynamic symbols, up to the last one that a lookup or a relocation can reach.

    Raises:
        ElfError: the table is malformed.
    """
    if GNU_HASH in image.tags:
        return max(_count_by_gnu_hash(image, image.tags[GNU_HASH]), count_unhashed(image))
    if HASH in image.tags:
        return image.unpack(_PAIR, image.tags[HASH])[1]
    return _count_relocated(image)


def count_unhashed(image: ElfImage) -> int:
    """Return the number of symbols before the first hashed symbol; in a library, these symbols are undefined.

    The header of DT_GNU_HASH gives this number. But if no symbol is hashed, binutils writes 1. So if
    the number is 0 or 1, the symbols in the relocations count too.
    """
    if GNU_HASH not in image.tags:
        return count_symbols(image)
    first = image.unpack(_GNU_HEADER, image.tags[GNU_HASH])[1]
    return first if first > 1 else max(first, _count_relocated(image))


def _count_by_gnu_hash(image: ElfImage, address: int) -> int:
    """Return the number of symbols: 1 plus the last index in the last hash chain, as DT_GNU_HASH has no count."""
    buckets, first, filters, _ = image.unpack(_GNU_HEADER, address)
    places = address + 16 + 8 * filters
    last = max(memoryview(image.read_at(places, 4 * buckets)).cast("I"), default=0)
    if last < first:
        return first
    chains = places + 4 * (buckets - first)
    for index in range(last, last + _LONGEST_CHAIN):
        if image.unpack(_HASH_WORD, chains + 4 * index)[0] & 1:  # this bit marks the last symbol of a chain
            return index + 1
    raise ElfError(image.path, "malformed: a symbol hash table without an end")


def _count_relocated(image: ElfImage) -> int:
    """Return 1 plus the highest symbol index in the relocations, or 0 if no relocation refers to a symbol."""
    words = (memoryview(table).cast("Q")[1::3] for table in _read_relocation_tables(image))
    highest = max((max(each) >> 32 for each in words), default=0)
    return highest + 1 if highest else 0


def _read_relocation_tables(image: ElfImage) -> Iterator[bytes]:
    for table, length in ((_RELA, _RELASZ), (_JMPREL, _PLTRELSZ)):
        size = image.tags.get(length, 0) // _RELOCATION.size * _RELOCATION.size
        if table in image.tags and size:
            yield image.read_at(image.tags[table], size)
