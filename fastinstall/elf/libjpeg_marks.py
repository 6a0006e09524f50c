"""Tell mozjpeg, libjpeg-turbo and the IJG's libjpeg.

The table of messages comes along wherever a libjpeg is linked in, with its release and copyright; a file that only uses
a libjpeg has none of it. The order of the rules matters: mozjpeg contains the marks of libjpeg-turbo, which contains
those of the IJG's libjpeg. Sources: jversion.h, jerror.h and jcmaster.c of the releases of the IJG's libjpeg from 6b to
9f, of libjpeg-turbo from 0.0.90 to 3.2.0 and of mozjpeg from 1.0 to 4.1.5.
"""

import re

from fastinstall.elf.code_constants import KNOWN_CODE
from fastinstall.elf.image import EXECUTABLE, LOAD, open_image
from fastinstall.elf.searched_file import Identity, SearchedFile

JPEG = "jpeg"

ENTRY = "jpeg_read_header"

_MOZJPEG_ENTRY = "jpeg_c_set_bool_param"

_SIMD_ENTRY = "jsimd_can_rgb_ycc"

JPEG_FUNCTIONS = (ENTRY, _MOZJPEG_ENTRY, _SIMD_ENTRY)

_MESSAGE = b"JPEG parameter struct mismatch: library"

_RELEASE_DATE = re.compile(rb"  \d{1,2}-[A-Z][a-z]{2}-\d{4}\0")

_RELEASE_BEFORE_DATE = re.compile(rb"(?<![\w.])(\d{1,2}[a-z]?)$")

_PROJECTS_YEAR = re.compile(rb"\(C\) 1991-(\d{4}) The libjpeg-turbo Project and many others\0")

_COMMANDERS_YEAR = re.compile(rb"\(C\) 2009-(\d{4}) D\. R\. Commander\n")

_MOZJPEG_VERSION = re.compile(rb"mozjpeg version (\d[\w.]*)")

_MOZJPEG_MESSAGE = b"\0Bogus parameter value\0"

_MOZILLA = b"Copyright (C) 2014 Mozilla Corporation"

_MOZJPEG_OF_YEAR = {"2014": "3", "2016": "3", "2017": "3", "2020": "4"}

_EARLY_MOZJPEG_YEAR = "2013"

_EARLY_MOZJPEG_SIZES = {"62": 0x228, "70": 0x258, "80": 0x268}
"""Of `struct jpeg_compress_struct` in mozjpeg 1.0, which has eight fields more than libjpeg-turbo's, by interface."""

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
"""The version stands in the code that compresses, from 1.5 on: else the copyright tells, of releases, not of betas."""

_IJG_COPYRIGHT = re.compile(rb"Copyright \(C\) (?:\d{4}-)?\d{4}, Thomas G\. Lane")

# Factors of the conversions from RGB and to RGB in libjpeg-turbo's x86 code, repeated to fill a vector.
_SIMD_CONSTANTS = (bytes.fromhex("8b4c4656") * 4, bytes.fromhex("e6a72e49") * 4)

_SIMD_SWITCH = b"JSIMD_FORCE"


def find_jpeg(contents: SearchedFile) -> Identity | None:
    """Return the libjpeg that a file is or contains, or None if it only uses one."""
    shared = ENTRY in contents.offered
    # The IJG's releases that the libraries in a file are or stand for, as in "6b  27-Mar-1998".
    dates = (date.start() for date in _RELEASE_DATE.finditer(contents.constants))
    before = (_RELEASE_BEFORE_DATE.search(contents.constants[max(0, start - 4) : start]) for start in dates)
    releases = {found[1].decode("ascii") for found in before if found}
    if not shared and (_MESSAGE not in contents.constants or not releases):
        return None
    release = releases.pop() if len(releases) == 1 else ""
    number = release.rstrip("abcdefghijklmnopqrstuvwxyz")
    abi = "62" if number == "6" else number and f"{number}0"  # 6b is 62, 7 is 70, 8d is 80, 9e is 90
    implementation, version = _identify_jpeg(contents, release, abi)
    simd = None
    if implementation == "IJG libjpeg":
        simd = False
    elif implementation:  # the switch is not in every build
        marked = any(mark in contents.constants for mark in (_SIMD_SWITCH, *_SIMD_CONSTANTS))
        simd = marked if marked or contents.machine in KNOWN_CODE else None
    return Identity(kind=JPEG, implementation=implementation, version=version, simd=simd, abi=abi, inside=not shared)


def _identify_jpeg(contents: SearchedFile, release: str, abi: str) -> tuple[str, str]:
    """Return implementation and version, from the release of the IJG's and the interface that it is or stands for."""
    year, commanders_year = contents.text(_PROJECTS_YEAR), contents.text(_COMMANDERS_YEAR)
    moz_version, of_mozilla = contents.text(_MOZJPEG_VERSION), _MOZILLA in contents.constants
    has_moz_marks = _MOZJPEG_ENTRY in contents.offered or _MOZJPEG_MESSAGE in contents.constants
    if has_moz_marks or of_mozilla or moz_version:
        return "mozjpeg", moz_version or _MOZJPEG_OF_YEAR.get(year, "2" if of_mozilla else "")
    if commanders_year == _EARLY_MOZJPEG_YEAR and _is_early_mozjpeg(contents, abi):
        return "mozjpeg", "1.0"
    turbo_version = contents.text(_TURBO_VERSION)
    marks = (*_TURBO_MARKS, *_SIMD_CONSTANTS)  # of one without the copyright that it has from 1.2 on
    has_turbo_marks = _SIMD_ENTRY in contents.offered or any(mark in contents.constants for mark in marks)
    if year or commanders_year or turbo_version or has_turbo_marks:
        by_year = _TURBO_OF_YEAR.get(year) or _TURBO_OF_COMMANDERS_YEAR.get(commanders_year, "")
        return "libjpeg-turbo", turbo_version or contents.text(_TURBO_VERSION_OF_PROJECT) or by_year
    if release and _IJG_COPYRIGHT.search(contents.constants):
        return "IJG libjpeg", release
    return "", ""


def _is_early_mozjpeg(contents: SearchedFile, abi: str) -> bool:
    """Return whether it is mozjpeg 1.0, which has libjpeg-turbo 1.3's messages but another structure's size."""
    if contents.machine not in KNOWN_CODE or abi not in _EARLY_MOZJPEG_SIZES:
        return False
    size = re.escape(_EARLY_MOZJPEG_SIZES[abi].to_bytes(4, "little"))
    comparison = rb"[\x48\x49](?:\x3d|\x81[\xf8-\xff])" + size  # cmp $size,%r64
    with open_image(contents.path) as image:
        code = [image.read(each.offset, each.size) for each in image.of_kind(LOAD) if each.flags & EXECUTABLE]
    return re.search(comparison, b"".join(code)) is not None
