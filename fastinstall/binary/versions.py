"""The versions of symbols that an ELF file defines, and those that it needs of others.

Sources: Linux Standard Base Core, "Symbol Versioning"; glibc's elf/dl-version.c, which follows the
offsets from entry to entry and ignores all counts.
"""

import struct
from collections.abc import Iterator, Mapping
from pathlib import Path

from fastinstall.binary.dynamic import dynamic_entries, dynamic_strings
from fastinstall.binary.image import ElfError, ElfImage, open_image
from fastinstall.binary.tables import Records, Strings
from fastinstall.model.immutable import immutable

VERSYM, VERDEF, VERNEED = 0x6FFFFFF0, 0x6FFFFFFC, 0x6FFFFFFE

_NEED = struct.Struct("<HHIII")
_NEEDED_NAME = struct.Struct("<IHHII")
_DEFINITION = struct.Struct("<HHHHIII")
_DEFINED_NAME = struct.Struct("<II")
_FORMAT, _BASE, _WEAK, _INDEX = 1, 1, 2, 0x7FFF


@immutable
class VersionNeed:
    """What a file needs of one library.

    Attributes:
        library: the library as DT_NEEDED names it: "libc.so.6".
        names: the versions, in the file's order: "GLIBC_2.17".
    """

    library: str
    names: tuple[str, ...]


@immutable
class SymbolVersions:
    """The versions of a file's symbols.

    Attributes:
        needed: what it cannot do without, by library, in the file's order.
        defined: what it defines, in the file's order, without the base version, which is the file's own name.
    """

    needed: tuple[VersionNeed, ...] = ()
    defined: tuple[str, ...] = ()


@immutable
class Version:
    """A version that symbols may have.

    Attributes:
        index: by which the symbols refer to it.
        name: "LIBJPEG_8.0".
        library: of which it is needed; empty for one that the file defines.
        weak: it is needed, and may be missing.
    """

    index: int
    name: str
    library: str = ""
    weak: bool = False


def read_versions(path: Path) -> SymbolVersions:
    """Read the versions that a file defines and needs.

    Raises:
        ElfError: the file cannot be read as one.
        OSError: it cannot be opened.
    """
    with open_image(path) as image:
        values = dict(dynamic_entries(image))
        names = dynamic_strings(image, values)
        needed: dict[str, list[str]] = {}
        for version in needed_versions(image, values, names):
            if not version.weak:
                needed.setdefault(version.library, []).append(version.name)
        return SymbolVersions(
            needed=tuple(VersionNeed(library=library, names=tuple(found)) for library, found in needed.items()),
            defined=tuple(version.name for version in defined_versions(image, values, names)),
        )


def needed_versions(image: ElfImage, values: Mapping[int, int], names: Strings) -> Iterator[Version]:
    """The versions that an open file needs, by the values of its dynamic section.

    Raises:
        ElfError: the table is malformed.
    """
    left = _INDEX
    for address, (_, _, library, first, _) in _entries(image, values.get(VERNEED, 0), _NEED):
        source = names.text(library)
        for _, (_, flags, index, name, _) in _steps(image, address + first, _NEEDED_NAME):
            left -= 1
            if left < 0:
                raise ElfError(image.path, "malformed: more symbol versions than symbols can refer to")
            weak = bool(flags & _WEAK)
            yield Version(index=index & _INDEX, name=names.text(name), library=source, weak=weak)


def defined_versions(image: ElfImage, values: Mapping[int, int], names: Strings) -> Iterator[Version]:
    """The versions that an open file defines, by the values of its dynamic section; without the base version.

    Raises:
        ElfError: the table is malformed.
    """
    records = Records(image)
    for address, (_, flags, index, _, _, first, _) in _entries(image, values.get(VERDEF, 0), _DEFINITION):
        if not flags & _BASE:
            name, _ = records.unpack(_DEFINED_NAME, address + first)
            yield Version(index=index & _INDEX, name=names.text(name))


def _entries(image: ElfImage, address: int, layout: struct.Struct) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Addresses and fields of the entries from an address on; none where the address is 0."""
    for place, fields in _steps(image, address, layout) if address else ():
        if fields[0] != _FORMAT:
            raise ElfError(image.path, f"malformed: symbol versions of format {fields[0]}")
        yield place, fields


def _steps(image: ElfImage, address: int, layout: struct.Struct) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Addresses and fields of records of which the last field is the step to the next, 0 in the last one."""
    records = Records(image)
    for _ in range(_INDEX):
        fields = records.unpack(layout, address)
        yield address, fields
        if not fields[-1]:
            return
        address += fields[-1]
    raise ElfError(image.path, "malformed: symbol versions without an end")
