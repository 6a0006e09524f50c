"""Which implementation of a C library a file is, told from its symbols and strings. Never loads it.

The order of the rules matters: mozjpeg contains the marks of libjpeg-turbo, which contains those of
the IJG's libjpeg.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from fastinstall.binary.image import read_whole
from fastinstall.binary.symbols import exported_symbols

_MOZJPEG_VERSION = re.compile(rb"mozjpeg version (\d[\w.]*)")
_TURBO_VERSION = re.compile(rb"libjpeg-turbo version (\d+(?:\.\d+)+)")
_TURBO_MARKS = (b"LIBJPEGTURBO_", b"libjpeg-turbo Project")
_RELEASE_DATE = re.compile(rb"  \d{1,2}-[A-Z][a-z]{2}-\d{4}\0")
_RELEASE_BEFORE_DATE = re.compile(rb"(?<![\w.])(\d{1,2}[a-z]?)$")
_IJG_COPYRIGHT = re.compile(rb"Copyright \(C\) (?:\d{4}-)?\d{4}, Thomas G\. Lane")
# A constant of every x86 SIMD build of libjpeg-turbo, repeated to fill a vector.
_SIMD_CONSTANT = bytes.fromhex("8b4c4656") * 4

_ZLIB_NG = re.compile(rb"zlib-ng (\d+\.\d+\.\d+[\w.]*)")
_ZLIB_NG_COMPATIBLE = re.compile(rb"(\d+(?:\.\d+)+)\.zlib-ng")
_ZLIB = re.compile(rb"(?:de|in)flate (\d+(?:\.\d+)+) Copyright")


@dataclass(frozen=True, slots=True, kw_only=True)
class JpegIdentity:
    """What a libjpeg is.

    Attributes:
        implementation: "libjpeg-turbo", "mozjpeg", "IJG libjpeg"; empty where none of their marks is there.
        version: of the implementation ("3.1.3", "9e"); empty if it does not say.
        simd: whether it contains SIMD code; None where that cannot be told.
        abi: the libjpeg interface that it offers: "62", "70", "80", "90"; empty if unknown.
    """

    implementation: str
    version: str
    simd: bool | None
    abi: str


def identify_jpeg(path: Path) -> JpegIdentity | None:
    """Identify a shared libjpeg; None where the file does not offer libjpeg's functions.

    Raises:
        ElfError: the file cannot be read as an ELF file.
        OSError: it cannot be opened.
    """
    symbols = exported_symbols(path)
    if "jpeg_read_header" not in symbols:
        return None
    content = read_whole(path)
    implementation, version = _implementation(symbols, content)
    return JpegIdentity(
        implementation=implementation,
        version=version,
        simd=_has_simd(implementation, content),
        abi=_abi(_ijg_release(content)),
    )


def zlib_identity(path: Path) -> str:
    """Which zlib a file is or contains: "zlib 1.2.13", "zlib-ng 2.2.4"; empty where none shows.

    Raises:
        ElfError: the file is implausible for a library.
        OSError: it cannot be opened.
    """
    content = read_whole(path)
    if version := _group(_ZLIB_NG, content):
        return f"zlib-ng {version}"
    if version := _group(_ZLIB_NG_COMPATIBLE, content):
        return f"zlib-ng (as zlib {version})"
    if version := _group(_ZLIB, content):
        return f"zlib {version}"
    return ""


def _implementation(symbols: frozenset[str], content: bytes) -> tuple[str, str]:
    if "jpeg_c_set_bool_param" in symbols:
        return "mozjpeg", _group(_MOZJPEG_VERSION, content)
    version = _group(_TURBO_VERSION, content)
    if version or any(mark in content for mark in _TURBO_MARKS):
        return "libjpeg-turbo", version
    release = _ijg_release(content)
    if release and _IJG_COPYRIGHT.search(content):
        return "IJG libjpeg", release
    return "", ""


def _has_simd(implementation: str, content: bytes) -> bool | None:
    """The IJG's has none; the constant is that of x86-64 builds (`e_machine` 62)."""
    if implementation == "IJG libjpeg":
        return False
    if not implementation or content[18:20] != b"\x3e\x00":
        return None
    return _SIMD_CONSTANT in content


def _ijg_release(content: bytes) -> str:
    """The IJG release that the library is or stands for, as in "6b  27-Mar-1998"."""
    for date in _RELEASE_DATE.finditer(content):
        if release := _group(_RELEASE_BEFORE_DATE, content[max(0, date.start() - 4) : date.start()]):
            return release
    return ""


def _abi(version: str) -> str:
    """The interface by the IJG release that it stands for: 6b is 62, 7 is 70, 8d is 80, 9e is 90."""
    number = version.rstrip("abcdefghijklmnopqrstuvwxyz")
    if not number:
        return ""
    return "62" if number == "6" else f"{number}0"


def _group(pattern: re.Pattern[bytes], content: bytes) -> str:
    match = pattern.search(content)
    return match[1].decode("ascii") if match else ""
