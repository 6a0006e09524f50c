"""The versions of a file's symbols, those that it defines and those that it needs.

Sources: Linux Standard Base Core, "Symbol Versioning"; glibc's elf/dl-version.c, which follows the offsets from entry
to entry and ignores all counts.
"""

import struct
from collections.abc import Iterator
from dataclasses import field
from pathlib import Path

from fastinstall.core.values import immutable
from fastinstall.elf.image import ElfError, ElfImage, open_image

VERSYM, VERDEF, VERNEED = 0x6FFFFFF0, 0x6FFFFFFC, 0x6FFFFFFE

_NEED = struct.Struct("<HHIII")

_NEEDED_NAME = struct.Struct("<IHHII")

_DEFINITION = struct.Struct("<HHHHIII")

_DEFINED_NAME = struct.Struct("<II")

_FORMAT, _BASE, _WEAK, _INDEX = 1, 1, 2, 0x7FFF


@immutable
class SymbolVersions:
    """The versions of a file's symbols.

    Attributes:
        needed: what it cannot do without, in the file's order: versions by library, as DT_NEEDED names it.
        defined: what it defines, in the file's order, without the base version, which is the file's own name.
    """

    needed: dict[str, tuple[str, ...]] = field(default_factory=dict)
    defined: tuple[str, ...] = ()


@immutable
class Version:
    """A version that symbols may have.

    Attributes:
        index: by which the symbols refer to it.
        name: as the library names it: "LIBJPEG_8.0".
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
        needed: dict[str, list[str]] = {}
        for version in read_needed_versions(image):
            if not version.weak:
                needed.setdefault(version.library, []).append(version.name)
        return SymbolVersions(
            needed={library: tuple(names) for library, names in needed.items()},
            defined=tuple(version.name for version in read_defined_versions(image)),
        )


def read_needed_versions(image: ElfImage) -> Iterator[Version]:
    """Yield the versions that an open file needs.

    Raises:
        ElfError: the table is malformed.
    """
    left = _INDEX
    for address, (_, _, library, first, _) in _read_entries(image, VERNEED, _NEED):
        source = image.strings.text(library)
        for _, (_, flags, index, name, _) in _read_linked_records(image, address + first, _NEEDED_NAME):
            left -= 1
            if left < 0:
                raise ElfError(image.path, "malformed: more symbol versions than symbols can refer to")
            text = image.strings.text(name)
            yield Version(index=index & _INDEX, name=text, library=source, weak=bool(flags & _WEAK))


def read_defined_versions(image: ElfImage) -> Iterator[Version]:
    """Yield the versions that an open file defines, without the base version.

    Raises:
        ElfError: the table is malformed.
    """
    for address, (_, flags, index, _, _, first, _) in _read_entries(image, VERDEF, _DEFINITION):
        if not flags & _BASE:
            name, _ = image.unpack(_DEFINED_NAME, address + first)
            yield Version(index=index & _INDEX, name=image.strings.text(name))


def _read_entries(image: ElfImage, tag: int, layout: struct.Struct) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Yield addresses and fields of the entries of a table; none without the table."""
    address = image.tags.get(tag, 0)
    for place, fields in _read_linked_records(image, address, layout) if address else ():
        if fields[0] != _FORMAT:
            raise ElfError(image.path, f"malformed: symbol versions of format {fields[0]}")
        yield place, fields


def _read_linked_records(image: ElfImage, address: int, layout: struct.Struct) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Yield addresses and fields of records of which the last field is the step to the next, 0 in the last one."""
    for _ in range(_INDEX):
        fields = image.unpack(layout, address)
        yield address, fields
        if not fields[-1]:
            return
        address += fields[-1]
    raise ElfError(image.path, "malformed: symbol versions without an end")
