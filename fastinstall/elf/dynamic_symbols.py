"""Read an ELF file's dynamic symbols, the relocations that refer to them, and the hash tables that index them.

Sources: glibc's elf/dl-lookup.c (`do_lookup_x`) and elf/dl-setup_hash.c; System V ABI, chapter 5, "Hash Table".
"""

import struct
from collections.abc import Iterator

from fastinstall.elf.dynamic import GNU_HASH, HASH, SYMTAB
from fastinstall.elf.image import STRTAB, ElfError, ElfImage

SYMBOL = struct.Struct("<IBBHQQ")
"""Fields of a symbol: name offset, binding and type, visibility, section, address, size."""

_RELA, _RELASZ, _JMPREL, _PLTRELSZ = 7, 8, 23, 2
_RELOCATION = struct.Struct("<QQq")


def find_symbols(image: ElfImage, name: str) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Yield the index and the fields (see `SYMBOL`) of each dynamic symbol that is called `name`.

    Symbols are looked up in DT_GNU_HASH, or in DT_HASH if the file has no DT_GNU_HASH. In a file without a hash table
    no symbol is found, by this function or by the loader.

    Raises:
        ElfError: the table is malformed.
    """
    wanted, tags = name.encode("utf-8", "surrogateescape"), image.tags
    indices: Iterator[int] = iter(())
    if tags.keys() >= {SYMTAB, STRTAB, GNU_HASH}:
        indices = _find_by_gnu_hash(image, tags[GNU_HASH], wanted)
    elif tags.keys() >= {SYMTAB, STRTAB, HASH}:
        indices = _find_by_system_v_hash(image, tags[HASH], wanted)
    for index in indices:
        fields = image.unpack(SYMBOL, tags[SYMTAB] + index * SYMBOL.size)
        if image.read_up_to(tags[STRTAB] + fields[0], len(wanted) + 1) == wanted + b"\0":
            yield index, fields


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

_FILTER = struct.Struct("<Q")

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

    The header of DT_GNU_HASH gives this number. In an empty table, binutils always writes 1, so the number is taken
    from the relocations instead.
    """
    if GNU_HASH not in image.tags:
        return count_symbols(image)
    first = image.unpack(_GNU_HEADER, image.tags[GNU_HASH])[1]
    return first if first > 1 else max(first, _count_relocated(image))


def _find_by_gnu_hash(image: ElfImage, address: int, name: bytes) -> Iterator[int]:
    buckets, first, filters, shift = image.unpack(_GNU_HEADER, address)
    if not buckets:
        return
    if not filters:
        raise ElfError(image.path, "malformed: a symbol hash table without a filter")
    code = 5381
    for byte in name:
        code = code * 33 + byte & 0xFFFFFFFF
    (bits,) = image.unpack(_FILTER, address + 16 + 8 * (code // 64 & filters - 1))
    if not bits >> code % 64 & bits >> (code >> shift) % 64 & 1:
        return
    places = address + 16 + 8 * filters
    (start,) = image.unpack(_HASH_WORD, places + 4 * (code % buckets))
    if start:
        yield from (index for index, link in _walk_chain(image, places, buckets - first, start) if link | 1 == code | 1)


def _walk_chain(image: ElfImage, places: int, shift: int, start: int) -> Iterator[tuple[int, int]]:
    """Yield the index and the hash of each symbol in one bucket of DT_GNU_HASH.

    In the hash of the bucket's last symbol, the lowest bit is set.
    """
    chains = places + 4 * shift
    for index in range(start, start + _LONGEST_CHAIN):
        (link,) = image.unpack(_HASH_WORD, chains + 4 * index)
        yield index, link
        if link & 1:
            return
    raise _make_endless_table_error(image)


def _find_by_system_v_hash(image: ElfImage, address: int, name: bytes) -> Iterator[int]:
    buckets, count = image.unpack(_PAIR, address)
    if not buckets:
        return
    code = 0
    for byte in name:
        code = (code << 4) + byte & 0xFFFFFFFF
        code = (code ^ (code & 0xF0000000) >> 24) & 0x0FFFFFFF
    starts = address + 8
    (index,) = image.unpack(_HASH_WORD, starts + 4 * (code % buckets))
    for _ in range(min(count, _LONGEST_CHAIN)):
        if not index:
            return
        yield index
        (index,) = image.unpack(_HASH_WORD, starts + 4 * (buckets + index))
    if index:
        raise _make_endless_table_error(image)


def _make_endless_table_error(image: ElfImage) -> ElfError:
    return ElfError(image.path, "malformed: a symbol hash table without an end")


def _count_by_gnu_hash(image: ElfImage, address: int) -> int:
    """Return the number of symbols: 1 plus the last index in the last hash chain, as DT_GNU_HASH has no count."""
    buckets, first, filters, _ = image.unpack(_GNU_HEADER, address)
    places = address + 16 + 8 * filters
    last = max(memoryview(image.read_at(places, 4 * buckets)).cast("I"), default=0)
    if last < first:
        return first
    return 1 + max(index for index, _ in _walk_chain(image, places, buckets - first, last))


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
