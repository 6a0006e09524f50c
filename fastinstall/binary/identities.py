"""Which of the libraries behind PIL's codecs a file is or contains, told from its file alone. Never loads it.

A library of its own is told by the functions that it offers, not by its name; one that is linked into another
file by the messages of its code, which a file that only uses the library does not have.
"""

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from fastinstall.binary import deflate, jpeg
from fastinstall.binary.contents import Contents, Identity, read_contents
from fastinstall.binary.functions import freetype_version, returned_number
from fastinstall.model.immutable import immutable

JPEG, ZLIB = jpeg.KIND, deflate.KIND


_Tell = Callable[[Contents], str]


def _untold(_contents: Contents) -> str:
    return ""


@immutable
class _Marks:
    """What a library is known by.

    Attributes:
        kind: of library.
        implementation: its name.
        entry: a function that it offers, and no other library.
        message: a string of its code, and of no user's.
        version: finds its version wherever it is.
        own_version: finds its version in a library of its own alone.
    """

    kind: str
    implementation: str
    entry: str
    message: bytes
    version: _Tell = _untold
    own_version: _Tell = _untold

    def find(self, contents: Contents) -> Identity | None:
        """Identify the library that a file is or contains; None for one that has none."""
        shared = self.entry in contents.offered
        if not shared and self.message not in contents.constants:
            return None
        version = self.version(contents) or (self.own_version(contents) if shared else "")
        return Identity(kind=self.kind, implementation=self.implementation, version=version, inside=not shared)


def _text(pattern: bytes) -> _Tell:
    compiled = re.compile(pattern)
    return lambda contents: contents.text(compiled)


def _webp_version(contents: Contents) -> str:
    number = returned_number(contents.path, "WebPGetDecoderVersion")
    return f"{number >> 16}.{number >> 8 & 255}.{number & 255}" if number is not None else ""


def _lcms2_version(contents: Contents) -> str:
    number = returned_number(contents.path, "cmsGetEncodedCMMversion")
    return f"{number // 1000}.{number % 1000 // 10}" if number is not None else ""


_OTHERS = (
    _Marks(
        kind="tiff",
        implementation="libtiff",
        entry="TIFFClientOpen",
        message=b"Failed to read directory at offset %",
        version=_text(rb"LIBTIFF, Version (\d+(?:\.\d+)+)"),
    ),
    _Marks(
        kind="openjpeg",
        implementation="OpenJPEG",
        entry="opj_create_decompress",
        message=b"Invalid value for numresolutions : %d, max value is set in openjpeg.h",
        own_version=_text(rb"\0(2\.\d+\.\d+)\0"),
    ),
    _Marks(
        kind="webp",
        implementation="libwebp",
        entry="WebPGetDecoderVersion",
        message=b"Premature end-of-partition0 encountered.",
        own_version=_webp_version,
    ),
    _Marks(
        kind="freetype",
        implementation="FreeType",
        entry="FT_Init_FreeType",
        message=b"truetype-engine\0",
        own_version=lambda contents: freetype_version(contents.path),
    ),
    _Marks(
        kind="lcms2",
        implementation="Little CMS",
        entry="cmsOpenProfileFromMem",
        message=b"tone curve with zero segments and no table",
        own_version=_lcms2_version,
    ),
)

_Find = Callable[[Contents], Identity | None]
_FINDERS: Mapping[str, tuple[tuple[str, ...], _Find]] = {
    JPEG: (jpeg.FUNCTIONS, jpeg.find_jpeg),
    ZLIB: (deflate.FUNCTIONS, deflate.find_zlib),
    **{marks.kind: ((marks.entry,), marks.find) for marks in _OTHERS},
}

KINDS = tuple(_FINDERS)
"""Every kind of library that can be told."""


def identify(path: Path, *, kinds: tuple[str, ...] = KINDS) -> tuple[Identity, ...]:
    """Tell which libraries a file is or contains; none for a file that only uses them.

    Args:
        path: the file.
        kinds: which kinds to look for.

    Raises:
        ElfError: the file cannot be read as an ELF file.
        OSError: it cannot be opened.
    """
    finders = [_FINDERS[kind] for kind in kinds]
    contents = read_contents(path, tuple(name for functions, _ in finders for name in functions))
    found = (find(contents) for _, find in finders)
    return tuple(identity for identity in found if identity is not None)
