"""Which libjpeg or zlib a file is, by its marks."""

from pathlib import Path

import pytest
from elf_writer import PLAIN, Elf

from fastinstall.binary.libraries import JpegIdentity, identify_jpeg, zlib_identity

IJG = b"\x009e  16-Jan-2022\0Copyright (C) 2022, Thomas G. Lane, Guido Vollbeding\0"
IJG_6B = b"\x006b  27-Mar-1998\0Copyright (C) 1998, Thomas G. Lane\0"
IJG_7 = b"\x007  27-Jun-2009\0Copyright (C) 2009, Thomas G. Lane, Guido Vollbeding\0"
TURBO = (
    b"\0Copyright (C) 1991-2025 The libjpeg-turbo Project and many others\0"
    b"libjpeg-turbo version 3.1.3 (build 20260211)\x006b  27-Mar-1998\0"
)
MOZJPEG = b"\0mozjpeg version 4.1.5 (build 20231201)\x006b  27-Mar-1998\0libjpeg-turbo Project\0"
SIMD = bytes.fromhex("8b4c4656") * 4


def jpeg(constants: bytes, *more: str, machine: int = 62) -> Elf:
    symbols = dict.fromkeys(("jpeg_read_header", "jpeg_start_compress", *more), PLAIN)
    return Elf(soname="libjpeg.so.62", exported=symbols, constants=constants, machine=machine)


def identity(implementation: str, version: str, abi: str, *, simd: bool | None) -> JpegIdentity:
    return JpegIdentity(implementation=implementation, version=version, abi=abi, simd=simd)


@pytest.mark.parametrize(
    ("elf", "expected"),
    [
        (jpeg(TURBO + SIMD), identity("libjpeg-turbo", "3.1.3", "62", simd=True)),
        (jpeg(TURBO), identity("libjpeg-turbo", "3.1.3", "62", simd=False)),
        (jpeg(b"\0LIBJPEGTURBO_8.0\x008d  15-Jan-2012\0"), identity("libjpeg-turbo", "", "80", simd=False)),
        (jpeg(TURBO + SIMD, machine=183), identity("libjpeg-turbo", "3.1.3", "62", simd=None)),
        (jpeg(MOZJPEG + SIMD, "jpeg_c_set_bool_param"), identity("mozjpeg", "4.1.5", "62", simd=True)),
        (jpeg(IJG), identity("IJG libjpeg", "9e", "90", simd=False)),
        (jpeg(IJG_6B), identity("IJG libjpeg", "6b", "62", simd=False)),
        (jpeg(IJG_7), identity("IJG libjpeg", "7", "70", simd=False)),
        (jpeg(b"\x009e  16-Jan-2022\0"), identity("", "", "90", simd=None)),
        (jpeg(b""), identity("", "", "", simd=None)),
    ],
)
def test_a_libjpeg_is_told_by_its_marks(tmp_path: Path, elf: Elf, expected: JpegIdentity) -> None:
    assert identify_jpeg(elf.write(tmp_path / "libjpeg.so.62")) == expected


def test_a_library_that_only_uses_libjpeg_is_none(tmp_path: Path) -> None:
    user = Elf(imported=("jpeg_read_header",), exported={"TIFFOpen": PLAIN}, constants=TURBO)
    assert identify_jpeg(user.write(tmp_path / "libtiff.so.6")) is None


@pytest.mark.parametrize(
    ("constants", "expected"),
    [
        (b"\0 inflate 1.2.13 Copyright 1995-2022 Mark Adler \0", "zlib 1.2.13"),
        (b"\0 deflate 2.2.4 Copyright \0zlib-ng 2.2.4\0", "zlib-ng 2.2.4"),
        (b"\x001.3.1.zlib-ng\0", "zlib-ng (as zlib 1.3.1)"),
        (b"\0nothing of the kind\0", ""),
    ],
)
def test_zlib_is_told_from_zlib_ng(tmp_path: Path, constants: bytes, expected: str) -> None:
    assert zlib_identity(Elf(constants=constants).write(tmp_path / "libz.so.1")) == expected
