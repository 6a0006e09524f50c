"""Recognise the libraries behind PIL's codecs in a file, from its bytes alone; the file is never loaded.

A shared library is recognised by the functions that it exports, not by its name. A library that is linked into another
file is recognised by the messages in its code, which a file that only uses the library does not have.

Some libraries report their version only through a function. If this function returns a constant, the constant is read
from the function's code without running it. Otherwise the version is unknown. FreeType's version is always unknown.

libjpeg: every copy contains libjpeg's message table, with release and copyright. The order of the rules matters:
mozjpeg contains the marks of libjpeg-turbo, which contains the marks of the IJG's libjpeg. Sources: jversion.h,
jerror.h and jcmaster.c of the IJG's libjpeg 6b to 9f, libjpeg-turbo 0.0.90 to 3.2.0 and mozjpeg 2.0 to 4.1.5.

zlib: a file compiled against zlib-ng's headers contains zlib-ng's version string, but may be bound to the host's zlib.
Therefore the version string alone does not prove that the file contains zlib-ng. Sources: inftrees.c, deflate.c,
inflate.c and zutil.c of zlib 1.2.0 to 1.3.2 and zlib-ng 2.0.0 to 2.3.3.
"""

import re
import struct
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path, PurePath

from fastinstall.core.architecture import AARCH64, X86_64
from fastinstall.core.files import sha256
from fastinstall.core.values import immutable
from fastinstall.elf.description import LoadedLibrary
from fastinstall.elf.dynamic import read_dynamic
from fastinstall.elf.dynamic_symbols import find_symbols
from fastinstall.elf.image import ElfError, open_image
from fastinstall.elf.lookup import find_all_definitions, find_definitions

_LONGEST = 256

# endbr64; push %rbp; mov %rsp,%rbp; mov $number,%eax; pop %rbp; ret. Only `mov $number` and `ret` are required.
_RETURNS = re.compile(rb"(?:\xf3\x0f\x1e\xfa)?(?:\x55\x48\x89\xe5)?\xb8(.{4})\x5d?\xc3", re.DOTALL)

# bti c; mov w0,#low; movk w0,#high,lsl #16; ret
_BTI, _MOVE, _MOVE_HIGH, _RETURN = 0xD503245F, 0x52800000, 0x72A00000, 0xD65F03C0

_IMMEDIATE = 0xFFFF << 5


def read_returned_number(path: Path, name: str) -> int | None:
    """Return the constant that a function returns; None if the function is missing or does anything more.

    Raises:
        ElfError: the file cannot be read as an ELF file.
        OSError: the file cannot be opened.
    """
    with open_image(path) as image:
        address = next((fields[4] for _, _, fields in find_symbols(image, (name,)) if fields[4]), 0)
        code = image.read_up_to(address, _LONGEST) if address else b""
        decode = _DECODERS.get(image.machine)
    return decode(code) if decode is not None else None


def _decode_x86_return(code: bytes) -> int | None:
    found = _RETURNS.match(code)
    return int.from_bytes(found[1], "little") if found else None


def _decode_arm_return(code: bytes) -> int | None:
    words = [word for (word,) in struct.iter_unpack("<I", code[:16]) if word != _BTI]
    if len(words) < 3 or words[0] & ~_IMMEDIATE != _MOVE:  # noqa: PLR2004 (of up to four instructions)
        return None
    number = (words[0] & _IMMEDIATE) >> 5
    if words[1] & ~_IMMEDIATE == _MOVE_HIGH:
        number |= (words[1] & _IMMEDIATE) << 11
        words.pop(1)
    return number if words[1] == _RETURN else None


_DECODERS = {X86_64.machine: _decode_x86_return, AARCH64.machine: _decode_arm_return}
"""By machine: a decoder, which takes a function's code and returns the constant that the code returns, or None."""


@immutable
class SearchedFile:
    """A file to search for libraries, with the parts of its content that are searched.

    Attributes:
        path: the file's path on this machine.
        machine: the file's architecture, as the kernel names it: "x86_64", "aarch64".
        constants: the content of the file's read-only segments, which includes its strings; includes code only if the
            linker put code and constants into one segment.
        offered: the names in `_FUNCTIONS` that the file exports.
    """

    path: Path
    machine: str
    constants: bytes
    offered: frozenset[str]

    def text(self, pattern: re.Pattern[bytes]) -> str:
        """Return the first group of a pattern's first match, or "" if nothing matches.

        Patterns should begin with a literal: Python searches for the literal first, at gigabytes per second.
        """
        match = pattern.search(self.constants)
        return match[1].decode("ascii", "replace") if match else ""


@immutable
class Identity:
    """A library that was found in a file. Unknown attributes are empty or None.

    Attributes:
        kind: "jpeg", "zlib", "tiff", "openjpeg", "webp", "freetype", "lcms2".
        implementation: "libjpeg-turbo", "mozjpeg", "IJG libjpeg"; "zlib", "zlib-ng", "zlib-ng compat";
            "libtiff" and so on; empty if the file has no mark of a known implementation.
        version: the implementation's version, as precisely as the file's marks show it: "3.1.3", "9e"; for some
            releases of libjpeg-turbo only "1.3".
        simd: for a libjpeg, whether it contains SIMD code.
        abi: for a libjpeg, the version of the interface that it offers: "62", "70", "80", "90".
        inside: True if the library is linked into the file and the file does not export the library's functions.
    """

    kind: str
    implementation: str
    version: str = ""
    simd: bool | None = None
    abi: str = ""
    inside: bool = False


JPEG = "jpeg"
JPEG_ENTRY = "jpeg_read_header"
_MOZJPEG_ENTRY = "jpeg_c_set_bool_param"
_SIMD_ENTRY = "jsimd_can_rgb_ycc"
JPEG_FUNCTIONS = (JPEG_ENTRY, _MOZJPEG_ENTRY, _SIMD_ENTRY)
_JPEG_MESSAGE = b"JPEG parameter struct mismatch: library"
_RELEASE_DATE = re.compile(rb"  \d{1,2}-[A-Z][a-z]{2}-\d{4}\0")
_RELEASE_BEFORE_DATE = re.compile(rb"(?<![\w.])(\d{1,2}[a-z]?)$")
_PROJECTS_YEAR = re.compile(rb"\(C\) 1991-(\d{4}) The libjpeg-turbo Project and many others\0")
_COMMANDERS_YEAR = re.compile(rb"\(C\) 2009-(\d{4}) D\. R\. Commander\n")
_MOZJPEG_VERSION = re.compile(rb"mozjpeg version (\d[\w.]*)")
_MOZJPEG_MESSAGE = b"\0Bogus parameter value\0"
_MOZILLA = b"Copyright (C) 2014 Mozilla Corporation"
_MOZJPEG_OF_YEAR = {"2014": "3", "2016": "3", "2017": "3", "2020": "4"}
_TURBO_VERSION = re.compile(rb"libjpeg-turbo version (\d+(?:\.\d+)+)")
_TURBO_VERSION_OF_PROJECT = re.compile(rb" version (\d+(?:\.\d+)+) \(build [^)\0]*libjpeg-turbo\)")
_TURBO_MARKS = (b"LIBJPEGTURBO_", b"\0Sorry, arithmetic coding is not implemented\0")
_TURBO_OF_COMMANDERS_YEAR = {"2012": "1.2", "2013": "1.3", "2014": "1.3"}
_TURBO_OF_YEAR = {
    "2014": "1.4",
    "2015": "1.4",
    "2016": "1.5",
    "2017": "1.5",
    "2018": "2.0",
    "2019": "2.0",
    "2020": "2.0",
    "2021": "2.1",
}
"""libjpeg-turbo's version by copyright year, for files without a version string.

From 1.5 on, the version string is in the compressor, which a file may lack. The years identify releases, not betas.
"""

_IJG_COPYRIGHT = re.compile(rb"Copyright \(C\) (?:\d{4}-)?\d{4}, Thomas G\. Lane")

# Factors for converting from RGB (the first) and to RGB in libjpeg-turbo's x86 code, repeated to fill a vector.
_SIMD_CONSTANTS = (bytes.fromhex("8b4c4656") * 4, bytes.fromhex("e6a72e49") * 4)
_SIMD_SWITCH = b"JSIMD_FORCE"
_MARKED_MACHINES = frozenset({X86_64.machine})
"""Machines on which every libjpeg with SIMD code contains `_SIMD_CONSTANTS` or `_SIMD_SWITCH`."""


def find_jpeg(contents: SearchedFile) -> Identity | None:
    """Return the libjpeg that a file is or contains; None for other files, even if they use a libjpeg."""
    shared = JPEG_ENTRY in contents.offered
    # Each libjpeg contains an IJG release, its own or the one it is compatible with, and a date: "6b  27-Mar-1998".
    dates = (date.start() for date in _RELEASE_DATE.finditer(contents.constants))
    before = (_RELEASE_BEFORE_DATE.search(contents.constants[max(0, start - 4) : start]) for start in dates)
    releases = {found[1].decode("ascii") for found in before if found}
    if not shared and (_JPEG_MESSAGE not in contents.constants or not releases):
        return None
    release = releases.pop() if len(releases) == 1 else ""
    number = release.rstrip("abcdefghijklmnopqrstuvwxyz")
    abi = "62" if number == "6" else number and f"{number}0"  # 6b has interface 62, 7 has 70, 8d has 80
    implementation, version = _identify_jpeg(contents, release)
    simd = None
    if implementation == "IJG libjpeg":
        simd = False
    elif implementation:  # some builds with SIMD code lack JSIMD_FORCE
        marked = any(mark in contents.constants for mark in (_SIMD_SWITCH, *_SIMD_CONSTANTS))
        simd = marked if marked or contents.machine in _MARKED_MACHINES else None
    return Identity(kind=JPEG, implementation=implementation, version=version, simd=simd, abi=abi, inside=not shared)


def _identify_jpeg(contents: SearchedFile, release: str) -> tuple[str, str]:
    """Return the implementation and the version of a libjpeg; both are empty if not identified.

    Args:
        contents: the file with the libjpeg.
        release: the IJG release that the libjpeg is or is compatible with; empty if unknown.
    """
    year, commanders_year = contents.text(_PROJECTS_YEAR), contents.text(_COMMANDERS_YEAR)
    moz_version, of_mozilla = contents.text(_MOZJPEG_VERSION), _MOZILLA in contents.constants
    has_moz_marks = _MOZJPEG_ENTRY in contents.offered or _MOZJPEG_MESSAGE in contents.constants
    if has_moz_marks or of_mozilla or moz_version:
        return "mozjpeg", moz_version or _MOZJPEG_OF_YEAR.get(year, "2" if of_mozilla else "")
    turbo_version = contents.text(_TURBO_VERSION)
    marks = (*_TURBO_MARKS, *_SIMD_CONSTANTS)  # libjpeg-turbo before 1.2 has no copyright string of its own
    has_turbo_marks = _SIMD_ENTRY in contents.offered or any(mark in contents.constants for mark in marks)
    if year or commanders_year or turbo_version or has_turbo_marks:
        by_year = _TURBO_OF_YEAR.get(year) or _TURBO_OF_COMMANDERS_YEAR.get(commanders_year, "")
        return "libjpeg-turbo", turbo_version or contents.text(_TURBO_VERSION_OF_PROJECT) or by_year
    if release and _IJG_COPYRIGHT.search(contents.constants):
        return "IJG libjpeg", release
    return "", ""


ZLIB = "zlib"
_INFLATE, _INFLATE_OF_NG = ZLIB_FUNCTIONS = "inflate", "zng_inflate"
_ZLIB_MESSAGES = (b"invalid distance too far back\0", b"incorrect header check\0")
_NG_VERSION = re.compile(rb" zlib-ng (\d+\.\d+\.\d+[\w.]*)")
_NG_AS_ZLIB = b".zlib-ng\0"
_ZLIB_VERSIONS = (
    re.compile(rb" inflate (\d+(?:\.\d+)+) Copyright"),
    re.compile(rb" deflate (\d+(?:\.\d+)+) Copyright"),
)


def find_zlib(contents: SearchedFile) -> Identity | None:
    """Return the zlib that a file is or contains; None for other files, even if they use a zlib."""
    shared = bool(contents.offered.intersection((_INFLATE, _INFLATE_OF_NG)))
    if not shared and not all(message in contents.constants for message in _ZLIB_MESSAGES):
        return None
    compatible = _INFLATE in contents.offered or _NG_AS_ZLIB in contents.constants
    version = contents.text(_NG_VERSION)
    if _INFLATE_OF_NG in contents.offered or (version and not compatible):
        implementation = "zlib-ng"
    elif version or _NG_AS_ZLIB in contents.constants:
        implementation = "zlib-ng compat"
    else:
        version = next(filter(None, map(contents.text, _ZLIB_VERSIONS)), "")
        implementation = "zlib" if version else ""
    return Identity(kind=ZLIB, implementation=implementation, version=version, inside=not shared)


def describe_library(identity: Identity, path: PurePath, *, place: Path, soname: str = "") -> LoadedLibrary:
    """Describe an identified library, with the size, inode and build-id of its file.

    For a shared libjpeg, the description also has the file's SHA-256.

    Args:
        identity: a result of `identify`.
        path: the file's path in the target.
        place: the file's path on this machine.
        soname: the name in DT_NEEDED; empty for a library that is linked into the file.

    Raises:
        ElfError: the file cannot be read as an ELF file.
        OSError: the file cannot be opened.
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
    """Describe a library that may be a libjpeg. If it is not, or cannot be read, return only its name and path.

    Args:
        soname: the library's name in DT_NEEDED.
        path: the library's file, or None if the loader would not find the library.
    """
    plain = LoadedLibrary(soname=soname, path=path)
    if path is None:
        return plain
    try:
        found = identify(path, kinds=(JPEG,)) if find_definitions(path, JPEG_ENTRY) else ()
        return describe_library(found[0], path, place=path, soname=soname) if found else plain
    except (OSError, ElfError):
        return plain


_OPENJPEG_ENTRY = "opj_create_decompress"
_TIFF_VERSION = re.compile(rb"LIBTIFF, Version (\d+(?:\.\d+)+)")
_OPENJPEG_VERSION = re.compile(rb"\0(2\.\d+\.\d+)\0")


def _read_tiff_version(contents: SearchedFile) -> str:
    return contents.text(_TIFF_VERSION)


def _read_openjpeg_version(contents: SearchedFile) -> str:
    """Return the version of a shared OpenJPEG; empty for other files, where a match may be any library's."""
    return contents.text(_OPENJPEG_VERSION) if _OPENJPEG_ENTRY in contents.offered else ""


def _read_webp_version(contents: SearchedFile) -> str:
    number = read_returned_number(contents.path, "WebPGetDecoderVersion")
    return f"{number >> 16}.{number >> 8 & 255}.{number & 255}" if number is not None else ""


def _read_lcms2_version(contents: SearchedFile) -> str:
    number = read_returned_number(contents.path, "cmsGetEncodedCMMversion")
    return f"{number // 1000}.{number % 1000 // 10}" if number is not None else ""


_MARKS: Mapping[str, tuple[str, str, bytes, Callable[[SearchedFile], str]]] = {
    "tiff": ("libtiff", "TIFFClientOpen", b"Failed to read directory at offset %", _read_tiff_version),
    "openjpeg": ("OpenJPEG", _OPENJPEG_ENTRY, b"Invalid value for numresolutions : %d, max", _read_openjpeg_version),
    "webp": ("libwebp", "WebPGetDecoderVersion", b"Premature end-of-partition0 encountered.", _read_webp_version),
    "freetype": ("FreeType", "FT_Init_FreeType", b"truetype-engine\0", lambda _: ""),
    "lcms2": ("Little CMS", "cmsOpenProfileFromMem", b"tone curve with zero segments and no", _read_lcms2_version),
}
"""By kind of library, four values: the library's name, a function that only this library exports, a string that only
this library's code contains, and a function that reads its version."""

_FUNCTIONS = {
    JPEG: JPEG_FUNCTIONS,
    ZLIB: ZLIB_FUNCTIONS,
    **{kind: (entry,) for kind, (_, entry, _, _) in _MARKS.items()},
}
"""By kind of library, for all kinds that are recognised: exported functions that identify the library."""


def identify(path: Path, *, kinds: Iterable[str] = tuple(_FUNCTIONS)) -> tuple[Identity, ...]:
    """Return the libraries that a file is or contains; empty for a file that only uses them.

    Args:
        path: an ELF file: a library or an extension module.
        kinds: the kinds of library to look for.

    Raises:
        ElfError: the file cannot be read as an ELF file.
        OSError: the file cannot be opened.
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
