"""What a compiled file tells of the libraries in it: its constants, and which functions it offers to others.

And what can be told from that of one library; how it is told, `identities` says.
"""

import re
from pathlib import Path

from fastinstall.binary.image import EXECUTABLE, LOAD, open_image
from fastinstall.binary.lookup import find_all_definitions
from fastinstall.model.immutable import immutable


@immutable
class Contents:
    """A file as it is searched for libraries.

    Attributes:
        path: the file.
        machine: what it is for, as the kernel names it: "x86_64", "aarch64".
        constants: what is mapped for reading alone, its strings among it.
        offered: which of the functions that were asked about it defines for others.
    """

    path: Path
    machine: str
    constants: bytes
    offered: frozenset[str]

    def text(self, pattern: re.Pattern[bytes]) -> str:
        """Return the first group of a pattern's first match, or "" if nothing matches.

        A pattern that begins with a literal is searched for by that, at a speed of gigabytes a second.
        """
        match = pattern.search(self.constants)
        return match[1].decode("ascii", "replace") if match else ""


@immutable
class Identity:
    """A library that was found in a file. What cannot be told is empty or None.

    Attributes:
        kind: "jpeg", "zlib", "tiff", "openjpeg", "webp", "freetype", "lcms2".
        implementation: "libjpeg-turbo", "mozjpeg", "IJG libjpeg"; "zlib", "zlib-ng", "zlib-ng compat";
            "libtiff" and so on; empty where none of the marks is there.
        version: of the implementation, as far as its marks tell: "3.1.3", "9e", but "1.3" of a libjpeg-turbo
            that says no more than that.
        simd: of a libjpeg, whether it contains SIMD code.
        abi: of a libjpeg, the interface that it offers: "62", "70", "80", "90".
        inside: it is linked into the file, and its functions are offered to nobody.
    """

    kind: str
    implementation: str
    version: str = ""
    simd: bool | None = None
    abi: str = ""
    inside: bool = False


def read_contents(path: Path, functions: tuple[str, ...]) -> Contents:
    """Read the constants of a file; of the code nothing, where the linker kept it apart.

    Args:
        path: the file.
        functions: which to look for among those that it defines for others.

    Raises:
        ElfError: the file cannot be read as an ELF file.
        OSError: it cannot be opened.
    """
    with open_image(path) as image:
        machine, constants = image.machine, image.constants()
    offered = (name for name, definitions in find_all_definitions(path, functions).items() if definitions)
    return Contents(path=path, machine=machine, constants=constants, offered=frozenset(offered))


def read_code(path: Path) -> bytes:
    """What is mapped to be run; for the few questions that constants do not answer.

    Raises:
        ElfError: the file cannot be read as an ELF file.
        OSError: it cannot be opened.
    """
    with open_image(path) as image:
        code = (segment for segment in image.of_kind(LOAD) if segment.flags & EXECUTABLE)
        return b"".join(image.read(segment.offset, segment.size) for segment in code)
