"""Which libraries a file is or contains, recognised by marks in its content, and the file's fingerprint."""

import hashlib
from pathlib import Path

import pytest
from support.elf.writer import PLAIN, Elf

from fastinstall.elf.image import ElfError
from fastinstall.elf.libraries import Identity, describe_jpeg, describe_library, identify

MESSAGE = b"\0JPEG parameter struct mismatch: library thinks size is %u, caller expects %u\0"
IJG = b"\x009e  16-Jan-2022\0Copyright (C) 2022, Thomas G. Lane, Guido Vollbeding\0"
IJG_6B = b"\x006b  27-Mar-1998\0Copyright (C) 1998, Thomas G. Lane\0"
IJG_7 = b"\x007  27-Jun-2009\0Copyright (C) 2009, Thomas G. Lane, Guido Vollbeding\0"
STANDS_FOR_6B = b"\x006b  27-Mar-1998\0"
PROJECT = b"\0Copyright (C) 1991-2025 The libjpeg-turbo Project and many others\0"
TURBO = PROJECT + b"libjpeg-turbo version 3.1.3 (build 20260211)" + STANDS_FOR_6B
TURBO_OF_OPENCV = PROJECT + b"OpenCV version 3.1.2 (build opencv-5.0.0-libjpeg-turbo)" + STANDS_FOR_6B
MOZJPEG = PROJECT + b"\0mozjpeg version 4.1.5 (build 20231201)" + STANDS_FOR_6B
MOZJPEG_3 = (
    b"\0Copyright (C) 1991-2014 The libjpeg-turbo Project and many others\0Bogus parameter value" + STANDS_FOR_6B
)
MOZJPEG_2 = b"\0Copyright (C) 2009-2013 D. R. Commander\nCopyright (C) 2014 Mozilla Corporation\n" + STANDS_FOR_6B
SIMD = bytes.fromhex("8b4c4656") * 4
DECODERS_SIMD = bytes.fromhex("e6a72e49") * 4


def commander(last: int) -> bytes:
    """Return the copyright notice of a libjpeg-turbo: with years up to `last`, and without a version."""
    return b"\0Copyright (C) 2009-%d D. R. Commander\nCopyright (C) 1999-2006 MIYASAKA Masaru\n" % last + STANDS_FOR_6B


def shared(constants: bytes, *more: str, machine: int = 62) -> Elf:
    """Return a shared libjpeg that contains these constants, and also exports the functions `more`."""
    functions = dict.fromkeys(("jpeg_read_header", "jpeg_start_compress", *more), PLAIN)
    return Elf(soname="libjpeg.so.62", exported=functions, constants=constants, machine=machine)


def told(identity: Identity) -> str:
    """Return a libjpeg's implementation, version, interface and SIMD, with "?" for unknown values."""
    simd = {True: "SIMD", False: "no SIMD", None: "?"}[identity.simd]
    return f"{identity.implementation or '?'} {identity.version or '?'}, {identity.abi or '?'}, {simd}"


@pytest.mark.parametrize(
    ("elf", "expected"),
    [
        (shared(TURBO + SIMD), "libjpeg-turbo 3.1.3, 62, SIMD"),
        (shared(TURBO + DECODERS_SIMD), "libjpeg-turbo 3.1.3, 62, SIMD"),
        (shared(TURBO), "libjpeg-turbo 3.1.3, 62, no SIMD"),
        (shared(TURBO_OF_OPENCV), "libjpeg-turbo 3.1.2, 62, no SIMD"),
        (shared(commander(2012)), "libjpeg-turbo 1.2, 62, no SIMD"),
        (shared(commander(2013)), "libjpeg-turbo 1.3, 62, no SIMD"),
        (shared(commander(2013), machine=183), "libjpeg-turbo 1.3, 62, ?"),
        (shared(PROJECT.replace(b"2025", b"2015") + STANDS_FOR_6B), "libjpeg-turbo 1.4, 62, no SIMD"),
        (shared(PROJECT.replace(b"2025", b"2019") + STANDS_FOR_6B), "libjpeg-turbo 2.0, 62, no SIMD"),
        (shared(PROJECT + STANDS_FOR_6B), "libjpeg-turbo ?, 62, no SIMD"),
        (shared(b"\0Sorry, arithmetic coding is not implemented" + IJG_6B), "libjpeg-turbo ?, 62, no SIMD"),
        (shared(b"\0LIBJPEGTURBO_8.0\x008d  15-Jan-2012\0"), "libjpeg-turbo ?, 80, no SIMD"),
        (shared(IJG_6B, "jsimd_can_rgb_ycc"), "libjpeg-turbo ?, 62, no SIMD"),
        (shared(IJG_6B + SIMD), "libjpeg-turbo ?, 62, SIMD"),
        (shared(TURBO, machine=183), "libjpeg-turbo 3.1.3, 62, ?"),
        (shared(TURBO + b"JSIMD_FORCENEON\0", machine=183), "libjpeg-turbo 3.1.3, 62, SIMD"),
        (shared(MOZJPEG + SIMD), "mozjpeg 4.1.5, 62, SIMD"),
        (shared(TURBO, "jpeg_c_set_bool_param"), "mozjpeg ?, 62, no SIMD"),
        (shared(MOZJPEG_3), "mozjpeg 3, 62, no SIMD"),
        (shared(MOZJPEG_2), "mozjpeg 2, 62, no SIMD"),
        (shared(IJG), "IJG libjpeg 9e, 90, no SIMD"),
        (shared(IJG_6B), "IJG libjpeg 6b, 62, no SIMD"),
        (shared(IJG_7), "IJG libjpeg 7, 70, no SIMD"),
        (shared(b"\x009e  16-Jan-2022\0"), "? ?, 90, ?"),
        (shared(TURBO + IJG), "libjpeg-turbo 3.1.3, ?, no SIMD"),
        (shared(b""), "? ?, ?, ?"),
    ],
)
def test_a_libjpeg_is_told_by_its_marks(tmp_path: Path, elf: Elf, expected: str) -> None:
    (found,) = identify(elf.write(tmp_path / "libjpeg.so.62"))
    assert (found.kind, told(found), found.inside) == ("jpeg", expected, False)


@pytest.mark.parametrize(
    ("constants", "expected"),
    [
        (TURBO + SIMD, "libjpeg-turbo 3.1.3, 62, SIMD"),
        (MOZJPEG, "mozjpeg 4.1.5, 62, no SIMD"),
        (IJG, "IJG libjpeg 9e, 90, no SIMD"),
        (IJG + IJG_6B, "? ?, ?, ?"),
    ],
)
def test_a_libjpeg_that_is_linked_into_a_module_is_told_too(tmp_path: Path, constants: bytes, expected: str) -> None:
    module = Elf(exported={"PyInit__jpeg": PLAIN}, constants=MESSAGE + constants)
    (found,) = identify(module.write(tmp_path / "_jpeg.so"))
    assert (found.kind, told(found), found.inside) == ("jpeg", expected, True)


def test_a_file_that_only_uses_or_mentions_libraries_is_none(tmp_path: Path) -> None:
    mentioned = TURBO + SIMD + b"1.3.1.zlib-ng\0 zlib-ng 2.3.3\0openjpeg.h\0LIBTIFF_\0FT_Init_FreeType\0"
    user = Elf(
        imported=("jpeg_read_header", "inflate", "TIFFClientOpen"),
        exported={"PyInit__imaging": PLAIN},
        constants=mentioned,
    )
    assert identify(user.write(tmp_path / "_imaging.so")) == ()


def test_a_message_of_libjpeg_alone_makes_no_libjpeg(tmp_path: Path) -> None:
    quoting = Elf(exported={"PyInit__jpeg": PLAIN}, constants=MESSAGE)
    assert identify(quoting.write(tmp_path / "_jpeg.so")) == ()


@pytest.mark.parametrize(
    ("function", "constants", "expected"),
    [
        ("inflate", b"\0 inflate 1.2.13 Copyright 1995-2022 Mark Adler \0", ("zlib", "1.2.13")),
        ("inflate", b"\0 deflate 1.2.11 Copyright 1995-2017 Jean-loup Gailly \0", ("zlib", "1.2.11")),
        ("inflate", b"\0 inflate 1.3.1 Copyright \0 zlib-ng 2.3.3\0", ("zlib-ng compat", "2.3.3")),
        ("inflate", b"\x001.3.1.zlib-ng\0", ("zlib-ng compat", "")),
        ("zng_inflate", b"\0 inflate 1.3.1 Copyright \0 zlib-ng 2.2.4\0", ("zlib-ng", "2.2.4")),
        ("zng_inflate", b"\0 zlib-ng 2.0.7 forked from zlib\0", ("zlib-ng", "2.0.7")),
        ("inflate", b"\0nothing of the kind\0", ("", "")),
    ],
)
def test_zlib_is_told_from_zlib_ng(tmp_path: Path, function: str, constants: bytes, expected: tuple[str, str]) -> None:
    elf = Elf(soname="libz.so.1", exported={function: PLAIN}, constants=constants)
    (found,) = identify(elf.write(tmp_path / "libz.so.1"))
    assert (found.implementation, found.version, found.inside) == (*expected, False)


@pytest.mark.parametrize(
    ("constants", "expected"),
    [
        (b" inflate 1.3.1 Copyright \0 zlib-ng 2.3.3\0" + b"0x1.3.1.zlib-ng\0", ("zlib-ng compat", "2.3.3")),
        (b" inflate 1.3.1 Copyright \0 zlib-ng 2.3.3\0", ("zlib-ng", "2.3.3")),
        (b" inflate 1.3.2 Copyright \0", ("zlib", "1.3.2")),
    ],
)
def test_a_linked_in_zlib_is_recognised_by_its_messages(
    tmp_path: Path, constants: bytes, expected: tuple[str, str]
) -> None:
    code = b"\0invalid distance too far back\0incorrect header check\0"
    core = Elf(exported={"PyInit__imaging": PLAIN}, constants=code + constants)
    (found,) = identify(core.write(tmp_path / "_imaging.so"))
    assert (found.kind, found.implementation, found.version, found.inside) == ("zlib", *expected, True)


@pytest.mark.parametrize(
    ("function", "constants", "expected"),
    [
        ("TIFFClientOpen", b"LIBTIFF, Version 4.7.1\nCopyright \0", "tiff: libtiff 4.7.1"),
        ("opj_create_decompress", b"\x002.5.4\0", "openjpeg: OpenJPEG 2.5.4"),
        ("WebPGetDecoderVersion", b"", "webp: libwebp "),
        ("FT_Init_FreeType", b"", "freetype: FreeType "),
        ("cmsOpenProfileFromMem", b"", "lcms2: Little CMS "),
    ],
)
def test_the_other_libraries_are_told_by_what_they_offer(
    tmp_path: Path, function: str, constants: bytes, expected: str
) -> None:
    elf = Elf(exported={function: PLAIN}, constants=constants)
    (found,) = identify(elf.write(tmp_path / "named-otherwise.so"))
    assert f"{found.kind}: {found.implementation} {found.version}" == expected


def test_a_file_may_be_one_library_and_contain_another(tmp_path: Path) -> None:
    tiff = Elf(exported={"TIFFClientOpen": PLAIN}, constants=MESSAGE + TURBO)
    path = tiff.write(tmp_path / "libtiff.so.6")
    assert [(found.kind, found.inside) for found in identify(path)] == [("jpeg", True), ("tiff", False)]
    assert [found.kind for found in identify(path, kinds=("tiff",))] == ["tiff"]


def test_a_damaged_file_is_an_error(tmp_path: Path) -> None:
    path = shared(TURBO).write(tmp_path / "libjpeg.so.62")
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(ElfError):
        identify(path)


def test_a_libjpeg_fingerprint_has_all_that_reveals_a_change(tmp_path: Path) -> None:
    elf = Elf(exported={"jpeg_read_header": PLAIN}, constants=TURBO + SIMD, build_id=bytes.fromhex("c0ffee"))
    path = elf.write(tmp_path / "libjpeg-1a2b.so.62")
    library, status = describe_jpeg("libjpeg.so.62", path), path.stat()
    assert (library.soname, library.path) == ("libjpeg.so.62", path)
    assert (library.implementation, library.version, library.abi, library.simd) == (
        "libjpeg-turbo",
        "3.1.3",
        "62",
        True,
    )
    assert (library.size, library.inode, library.build_id) == (status.st_size, status.st_ino, "c0ffee")
    assert library.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


def test_another_library_is_not_hashed(tmp_path: Path) -> None:
    elf = Elf(exported={"TIFFClientOpen": PLAIN}, build_id=bytes.fromhex("c0ffee"))
    path = elf.write(tmp_path / "libtiff.so.6")
    library = describe_library(identify(path)[0], path, place=path, soname="libtiff.so.6")
    assert (library.sha256, library.build_id, library.size) == ("", "c0ffee", path.stat().st_size)


@pytest.mark.parametrize("content", [None, b"", b"no ELF file"])
def test_what_is_missing_or_damaged_stays_a_name(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "libjpeg.so.62"
    if content is not None:
        path.write_bytes(content)
    library = describe_jpeg("libjpeg.so.62", path)
    assert (library.path, library.implementation, library.sha256, library.size) == (path, "", "", 0)


def test_a_libjpeg_inside_the_requested_library_is_not_that_one(tmp_path: Path) -> None:
    path = Elf(exported={"TIFFOpen": PLAIN}, constants=MESSAGE + TURBO).write(tmp_path / "libtiff.so.6")
    assert describe_jpeg("libtiff.so.6", path).implementation == ""
