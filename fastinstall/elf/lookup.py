"""Read the versioned symbols of an ELF file: its definitions of a name, and its references to other files.

The file that a reference is bound to depends on the order of files in the process; `fastinstall.elf.loader` finds it.
Sources: glibc's elf/dl-lookup.c (`check_match`) and elf/dl-version.c, which follows the offsets from entry to entry and
ignores all counts; Linux Standard Base Core, "Symbol Versioning".
"""

import struct
from collections.abc import Iterable, Iterator
from dataclasses import field
from itertools import repeat
from pathlib import Path

from fastinstall.core.values import immutable
from fastinstall.elf.dynamic import SYMTAB
from fastinstall.elf.dynamic_symbols import SYMBOL, count_symbols, count_unhashed, find_symbols
from fastinstall.elf.image import INTERP, ElfError, ElfImage, open_image

VERSYM, VERDEF, VERNEED = 0x6FFFFFF0, 0x6FFFFFFC, 0x6FFFFFFE
_NEED = struct.Struct("<HHIII")
_NEEDED_NAME = struct.Struct("<IHHII")
_DEFINITION = struct.Struct("<HHHHIII")
_DEFINED_NAME = struct.Struct("<II")
_FORMAT, _OWN_NAME, _OPTIONAL, _INDEX = 1, 1, 2, 0x7FFF


@immutable
class SymbolVersions:
    """The versions of a file's symbols.

    Attributes:
        needed: the versions that the file requires, by the library's name in DT_NEEDED, in the file's order.
        defined: the versions that the file defines, in the file's order, without the base version, which is the
            file's own name.
    """

    needed: dict[str, tuple[str, ...]] = field(default_factory=dict)
    defined: tuple[str, ...] = ()


def read_versions(path: Path) -> SymbolVersions:
    """Read the symbol versions that a file defines and those that it needs, except needed versions that may be missing.

    Raises:
        ElfError: the file cannot be read as an ELF file.
        OSError: the file cannot be opened.
    """
    with open_image(path) as image:
        needed: dict[str, list[str]] = {}
        for _, name, library, may_be_missing in _read_needed_versions(image):
            if not may_be_missing:
                needed.setdefault(library, []).append(name)
        return SymbolVersions(
            needed={library: tuple(names) for library, names in needed.items()},
            defined=tuple(name for _, name in _read_defined_versions(image)),
        )


def _read_needed_versions(image: ElfImage) -> Iterator[tuple[int, str, str, bool]]:
    """Yield each needed version: its index, its name, the library that defines it, and whether it may be missing."""
    left = _INDEX
    for address, (_, _, library, first, _) in _read_entries(image, VERNEED, _NEED):
        source = image.strings.text(library)
        for _, (_, flags, index, name, _) in _read_linked_records(image, address + first, _NEEDED_NAME):
            left -= 1
            if left < 0:
                raise ElfError(image.path, "malformed: more symbol versions than symbols can refer to")
            yield index & _INDEX, image.strings.text(name), source, bool(flags & _OPTIONAL)


def _read_defined_versions(image: ElfImage) -> Iterator[tuple[int, str]]:
    """Yield the index and the name of each version that an open file defines, without the base version."""
    for address, (_, flags, index, _, _, first, _) in _read_entries(image, VERDEF, _DEFINITION):
        if not flags & _OWN_NAME:
            name, _ = image.unpack(_DEFINED_NAME, address + first)
            yield index & _INDEX, image.strings.text(name)


def _read_entries(image: ElfImage, tag: int, layout: struct.Struct) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Yield the address and the fields of each entry of a version table; nothing if the file has no such table.

    Args:
        image: the open file.
        tag: the dynamic tag with the table's address.
        layout: the layout of an entry.
    """
    address = image.tags.get(tag, 0)
    for place, fields in _read_linked_records(image, address, layout) if address else ():
        if fields[0] != _FORMAT:
            raise ElfError(image.path, f"malformed: symbol versions of format {fields[0]}")
        yield place, fields


def _read_linked_records(image: ElfImage, address: int, layout: struct.Struct) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Yield the address and the fields of each record in a linked list.

    The last field of a record is the distance in bytes to the next record, or 0 in the last record.
    """
    for _ in range(_INDEX):
        fields = image.unpack(layout, address)
        yield address, fields
        if not fields[-1]:
            return
        address += fields[-1]
    raise ElfError(image.path, "malformed: symbol versions without an end")


_ABSOLUTE = 0xFFF1
_THREAD_LOCAL = 6
_BINDINGS = frozenset({1, 2, 10})  # global, weak, GNU_UNIQUE
_TYPES = frozenset({0, 1, 2, 5, _THREAD_LOCAL, 10})  # none, object, function, common, thread-local, GNU_IFUNC
_SEEN_BY_OTHERS = frozenset({0, 3})  # visibilities: default, protected; not internal, hidden
_HIDDEN, _BASE, _OLDEST = 0x8000, 1, 2


@immutable
class Definition:
    """A definition that references of other files can be bound to.

    Attributes:
        name: the symbol's name, without its version.
        version: the symbol's version ("LIBJPEG_8.0"); empty if it has none.
        hidden: True if `version` is not the default version of `name`. Then only references to exactly this version
            are bound to this definition.
        oldest: True if the definition has no version, or the first version that the file defines. References without
            a version are bound to this definition.
    """

    name: str
    version: str = ""
    hidden: bool = False
    oldest: bool = True


@immutable
class Reference:
    """A symbol that a file uses and expects another file to define.

    Attributes:
        name: the symbol's name, without its version.
        version: the required version; empty if any version will do.
    """

    name: str
    version: str = ""


def find_definitions(path: Path, name: str) -> tuple[Definition, ...]:
    """Return the definitions of a name that a file offers to other files, one per version, in the loader's order.

    Undefined symbols are left out, even if they have an address: programs may give an undefined function an address,
    but calls through it reach another file. Symbols that the loader ignores are also left out: hidden, internal and
    local symbols, and symbols of types other than code, data and thread-local data.

    Raises:
        ElfError: the file cannot be read as an ELF file.
        OSError: the file cannot be opened.
    """
    return find_all_definitions(path, (name,))[name]


def find_all_definitions(path: Path, names: tuple[str, ...]) -> dict[str, tuple[Definition, ...]]:
    """Return the definitions of each name, as `find_definitions` does, but open the file only once.

    Raises:
        ElfError: the file cannot be read as an ELF file.
        OSError: the file cannot be opened.
    """
    with open_image(path) as image:
        found = [
            (name, _read_version_word(image, index))
            for name, index, fields in find_symbols(image, names)
            if _is_definition(*fields[1:5])
        ]
        versions: dict[int, str] = {}
        if any(word & _INDEX > _BASE for _, word in found):
            versions = _read_versions(image)
    definitions: dict[str, list[Definition]] = {name: [] for name in names}
    for name, word in found:
        index, hidden = word & _INDEX, bool(word & _HIDDEN)
        version = versions.get(index, "")
        definitions[name].append(Definition(name=name, version=version, hidden=hidden, oldest=index <= _OLDEST))
    return {name: tuple(each) for name, each in definitions.items()}


def definition_for(definitions: tuple[Definition, ...], reference: Reference) -> Definition | None:
    """Return the definition in one file to which the loader binds a reference; None if no definition there fits.

    A reference with a version is bound to the first definition that has this version, or that has no version and is
    not hidden. A reference without a version is bound to the definition marked `oldest`. If no definition is marked,
    but exactly one is not hidden, it is bound to that one. Source: `check_match` in glibc.

    Args:
        definitions: all definitions of the name in one file.
        reference: a reference to that name.
    """
    if reference.version:
        fitting = (one for one in definitions if one.version == reference.version or not (one.version or one.hidden))
        return next(fitting, None)
    oldest = next((one for one in definitions if one.oldest), None)
    defaults = [one for one in definitions if not one.hidden]
    return oldest or (defaults[0] if len(defaults) == 1 else None)


def references(path: Path) -> dict[str, Reference]:
    """Return a file's references to symbols of other files, by name: the undefined symbols in .dynsym.

    If a file refers to several versions of a name, only the last reference in the table is returned.

    Raises:
        ElfError: the file cannot be read as an ELF file.
        OSError: the file cannot be opened.
    """
    with open_image(path) as image:
        if SYMTAB not in image.tags:
            return {}
        count = count_symbols(image) if image.of_kind(INTERP) else count_unhashed(image)
        versions = _read_versions(image)
        indices: Iterable[int] = repeat(0, count)
        if VERSYM in image.tags:
            indices = memoryview(image.read_at(image.tags[VERSYM], 2 * count)).cast("H")
        found: dict[str, Reference] = {}
        symbols = SYMBOL.iter_unpack(image.read_at(image.tags[SYMTAB], count * SYMBOL.size))
        for (offset, information, other, section, _, _), index in zip(symbols, indices, strict=True):
            if not section and offset and information >> 4 in _BINDINGS and other & 3 in _SEEN_BY_OTHERS:
                name = image.strings.text(offset)
                found[name] = Reference(name=name, version=versions.get(index & _INDEX, ""))
        return found


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


def _read_versions(image: ElfImage) -> dict[int, str]:
    """Return the names of the versions that the file defines or needs, by index.

    A definition may also have a needed version: if a program has a copy of another file's variable (a copy relocation),
    the copy is a definition with the other file's version.
    """
    needed = {index: name for index, name, _, _ in _read_needed_versions(image)}
    return dict(_read_defined_versions(image)) | needed
