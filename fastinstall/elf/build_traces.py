"""Read how a file was built: its compilers, the glibc version that it needs, and its package metadata.

Package notes are read with pyelftools, which does not check sizes and offsets. Its reads are therefore bounded here.
"""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

from fastinstall.core.parsing import json_data
from fastinstall.elf import symbols as symbol_tables
from fastinstall.elf.description import BuildTraces, ImagingCore
from fastinstall.elf.image import NOTE, ElfError, ElfImage, open_image
from fastinstall.elf.lookup import read_versions

if TYPE_CHECKING:
    from elftools.elf.elffile import ELFFile


def describe_making(core: ImagingCore) -> ImagingCore:
    """Return a core with its build traces added, or the unchanged core if its file cannot be read."""
    code = next((copy.path for copy in core.levels if copy.loaded), core.path)
    try:
        return replace(core, build_traces=read_details(Path(code)))
    except (OSError, ElfError):
        return core


_PACKAGE_NOTE: tuple[str, object] = ("FDO", 0xCAFE1A7E)

_GLIBC = re.compile(r"GLIBC_(\d+)\.(\d+)(?:\.\d+)?")

_RELATIVE_RELOCATIONS = "GLIBC_ABI_DT_RELR"

_MOST_READS = 1 << 16

_MOST_BYTES = 1 << 26


def read_details(path: Path) -> BuildTraces:
    """Read the traces that a build left in a file.

    The package metadata follow the UAPI group's "Package Metadata for Executable Files".

    Raises:
        ElfError: the file, a section, a note or the metadata is malformed; `ForeignElfError` if the file
            is for a 32-bit or big-endian machine.
        OSError: the file cannot be opened.
    """
    from elftools.elf.elffile import ELFFile  # noqa: PLC0415 (too slow an import for doctor, which seldom needs it)

    names = [name for versions in read_versions(path).needed.values() for name in versions]
    required = [(int(match[1]), int(match[2])) for match in map(_GLIBC.fullmatch, names) if match]
    if _RELATIVE_RELOCATIONS in names:  # glibc has supported packed relocations since 2.36
        required.append((2, 36))
    with open_image(path) as image:
        try:
            elf = ELFFile(cast("IO[bytes]", _Stream(image)))
            return BuildTraces(
                compilers=symbol_tables.read_lines(image, ".comment"),
                package=_read_package_note(elf, image),
                glibc="{}.{}".format(*max(required)) if required else "",
                stripped=all(
                    section.kind != symbol_tables.STATIC_SYMBOLS for section in symbol_tables.read_sections(image)
                ),
            )
        except ElfError:
            raise
        except Exception as error:  # pyelftools raises errors of any type for a malformed file
            raise ElfError(path, f"malformed: {type(error).__name__}: {error}") from error


class _Stream:
    """A file object through which pyelftools reads an image; reading fails after more reads than a valid file needs."""

    def __init__(self, image: ElfImage) -> None:
        self._image = image
        self._position = 0
        self._reads_left = _MOST_READS
        self._bytes_left = _MOST_BYTES

    def seek(self, offset: int, whence: int = 0) -> int:
        """Set the position, as `io.IOBase.seek` does."""
        self._position = offset + (0, self._position, self._image.size)[whence]
        return self._position

    def tell(self) -> int:
        """Return the position, as `io.IOBase.tell` does."""
        return self._position

    def read(self, size: int = -1) -> bytes:
        """Read at most `size` bytes, or all bytes up to the file's end if `size` is negative."""
        rest = max(0, self._image.size - self._position)
        size = min(size, rest) if size >= 0 else rest
        self._reads_left -= 1
        self._bytes_left -= size
        if self._reads_left < 0 or self._bytes_left < 0 or self._position < 0:
            raise ElfError(self._image.path, "malformed: its tables are cyclic or point outside it")
        content = self._image.read(self._position, size) if size else b""
        self._position += size
        return content


def _read_package_note(elf: "ELFFile", image: ElfImage) -> dict[str, str]:
    from elftools.elf.notes import iter_notes  # noqa: PLC0415 (too slow an import for doctor, which seldom needs it)

    for segment in image.of_kind(NOTE):
        for note in iter_notes(elf, segment.offset, segment.size):
            if (note["n_name"], note["n_type"]) == _PACKAGE_NOTE:
                values = json_data(bytes(note["n_descdata"]).rstrip(b"\0"))
                return {key: value if isinstance(value, str) else json.dumps(value) for key, value in values.items()}
    return {}
