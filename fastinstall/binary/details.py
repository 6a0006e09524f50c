"""What an ELF file tells about its making: compilers, its package, the glibc that it asks for.

It is read with pyelftools, which trusts what it reads: every read goes through `image`, so that a
hostile file ends in an `ElfError`. Slower than the other readers and not needed by the loader.
"""

import json
import re
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

from fastinstall.binary.image import NOTE, ElfError, ElfImage, open_image
from fastinstall.binary.sections import COMPRESSED, LARGEST_TEXT, STATIC_SYMBOLS, Section, read_sections
from fastinstall.binary.versions import SymbolVersions, read_versions
from fastinstall.model.core import Making
from fastinstall.model.parsing import json_data

if TYPE_CHECKING:
    from elftools.elf.elffile import ELFFile

_COMPILERS = ".comment"
_PACKAGE_NOTE: tuple[str, object] = ("FDO", 0xCAFE1A7E)
_GLIBC = re.compile(r"GLIBC_(\d+)\.(\d+)(?:\.\d+)?")
_RELATIVE_RELOCATIONS = "GLIBC_ABI_DT_RELR"
_MOST_READS = 1 << 16
_MOST_BYTES = 1 << 26


def read_details(path: Path) -> Making:
    """Read what a file tells about its making.

    The package metadata follow the UAPI group's "Package Metadata for Executable Files".

    Raises:
        ElfError: the file, its sections, a note or the metadata are malformed; `ForeignElfError` where
            it is for a 32-bit or big-endian machine.
        OSError: it cannot be opened.
    """
    from elftools.elf.elffile import ELFFile  # noqa: PLC0415 (it costs ten times what doctor may spend on a file)

    versions = read_versions(path)
    with open_image(path) as image:
        sections = read_sections(image)
        try:
            elf = ELFFile(cast("IO[bytes]", _Stream(image)))
            return Making(
                compilers=_compilers(elf, sections),
                package=_package(elf, image),
                glibc=_glibc(versions),
                stripped=all(section.kind != STATIC_SYMBOLS for section in sections),
            )
        except ElfError:
            raise
        except Exception as error:  # pyelftools lets whatever a file provokes through
            raise ElfError(path, f"malformed: {type(error).__name__}: {error}") from error


class _Stream:
    """An image as the stream that pyelftools reads; it ends after as many reads as no honest file takes."""

    def __init__(self, image: ElfImage) -> None:
        self._image = image
        self._position = 0
        self._reads_left = _MOST_READS
        self._bytes_left = _MOST_BYTES

    def seek(self, offset: int, whence: int = 0) -> int:
        """As of a file."""
        self._position = offset + (0, self._position, self._image.size)[whence]
        return self._position

    def tell(self) -> int:
        """As of a file."""
        return self._position

    def read(self, size: int = -1) -> bytes:
        """As of a file; what is behind the end is left out."""
        rest = max(0, self._image.size - self._position)
        size = min(size, rest) if size >= 0 else rest
        self._reads_left -= 1
        self._bytes_left -= size
        if self._reads_left < 0 or self._bytes_left < 0 or self._position < 0:
            raise ElfError(self._image.path, "malformed: its tables lead round and round, or outside of it")
        content = self._image.read(self._position, size) if size else b""
        self._position += size
        return content


def _compilers(elf: "ELFFile", sections: tuple[Section, ...]) -> tuple[str, ...]:
    """By number: to find a section by its name, pyelftools would take all their tables apart."""
    for number, section in enumerate(sections):
        if section.name == _COMPILERS and 0 < section.size <= LARGEST_TEXT and not section.flags & COMPRESSED:
            lines = elf.get_section(number).data().split(b"\0")
            return tuple(dict.fromkeys(line.decode("utf-8", "replace") for line in lines if line))
    return ()


def _package(elf: "ELFFile", image: ElfImage) -> dict[str, str]:
    from elftools.elf.notes import iter_notes  # noqa: PLC0415 (as above)

    for segment in image.of_kind(NOTE):
        for note in iter_notes(elf, segment.offset, segment.size):
            if (note["n_name"], note["n_type"]) == _PACKAGE_NOTE:
                values = json_data(bytes(note["n_descdata"]).rstrip(b"\0"))
                return {key: value if isinstance(value, str) else json.dumps(value) for key, value in values.items()}
    return {}


def _glibc(versions: SymbolVersions) -> str:
    """Versions that are no numbers say nothing, but that of packed relocations, which came with 2.36."""
    names = [name for need in versions.needed for name in need.names]
    numbers = [(int(match[1]), int(match[2])) for match in map(_GLIBC.fullmatch, names) if match]
    if _RELATIVE_RELOCATIONS in names:
        numbers.append((2, 36))
    return "{}.{}".format(*max(numbers)) if numbers else ""
