"""What an ELF file defines under a name and what it needs from others, by its hash tables, as the loader sees it.

The hash tables tell which symbols may have a name, and how many there are. Which of several files a reference is bound
to depends on their order in the process, and is decided by `loader`.

Sources: glibc's elf/dl-lookup.c (`do_lookup_x`, `check_match`) and elf/dl-setup_hash.c; System V ABI, chapter 5, "Hash
Table".
"""

import struct
from collections.abc import Iterable, Iterator
from itertools import repeat
from pathlib import Path

from fastinstall.core.values import immutable
from fastinstall.elf.dynamic import GNU_HASH, HASH, SYMTAB, VERSYM, Version, read_defined_versions, read_needed_versions
from fastinstall.elf.image import INTERP, STRTAB, ElfError, ElfImage, open_image

SYMBOL = struct.Struct("<IBBHQQ")
"""Name, binding and type, visibility, section, address and size."""

RELA, RELASZ, JMPREL, PLTRELSZ = 7, 8, 23, 2

_ABSOLUTE = 0xFFF1
_WEAK, _THREAD_LOCAL = 2, 6
_BINDINGS = frozenset({1, _WEAK, 10})  # global, weak, GNU_UNIQUE
_TYPES = frozenset({0, 1, 2, 5, _THREAD_LOCAL, 10})  # none, object, function, common, thread-local, GNU_IFUNC
_SEEN_BY_OTHERS = frozenset({0, 3})  # default, protected; internal and hidden ones are local
_INDEX, _HIDDEN, _BASE, _OLDEST = 0x7FFF, 0x8000, 1, 2


@immutable
class Definition:
    """A definition that references of other files can be bound to.

    Attributes:
        name: of the symbol.
        version: that it has ("LIBJPEG_8.0"); empty if none.
        hidden: it is not the default of its name: only references to its very version are bound to it.
        oldest: it has no version, or the first that its file defines: what a reference without a version gets.
    """

    name: str
    version: str = ""
    hidden: bool = False
    oldest: bool = True


@immutable
class Reference:
    """A symbol that a file wants of another.

    Attributes:
        name: of the symbol.
        version: that is asked for; empty if none.
        library: which of the needed libraries should have that version, as DT_NEEDED names it; empty if none.
        weak: it may stay undefined.
    """

    name: str
    version: str = ""
    library: str = ""
    weak: bool = False


def find_definitions(path: Path, name: str) -> tuple[Definition, ...]:
    """What a file defines for others under a name, one definition per version, in the loader's order.

    Undefined symbols are no definitions, nor are those to which a program lends an address of its own:
    what is called through it is another file's. What the loader passes over is left out: hidden and
    internal symbols, local ones, and types other than code, data and thread-local data.

    Raises:
        ElfError: the file cannot be read as one.
        OSError: it cannot be opened.
    """
    return find_all_definitions(path, (name,))[name]


def find_all_definitions(path: Path, names: tuple[str, ...]) -> dict[str, tuple[Definition, ...]]:
    """The same for several names, with the file opened once.

    Raises:
        ElfError: the file cannot be read as one.
        OSError: it cannot be opened.
    """
    with open_image(path) as image:
        found = [
            (name, _read_version_word(image, index))
            for name in dict.fromkeys(names)
            for index, fields in find_symbols(image, name)
            if _is_definition(*fields[1:5])
        ]
        versions: dict[int, Version] = {}
        if any(word & _INDEX > _BASE for _, word in found):
            versions = _read_versions(image)
    definitions: dict[str, list[Definition]] = {name: [] for name in names}
    for name, word in found:
        index, hidden = word & _INDEX, bool(word & _HIDDEN)
        version = versions[index].name if index in versions else ""
        definitions[name].append(Definition(name=name, version=version, hidden=hidden, oldest=index <= _OLDEST))
    return {name: tuple(each) for name, each in definitions.items()}


def definition_for(definitions: tuple[Definition, ...], reference: Reference) -> Definition | None:
    """Which of a file's definitions of a name the loader would bind a reference to; None if it goes on searching.

    A reference with a version takes that version, else a definition without any. One without a
    version takes the oldest, else the default if there is just one (`check_match`).
    """
    if reference.version:
        fitting = (one for one in definitions if one.version == reference.version or not (one.version or one.hidden))
        return next(fitting, None)
    oldest = next((one for one in definitions if one.oldest), None)
    defaults = [one for one in definitions if not one.hidden]
    return oldest or (defaults[0] if len(defaults) == 1 else None)


def references(path: Path) -> dict[str, Reference]:
    """What a file wants of others (the undefined symbols of .dynsym), by name.

    Of a name that is asked for in several versions, the last in the table is kept.

    Raises:
        ElfError: the file cannot be read as one.
        OSError: it cannot be opened.
    """
    with open_image(path) as image:
        return {reference.name: reference for reference in _read_references(image)}


def find_symbols(image: ElfImage, name: str) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Indices and fields (`SYMBOL`) of the dynamic symbols of a name, by DT_GNU_HASH, or else DT_HASH.

    Without either the loader finds nothing in a file, whatever its symbols are.

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
    """The table of dynamic symbols; empty if there is none."""
    if SYMTAB not in image.tags:
        return b""
    return image.read_at(image.tags[SYMTAB], count_symbols(image) * SYMBOL.size)


def _is_definition(information: int, other: int, section: int, value: int) -> bool:
    kind = information & 15
    return (
        bool(section)
        and (value != 0 or section == _ABSOLUTE or kind == _THREAD_LOCAL)
        and kind in _TYPES
        and information >> 4 in _BINDINGS
        and other & 3 in _SEEN_BY_OTHERS
    )


def _read_version_word(image: ElfImage, index: int) -> int:
    return int.from_bytes(image.read_at(image.tags[VERSYM] + 2 * index, 2), "little") if VERSYM in image.tags else 0


def _read_versions(image: ElfImage) -> dict[int, Version]:
    """By index; a program's copy of another file's data has the version that it needs of that file."""
    return {each.index: each for each in (*read_defined_versions(image), *read_needed_versions(image))}


def _read_references(image: ElfImage) -> Iterator[Reference]:
    if SYMTAB not in image.tags:
        return
    count = count_symbols(image) if image.of_kind(INTERP) else count_unhashed(image)
    versions = _read_versions(image)
    indices: Iterable[int] = repeat(0, count)
    if VERSYM in image.tags:
        indices = memoryview(image.read_at(image.tags[VERSYM], 2 * count)).cast("H")
    symbols = SYMBOL.iter_unpack(image.read_at(image.tags[SYMTAB], count * SYMBOL.size))
    for (name, information, other, section, _, _), index in zip(symbols, indices, strict=True):
        if not section and name and information >> 4 in _BINDINGS and other & 3 in _SEEN_BY_OTHERS:
            version = versions.get(index & _INDEX)
            yield Reference(
                name=image.strings.text(name),
                version=version.name if version else "",
                library=version.library if version else "",
                weak=information >> 4 == _WEAK,
            )


_GNU_HEADER = struct.Struct("<IIII")
_FILTER = struct.Struct("<Q")
_HASH_WORD = struct.Struct("<I")
_PAIR = struct.Struct("<II")
_RELOCATION_WORDS = 3
_LONGEST_CHAIN = 1 << 16


def count_symbols(image: ElfImage) -> int:
    """The number of dynamic symbols, less such at the end as no lookup and no relocation leads to.

    Raises:
        ElfError: the table is malformed.
    """
    if GNU_HASH in image.tags:
        return max(_count_by_gnu_hash(image, image.tags[GNU_HASH]), count_unhashed(image))
    if HASH in image.tags:
        return image.unpack(_PAIR, image.tags[HASH])[1]
    return _count_relocated(image)


def count_unhashed(image: ElfImage) -> int:
    """The number of symbols before the first that others can find: in a library, all that are undefined.

    A table with no symbol in it says 1, whatever that number is (binutils); then the relocations tell.
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
    """Indices of the symbols in a bucket of DT_GNU_HASH, and their hashes, in which the last one has its lowest bit."""
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
    """The end of the chain that begins last: DT_GNU_HASH has no count."""
    buckets, first, filters, _ = image.unpack(_GNU_HEADER, address)
    places = address + 16 + 8 * filters
    last = max(memoryview(image.read_at(places, 4 * buckets)).cast("I"), default=0)
    if last < first:
        return first
    return 1 + max(index for index, _ in _walk_chain(image, places, buckets - first, last))


def _count_relocated(image: ElfImage) -> int:
    """One more than the highest index of a symbol in the relocations; 0 where they name none."""
    highest = 0
    for table, size in ((RELA, RELASZ), (JMPREL, PLTRELSZ)):
        words = image.tags.get(size, 0) // (8 * _RELOCATION_WORDS) * _RELOCATION_WORDS
        if table in image.tags and words:
            content = memoryview(image.read_at(image.tags[table], 8 * words)).cast("Q")
            highest = max(highest, max(content[1::_RELOCATION_WORDS]) >> 32)
    return highest + 1 if highest else 0
