"""The sections of an ELF file, which the linker left for tools.

The loader never looks at them, and they may have been stripped, so nothing about loading is decided here.
"""

import struct

from fastinstall.core.values import immutable
from fastinstall.elf.image import ElfError, ElfImage, Strings

_COMPRESSED, _LARGEST_TEXT = 0x800, 1 << 22

_NO_BITS = 8

_SECTION_HEADER = struct.Struct("<IIQQQQIIQQ")


@immutable
class Section:
    """One section header.

    Attributes:
        name: with its leading dot: ".rodata", ".symtab".
        kind: `sh_type`, as elf(5) numbers it.
        flags: `sh_flags`, a bit field.
        offset: of its bytes in the file.
        size: of its bytes in the file; 0 where it has none there.
        link: `sh_link`: for a symbol table, the index of its strings.
    """

    name: str
    kind: int
    flags: int
    offset: int
    size: int
    link: int


def read_sections(image: ElfImage) -> tuple[Section, ...]:
    """Read the section headers in order, empty if they were stripped.

    Raises:
        ElfError: they, or the names they refer to, are malformed or not in the file.
    """
    offset, one, count, names_index = image.section_headers
    if not offset or not count:
        return ()
    if one != _SECTION_HEADER.size:
        raise ElfError(image.path, f"malformed: section headers of {one} bytes")
    headers = list(_SECTION_HEADER.iter_unpack(image.read(offset, one * count)))
    if names_index >= count:
        raise ElfError(image.path, f"malformed: no section {names_index} for the sections' names")
    names = Strings(image, image.read(headers[names_index][4], headers[names_index][5]))
    return tuple(
        Section(
            name=names.text(name),
            kind=kind,
            flags=flags,
            offset=start,
            size=0 if kind == _NO_BITS else size,
            link=link,
        )
        for name, kind, flags, _, start, size, link, _, _, _ in headers
    )


def read_lines(image: ElfImage, name: str) -> tuple[str, ...]:
    """Return the distinct strings of a section of text, in order; none if it is absent or compressed.

    Args:
        name: of the section: ".comment".

    Raises:
        ElfError: the sections are malformed, or this one is implausibly large.
    """
    for section in read_sections(image):
        if section.name == name and not section.flags & _COMPRESSED:
            if section.size > _LARGEST_TEXT:
                raise ElfError(image.path, f"implausibly large: {section.size} bytes in {name}")
            lines = image.read(section.offset, section.size).split(b"\0")
            return tuple(dict.fromkeys(line.decode("utf-8", "replace") for line in lines if line))
    return ()
