"""A file as it is searched for libraries, and what is found in it."""

import re
from pathlib import Path

from fastinstall.core.values import immutable


@immutable
class SearchedFile:
    """A file as it is searched for libraries; its code is not read where the linker kept it apart from constants.

    Attributes:
        path: where the file lies on this machine.
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
            "libtiff" and so on; empty if none of the marks is there.
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
