"""Read how a file was built: its compilers, the glibc version that it needs, and its package metadata."""

import json
import re
from dataclasses import replace
from pathlib import Path

from fastinstall.core.parsing import json_data
from fastinstall.elf import symbols as symbol_tables
from fastinstall.elf.description import BuildTraces, ImagingCore
from fastinstall.elf.dynamic import read_notes
from fastinstall.elf.image import ElfError, ElfImage, open_image
from fastinstall.elf.lookup import read_versions


def describe_making(core: ImagingCore) -> ImagingCore:
    """Return a core with its build traces added, or the unchanged core if its file cannot be read."""
    code = next((copy.path for copy in core.levels if copy.loaded), core.path)
    try:
        return replace(core, build_traces=read_details(Path(code)))
    except (OSError, ElfError):
        return core


_PACKAGE_NOTE = (b"FDO\0", 0xCAFE1A7E)
_GLIBC = re.compile(r"GLIBC_(\d+)\.(\d+)(?:\.\d+)?")
_RELATIVE_RELOCATIONS = "GLIBC_ABI_DT_RELR"


def read_details(path: Path) -> BuildTraces:
    """Read the traces that a build left in a file.

    The package metadata follow the UAPI group's "Package Metadata for Executable Files".

    Raises:
        ElfError: the file, a section, a note or the metadata is malformed; `ForeignElfError` if the file
            is for a 32-bit or big-endian machine.
        OSError: the file cannot be opened.
    """
    names = [name for versions in read_versions(path).needed.values() for name in versions]
    required = [(int(match[1]), int(match[2])) for match in map(_GLIBC.fullmatch, names) if match]
    if _RELATIVE_RELOCATIONS in names:  # glibc has supported packed relocations since 2.36
        required.append((2, 36))
    with open_image(path) as image:
        kinds = {section.kind for section in symbol_tables.read_sections(image)}
        return BuildTraces(
            compilers=symbol_tables.read_lines(image, ".comment"),
            package=_read_package_note(image),
            glibc="{}.{}".format(*max(required)) if required else "",
            stripped=symbol_tables.STATIC_SYMBOLS not in kinds,
        )


def _read_package_note(image: ElfImage) -> dict[str, str]:
    for name, kind, content in read_notes(image):
        if (name, kind) == _PACKAGE_NOTE:
            try:
                values = dict(json_data(content.rstrip(b"\0")))
            except (TypeError, ValueError) as error:
                raise ElfError(image.path, f"malformed: package metadata: {error}") from error
            return {key: value if isinstance(value, str) else json.dumps(value) for key, value in values.items()}
    return {}
