"""Which of the libraries behind PIL's codecs a file is or contains, told from its file alone, which is never loaded.

A shared library is recognised by the functions that it exports, not by its name; one linked into another file by the
messages of its code, which a file that only uses the library does not have. A fingerprint shows when the file changes.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path, PurePath

from fastinstall.core.files import sha256
from fastinstall.elf.code_constants import freetype_version, read_returned_number
from fastinstall.elf.description import LoadedLibrary
from fastinstall.elf.dynamic import read_dynamic
from fastinstall.elf.image import ElfError, open_image
from fastinstall.elf.libjpeg_marks import ENTRY, JPEG, JPEG_FUNCTIONS, find_jpeg
from fastinstall.elf.lookup import find_all_definitions, find_definitions
from fastinstall.elf.searched_file import Identity, SearchedFile
from fastinstall.elf.zlib_marks import ZLIB, ZLIB_FUNCTIONS, find_zlib


def describe_library(identity: Identity, path: PurePath, *, place: Path, soname: str = "") -> LoadedLibrary:
    """Describe an identified library with size, inode and build-id of its file; of a libjpeg of its own the hash too.

    Args:
        identity: as `identify` found it.
        path: where the target has its file.
        place: that file on this machine.
        soname: what it was asked for by; empty for one that is linked into the file.

    Raises:
        ElfError: the file cannot be read as an ELF file.
        OSError: it cannot be opened.
    """
    status = place.stat()
    return LoadedLibrary(
        soname=soname,
        path=path,
        implementation=identity.implementation,
        version=identity.version,
        simd=identity.simd,
        sha256=sha256(place) if identity.kind == JPEG and not identity.inside else "",
        abi=identity.abi,
        size=status.st_size,
        inode=status.st_ino,
        build_id=read_dynamic(place).build_id or "",
    )


def describe_jpeg(soname: str, path: Path | None) -> LoadedLibrary:
    """Describe a library that something asks for, identified if it is a libjpeg; else by name and place alone.

    Args:
        soname: the name asked for.
        path: where it resolves to, or None if the loader would not find it.
    """
    plain = LoadedLibrary(soname=soname, path=path)
    if path is None:
        return plain
    try:
        found = identify(path, kinds=(JPEG,)) if find_definitions(path, ENTRY) else ()
        return describe_library(found[0], path, place=path, soname=soname) if found else plain
    except (OSError, ElfError):
        return plain


_OPENJPEG_ENTRY = "opj_create_decompress"
_TIFF_VERSION = re.compile(rb"LIBTIFF, Version (\d+(?:\.\d+)+)")
_OPENJPEG_VERSION = re.compile(rb"\0(2\.\d+\.\d+)\0")


def _read_tiff_version(contents: SearchedFile) -> str:
    return contents.text(_TIFF_VERSION)


def _read_openjpeg_version(contents: SearchedFile) -> str:
    """Read it in a library of its own alone: elsewhere the number may be another's."""
    return contents.text(_OPENJPEG_VERSION) if _OPENJPEG_ENTRY in contents.offered else ""


def _read_webp_version(contents: SearchedFile) -> str:
    number = read_returned_number(contents.path, "WebPGetDecoderVersion")
    return f"{number >> 16}.{number >> 8 & 255}.{number & 255}" if number is not None else ""


def _read_freetype_version(contents: SearchedFile) -> str:
    return freetype_version(contents.path)


def _read_lcms2_version(contents: SearchedFile) -> str:
    number = read_returned_number(contents.path, "cmsGetEncodedCMMversion")
    return f"{number // 1000}.{number % 1000 // 10}" if number is not None else ""


_MARKS: Mapping[str, tuple[str, str, bytes, Callable[[SearchedFile], str]]] = {
    "tiff": ("libtiff", "TIFFClientOpen", b"Failed to read directory at offset %", _read_tiff_version),
    "openjpeg": ("OpenJPEG", _OPENJPEG_ENTRY, b"Invalid value for numresolutions : %d, max", _read_openjpeg_version),
    "webp": ("libwebp", "WebPGetDecoderVersion", b"Premature end-of-partition0 encountered.", _read_webp_version),
    "freetype": ("FreeType", "FT_Init_FreeType", b"truetype-engine\0", _read_freetype_version),
    "lcms2": ("Little CMS", "cmsOpenProfileFromMem", b"tone curve with zero segments and no", _read_lcms2_version),
}
"""By kind of library its name, a function that it alone offers, a string of its code and of no user's, its version."""

_FUNCTIONS = {
    JPEG: JPEG_FUNCTIONS,
    ZLIB: ZLIB_FUNCTIONS,
    **{kind: (entry,) for kind, (_, entry, _, _) in _MARKS.items()},
}
"""By kind of library, every one that can be told: which functions of a file to ask about."""


def identify(path: Path, *, kinds: Iterable[str] = tuple(_FUNCTIONS)) -> tuple[Identity, ...]:
    """Tell which libraries a file is or contains; none for a file that only uses them.

    Args:
        path: of an ELF file, a library or an extension module.
        kinds: which kinds to look for.

    Raises:
        ElfError: the file cannot be read as an ELF file.
        OSError: it cannot be opened.
    """
    wanted = tuple(name for kind in kinds for name in _FUNCTIONS[kind])
    offered = frozenset(name for name, found in find_all_definitions(path, wanted).items() if found)
    with open_image(path) as image:
        contents = SearchedFile(path=path, machine=image.machine, constants=image.constants(), offered=offered)
    found = (_find_library(kind, contents) for kind in kinds)
    return tuple(identity for identity in found if identity is not None)


def _find_library(kind: str, contents: SearchedFile) -> Identity | None:
    if kind in (JPEG, ZLIB):
        return find_jpeg(contents) if kind == JPEG else find_zlib(contents)
    implementation, entry, message, read_version = _MARKS[kind]
    shared = entry in contents.offered
    if not shared and message not in contents.constants:
        return None
    return Identity(kind=kind, implementation=implementation, version=read_version(contents), inside=not shared)
