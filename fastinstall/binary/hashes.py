"""The hash tables of dynamic symbols: which symbols may have a name, and how many there are.

Sources: glibc's elf/dl-lookup.c (`do_lookup_x`) and elf/dl-setup_hash.c; System V ABI, chapter 5, "Hash Table".
"""

import struct
from collections.abc import Iterator, Mapping
from typing import Protocol

from fastinstall.binary.dynamic import GNU_HASH, HASH
from fastinstall.binary.image import ElfError, ElfImage
from fastinstall.binary.tables import Records

RELA, RELASZ, JMPREL, PLTRELSZ = 7, 8, 23, 2

_GNU_HEADER = struct.Struct("<IIII")
_FILTER = struct.Struct("<Q")
_WORD = struct.Struct("<I")
_PAIR = struct.Struct("<II")
_RELOCATION_WORDS = 3
_LONGEST_CHAIN = 1 << 16


class SymbolHash(Protocol):
    """A hash table of symbols."""

    def indices(self, name: bytes) -> Iterator[int]:
        """Indices of the symbols whose hash is that of a name: nearly always those of that name, or none.

        Raises:
            ElfError: the table is malformed.
        """


def symbol_hash(image: ElfImage, values: Mapping[int, int]) -> SymbolHash | None:
    """The hash table of an open file, by the values of its dynamic section; DT_GNU_HASH where there are two.

    Without one the loader finds nothing in a file, whatever its symbols are.

    Raises:
        ElfError: the table is malformed.
    """
    if GNU_HASH in values:
        return _GnuHash(image, values[GNU_HASH])
    return _SystemVHash(image, values[HASH]) if HASH in values else None


def count_symbols(image: ElfImage, values: Mapping[int, int]) -> int:
    """The number of dynamic symbols, less such at the end as no lookup and no relocation leads to.

    Raises:
        ElfError: the table is malformed.
    """
    if GNU_HASH in values:
        return max(_count_by_gnu_hash(image, values[GNU_HASH]), count_unhashed(image, values))
    if HASH in values:
        return _PAIR.unpack(image.read_at(values[HASH], 8))[1]  # type: ignore[no-any-return]
    return _count_relocated(image, values)


def count_unhashed(image: ElfImage, values: Mapping[int, int]) -> int:
    """The number of symbols before the first that others can find: in a library, all that are undefined.

    A table with no symbol in it says 1, whatever that number is (binutils); then the relocations tell.
    """
    if GNU_HASH not in values:
        return count_symbols(image, values)
    first = int(_GNU_HEADER.unpack(image.read_at(values[GNU_HASH], 16))[1])
    return first if first > 1 else max(first, _count_relocated(image, values))


class _GnuHash:
    __slots__ = ("_buckets", "_filter", "_filters", "_first", "_image", "_places", "_shift")

    def __init__(self, image: ElfImage, address: int) -> None:
        self._image = image
        self._buckets, self._first, self._filters, self._shift = _GNU_HEADER.unpack(image.read_at(address, 16))
        self._filter = address + 16
        self._places = self._filter + 8 * self._filters
        if self._buckets and not self._filters:
            raise ElfError(image.path, "malformed: a symbol hash table without a filter")

    def indices(self, name: bytes) -> Iterator[int]:
        code = _gnu_hash(name)
        if not self._buckets or not self._may_have(code):
            return
        (index,) = _WORD.unpack(self._image.read_at(self._places + 4 * (code % self._buckets), 4))
        records, chains = Records(self._image), self._places + 4 * (self._buckets - self._first)
        for symbol in range(index, index + _LONGEST_CHAIN) if index else ():
            (link,) = records.unpack(_WORD, chains + 4 * symbol)
            if link | 1 == code | 1:
                yield symbol
            if link & 1:
                return
        if index:
            raise _endless(self._image)

    def _may_have(self, code: int) -> bool:
        place = self._filter + 8 * (code // 64 & self._filters - 1)
        (bits,) = _FILTER.unpack(self._image.read_at(place, 8))
        return bool(bits >> code % 64 & bits >> (code >> self._shift) % 64 & 1)


class _SystemVHash:
    __slots__ = ("_address", "_buckets", "_count", "_image")

    def __init__(self, image: ElfImage, address: int) -> None:
        self._image = image
        self._address = address
        self._buckets, self._count = _PAIR.unpack(image.read_at(address, 8))

    def indices(self, name: bytes) -> Iterator[int]:
        if not self._buckets:
            return
        records = Records(self._image)
        starts, chains = self._address + 8, self._address + 8 + 4 * self._buckets
        (index,) = records.unpack(_WORD, starts + 4 * (_system_v_hash(name) % self._buckets))
        for _ in range(min(self._count, _LONGEST_CHAIN)):
            if not index:
                return
            yield index
            (index,) = records.unpack(_WORD, chains + 4 * index)
        if index:
            raise _endless(self._image)


def _endless(image: ElfImage) -> ElfError:
    return ElfError(image.path, "malformed: a symbol hash table without an end")


def _count_by_gnu_hash(image: ElfImage, address: int) -> int:
    """The end of the chain that begins last: DT_GNU_HASH has no count."""
    buckets, first, filters, _ = _GNU_HEADER.unpack(image.read_at(address, 16))
    table = address + 16 + 8 * filters
    last = max(memoryview(image.read_at(table, 4 * buckets)).cast("I"), default=0)
    if last < first:
        return int(first)
    records, chains = Records(image), table + 4 * buckets - 4 * first
    for index in range(last, last + _LONGEST_CHAIN):
        if records.unpack(_WORD, chains + 4 * index)[0] & 1:
            return int(index + 1)
    raise _endless(image)


def _count_relocated(image: ElfImage, values: Mapping[int, int]) -> int:
    """One more than the highest index of a symbol in the relocations; 0 where they name none."""
    highest = [0]
    for table, size in ((RELA, RELASZ), (JMPREL, PLTRELSZ)):
        words = values.get(size, 0) // (8 * _RELOCATION_WORDS) * _RELOCATION_WORDS
        if table in values and words:
            content = memoryview(image.read_at(values[table], 8 * words)).cast("Q")
            highest.append(max(content[1::_RELOCATION_WORDS]) >> 32)
    return max(highest) + 1 if any(highest) else 0


def _gnu_hash(name: bytes) -> int:
    code = 5381
    for byte in name:
        code = code * 33 + byte & 0xFFFFFFFF
    return code


def _system_v_hash(name: bytes) -> int:
    code = 0
    for byte in name:
        code = (code << 4) + byte & 0xFFFFFFFF
        code = (code ^ (code & 0xF0000000) >> 24) & 0x0FFFFFFF
    return code
