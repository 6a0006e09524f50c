"""Read the parts of an ELF file that direct the dynamic loader: needed libraries, search paths, required CPU level.

Resolving the libraries to files is left to `fastinstall.elf.loader`.
"""

import os
import struct
from collections.abc import Iterator
from pathlib import Path

from fastinstall.core.architecture import Architecture, architecture_of
from fastinstall.core.values import immutable
from fastinstall.elf.image import GNU_PROPERTY, INTERP, LOAD, NOTE, ElfError, ElfImage, open_image

NEEDED, HASH, SYMTAB, SONAME, RPATH, SYMBOLIC = 1, 4, 6, 14, 15, 16
RUNPATH, FLAGS, GNU_HASH, FLAGS_1 = 29, 30, 0x6FFFFEF5, 0x6FFFFFFB

_SYMBOLIC_FLAG = 2
_NO_DEFAULT_DIRECTORIES = 0x800
_BUILD_ID, _PROPERTIES = 3, 5
_LARGEST_NOTE, _MOST_NOTES = 1 << 20, 32
_LONGEST_PATH = 4096


@immutable
class DynamicFile:
    """The content of an ELF file's dynamic section and notes that the loader uses.

    Attributes:
        machine: the file's architecture, as the kernel names it: "x86_64", "aarch64".
        interpreter: the path of the loader that a program requires (PT_INTERP); None for a library.
        soname: the file's own name (DT_SONAME).
        needed: names of the needed libraries (DT_NEEDED), in order.
        rpath: the search path in DT_RPATH, as written; ignored by the loader if `runpath` is set.
        runpath: the search path in DT_RUNPATH, as written.
        default_directories: False if the file was linked with `-z nodefaultlib`.
        symbolic: whether the file's references are bound to its own definitions first (`-Bsymbolic`).
        isa_needed: the level in the file's ISA note ("x86-64-v3"); on a CPU below it, the loader refuses the file. None
            without such a note.
        build_id: the linker's digest of the content, hexadecimal; None if the file has no build-id note.
        page_size: the largest page size with which the file can be mapped, in bytes; 0 if there is no limit.
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
    page_size: int = 0


def read_dynamic(path: Path) -> DynamicFile:
    """Read the information that the dynamic loader uses; section headers are not needed.

    Raises:
        ElfError: the file is empty, truncated, malformed, or not ELF; `ForeignElfError` if it is
            for a 32-bit or big-endian machine.
        OSError: the file cannot be opened.
    """
    with open_image(path) as image:
        tags, notes = image.tags, list(_read_gnu_notes(image))
        texts = {tag: image.strings.text(tags[tag]) for tag in (SONAME, RPATH, RUNPATH) if tag in tags}
        return DynamicFile(
            machine=image.machine,
            interpreter=_read_interpreter(image),
            soname=texts.get(SONAME),
            needed=tuple(image.strings.text(value) for tag, value in image.dynamic if tag == NEEDED),
            rpath=texts.get(RPATH),
            runpath=texts.get(RUNPATH),
            default_directories=not tags.get(FLAGS_1, 0) & _NO_DEFAULT_DIRECTORIES,
            symbolic=SYMBOLIC in tags or bool(tags.get(FLAGS, 0) & _SYMBOLIC_FLAG),
            isa_needed=_find_isa_needed(
                architecture_of(image.machine), [content for kind, content in notes if kind == _PROPERTIES]
            ),
            build_id=next((content.hex() for kind, content in notes if kind == _BUILD_ID), None),
            page_size=_find_largest_page(image),
        )


def _find_largest_page(image: ElfImage) -> int:
    """Return the largest page size, in bytes, with which the file can be mapped; 0 if every size works.

    The page size must divide the difference of address and offset of every segment.
    """
    distances = 0
    for segment in image.of_kind(LOAD):
        distances |= segment.address - segment.offset
    return distances & -distances


def _read_interpreter(image: ElfImage) -> str | None:
    for segment in image.of_kind(INTERP):
        if segment.size > _LONGEST_PATH:
            raise ElfError(image.path, f"malformed: an interpreter's path of {segment.size} bytes")
        return os.fsdecode(image.read(segment.offset, segment.size).partition(b"\0")[0])
    return None


def _read_gnu_notes(image: ElfImage) -> Iterator[tuple[int, bytes]]:
    """Yield the kind and the content of each GNU note.

    Like the loader, skip the rest of a segment after a malformed note.
    """
    for segment in (*image.of_kind(NOTE)[:_MOST_NOTES], *image.of_kind(GNU_PROPERTY)[:1]):
        content = image.read(segment.offset, min(segment.size, _LARGEST_NOTE))
        alignment = 8 if segment.alignment == 8 else 4  # noqa: PLR2004 (p_align of ELF-64 notes)
        offset = 0
        while offset + 12 <= len(content):
            name_size, size, kind = struct.unpack_from("<III", content, offset)
            start = offset + _round_up(12 + name_size, alignment)
            if start + size > len(content):
                break
            if content[offset + 12 : offset + 12 + name_size] == b"GNU\0":
                yield kind, content[start : start + size]
            offset = start + _round_up(size, alignment)


def _find_isa_needed(architecture: Architecture, properties: list[bytes]) -> str | None:
    """Return the highest level in the file's ISA property; None if the property is missing or names no level.

    The property has one bit per level. Source: x86-64 psABI, "Program Property".
    """
    every_level = (1 << len(architecture.levels)) - 1
    for content in properties:
        offset = 0
        while offset + 8 <= len(content):
            name, size = struct.unpack_from("<II", content, offset)
            if name == architecture.isa_property and size == 4 and offset + 12 <= len(content):  # noqa: PLR2004 (a 32-bit word)
                highest = (content[offset + 8] & every_level).bit_length()
                return architecture.levels[highest - 1].name if highest else None
            offset += 8 + _round_up(size, 8)
    return None


def _round_up(size: int, alignment: int) -> int:
    return -(-size // alignment) * alignment
