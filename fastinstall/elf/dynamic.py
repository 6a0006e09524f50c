"""What an ELF file tells the dynamic loader: what it needs, where to look, for which CPU, and its symbol versions.

What that resolves to is not decided here.

Sources: Linux Standard Base Core, "Symbol Versioning"; glibc's elf/dl-version.c, which follows the offsets from entry
to entry and ignores all counts.
"""

import os
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path

from fastinstall.core.values import immutable
from fastinstall.elf.image import (
    DYNAMIC,
    GNU_PROPERTY,
    INTERP,
    NOTE,
    ElfError,
    ElfImage,
    Strings,
    open_image,
)

NEEDED, HASH, STRTAB, SYMTAB, STRSZ, SONAME, RPATH, SYMBOLIC = 1, 4, 5, 6, 10, 14, 15, 16
RUNPATH, FLAGS, GNU_HASH, FLAGS_1 = 29, 30, 0x6FFFFEF5, 0x6FFFFFFB

_SYMBOLIC_FLAG = 2
_NO_DEFAULT_DIRECTORIES = 0x800
_BUILD_ID, _PROPERTIES = 3, 5
_ISA_NEEDED, _ALL_LEVELS = 0xC0008002, 0b1111
_LARGEST_NOTE, _MOST_NOTES = 1 << 20, 32
_LONGEST_PATH = 4096
_LARGEST_DYNAMIC = 1 << 20


@immutable
class Note:
    """A note in a file.

    Attributes:
        name: of whom it is, with a NUL at its end.
        kind: what it says, by that one's numbers.
        content: as it is.
    """

    name: bytes
    kind: int
    content: bytes


@immutable
class DynamicFile:
    """The dynamic section of an ELF file and its notes.

    Attributes:
        machine: as the kernel names it: "x86_64", "aarch64".
        interpreter: the loader that a program asks for (PT_INTERP); None for a library.
        soname: its own name (DT_SONAME).
        needed: the libraries it asks for (DT_NEEDED), in order.
        rpath: directories to search (DT_RPATH), as written; void where `runpath` is there.
        runpath: directories to search (DT_RUNPATH), as written.
        default_directories: False if it was linked with `-z nodefaultlib`.
        symbolic: its references are bound to its own definitions first (`-Bsymbolic`).
        isa_needed: the x86-64 level without which the loader refuses it ("x86-64-v3").
        build_id: hexadecimal.
    """

    machine: str
    interpreter: str | None = None
    soname: str | None = None
    needed: tuple[str, ...] = ()
    rpath: str | None = None
    runpath: str | None = None
    default_directories: bool = True
    symbolic: bool = False
    isa_needed: str | None = None
    build_id: str | None = None


def read_dynamic(path: Path) -> DynamicFile:
    """Read what the dynamic loader would read, from the program headers alone.

    Raises:
        ElfError: the file is empty, truncated, malformed, or not ELF; `ForeignElfError` where it is
            for a 32-bit or big-endian machine.
        OSError: the file cannot be opened.
    """
    with open_image(path) as image:
        entries = dynamic_entries(image)
        values = dict(entries)
        names = dynamic_strings(image, values)
        notes = [note for note in read_notes(image) if note.name == b"GNU\0"]
        flags, flags_1 = values.get(FLAGS, 0), values.get(FLAGS_1, 0)
        return DynamicFile(
            machine=image.machine,
            interpreter=_read_interpreter(image),
            soname=_get_text(names, values, SONAME),
            needed=tuple(names.text(value) for tag, value in entries if tag == NEEDED),
            rpath=_get_text(names, values, RPATH),
            runpath=_get_text(names, values, RUNPATH),
            default_directories=not flags_1 & _NO_DEFAULT_DIRECTORIES,
            symbolic=SYMBOLIC in values or bool(flags & _SYMBOLIC_FLAG),
            isa_needed=_find_isa_needed(notes),
            build_id=next((note.content.hex() for note in notes if note.kind == _BUILD_ID), None),
        )


def dynamic_entries(image: ElfImage) -> tuple[tuple[int, int], ...]:
    """Read tags and values of the dynamic section up to DT_NULL, empty if there is none."""
    entries = []
    for segment in image.of_kind(DYNAMIC)[:1]:
        size = segment.size - segment.size % 16
        if size > _LARGEST_DYNAMIC:
            raise ElfError(image.path, f"malformed: a dynamic section of {segment.size} bytes")
        for tag, value in struct.iter_unpack("<QQ", image.read(segment.offset, size)):
            if tag == 0:
                break
            entries.append((tag, value))
    return tuple(entries)


def dynamic_strings(image: ElfImage, values: Mapping[int, int]) -> Strings:
    """The strings that the dynamic section refers to, by the values of its tags; none if it has no table."""
    if STRTAB not in values:
        return Strings(image, b"")
    return Strings(image, image.read_at(values[STRTAB], values.get(STRSZ, 0)))


def _get_text(names: Strings, values: Mapping[int, int], tag: int) -> str | None:
    """The loader keeps the last entry of a tag, as a mapping does."""
    return names.text(values[tag]) if tag in values else None


def _read_interpreter(image: ElfImage) -> str | None:
    for segment in image.of_kind(INTERP):
        if segment.size > _LONGEST_PATH:
            raise ElfError(image.path, f"malformed: an interpreter's path of {segment.size} bytes")
        return os.fsdecode(image.read(segment.offset, segment.size).partition(b"\0")[0])
    return None


def read_notes(image: ElfImage) -> Iterator[Note]:
    """The notes of an open file; a malformed one ends its segment, as it does for the loader."""
    for segment in (*image.of_kind(NOTE)[:_MOST_NOTES], *image.of_kind(GNU_PROPERTY)[:1]):
        content = image.read(segment.offset, min(segment.size, _LARGEST_NOTE))
        alignment = 8 if segment.alignment == 8 else 4  # noqa: PLR2004 (p_align of ELF-64 notes)
        offset = 0
        while offset + 12 <= len(content):
            name_size, size, kind = struct.unpack_from("<III", content, offset)
            start = offset + _round_up(12 + name_size, alignment)
            if start + size > len(content):
                break
            name = content[offset + 12 : offset + 12 + name_size]
            yield Note(name=name, kind=kind, content=content[start : start + size])
            offset = start + _round_up(size, alignment)


def _find_isa_needed(notes: list[Note]) -> str | None:
    """The highest level of GNU_PROPERTY_X86_ISA_1_NEEDED (x86-64 psABI, "Program Property")."""
    for content in (note.content for note in notes if note.kind == _PROPERTIES):
        offset = 0
        while offset + 8 <= len(content):
            name, size = struct.unpack_from("<II", content, offset)
            if name == _ISA_NEEDED and size == 4 and offset + 12 <= len(content):  # noqa: PLR2004 (a 32-bit word)
                highest = (content[offset + 8] & _ALL_LEVELS).bit_length()
                return f"x86-64-v{highest}" if highest else None
            offset += 8 + _round_up(size, 8)
    return None


def _round_up(size: int, alignment: int) -> int:
    return -(-size // alignment) * alignment


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
        for version in read_needed_versions(image, values, names):
            if not version.weak:
                needed.setdefault(version.library, []).append(version.name)
        return SymbolVersions(
            needed=tuple(VersionNeed(library=library, names=tuple(found)) for library, found in needed.items()),
            defined=tuple(version.name for version in read_defined_versions(image, values, names)),
        )


def read_needed_versions(image: ElfImage, values: Mapping[int, int], names: Strings) -> Iterator[Version]:
    """The versions that an open file needs, by the values of its dynamic section.

    Raises:
        ElfError: the table is malformed.
    """
    left = _INDEX
    for address, (_, _, library, first, _) in _read_entries(image, values.get(VERNEED, 0), _NEED):
        source = names.text(library)
        for _, (_, flags, index, name, _) in _read_linked_records(image, address + first, _NEEDED_NAME):
            left -= 1
            if left < 0:
                raise ElfError(image.path, "malformed: more symbol versions than symbols can refer to")
            weak = bool(flags & _WEAK)
            yield Version(index=index & _INDEX, name=names.text(name), library=source, weak=weak)


def read_defined_versions(image: ElfImage, values: Mapping[int, int], names: Strings) -> Iterator[Version]:
    """The versions that an open file defines, by the values of its dynamic section; without the base version.

    Raises:
        ElfError: the table is malformed.
    """
    for address, (_, flags, index, _, _, first, _) in _read_entries(image, values.get(VERDEF, 0), _DEFINITION):
        if not flags & _BASE:
            name, _ = image.unpack(_DEFINED_NAME, address + first)
            yield Version(index=index & _INDEX, name=names.text(name))


def _read_entries(image: ElfImage, address: int, layout: struct.Struct) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Addresses and fields of the entries from an address on; none if the address is 0."""
    for place, fields in _read_linked_records(image, address, layout) if address else ():
        if fields[0] != _FORMAT:
            raise ElfError(image.path, f"malformed: symbol versions of format {fields[0]}")
        yield place, fields


def _read_linked_records(image: ElfImage, address: int, layout: struct.Struct) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Addresses and fields of records of which the last field is the step to the next, 0 in the last one."""
    for _ in range(_INDEX):
        fields = image.unpack(layout, address)
        yield address, fields
        if not fields[-1]:
            return
        address += fields[-1]
    raise ElfError(image.path, "malformed: symbol versions without an end")
