"""Native libraries as a build would find them, from files; without pkg-config, so that no process is run."""

from pathlib import Path

import pytest

from fastinstall.model.machine import NativeLibrary
from fastinstall.model.recipe import NativeRequirement
from fastinstall.observe.toolchain import observe_library

TURBO = "#define JPEG_LIB_VERSION 62\n#define LIBJPEG_TURBO_VERSION 2.1.5\n"


@pytest.fixture
def include(tmp_path: Path) -> Path:
    """Return an include directory."""
    directory = tmp_path / "usr/include"
    directory.mkdir(parents=True)
    return directory


def _observe(include: Path, header: str, link: str = "jpeg") -> NativeLibrary:
    library = include.parent / "lib"
    places = (include / "x86_64-linux-gnu", include)
    return observe_library("it", NativeRequirement(header=header, link=link), places, (library,), {})


def _write(path: Path, text: str = "") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_header_and_library_are_found(include: Path) -> None:
    _write(include / "zlib.h")
    _write(include.parent / "lib/libz.so")
    found = _observe(include, "zlib.h", "z")
    assert (found.include, found.library) == (include, include.parent / "lib/libz.so")


def test_what_is_missing_is_none(include: Path) -> None:
    found = _observe(include, "zlib.h", "z")
    assert (found.include, found.library, found.version) == (None, None, "")


def test_a_dangling_link_as_headers_alone_bring_it_is_no_library(include: Path) -> None:
    (include.parent / "lib").mkdir()
    (include.parent / "lib/libtiff.so").symlink_to("libtiff.so.6.0.0")
    assert _observe(include, "tiff.h", "tiff").library is None


def test_a_wildcard_selects_the_latest_include_directory(include: Path) -> None:
    for version in ("2.3", "2.5"):
        _write(include / f"openjpeg-{version}/openjpeg.h")
    assert _observe(include, "openjpeg-*/openjpeg.h").include == include / "openjpeg-2.5"


def test_a_plain_subdirectory_belongs_to_the_header(include: Path) -> None:
    _write(include / "webp/decode.h")
    assert _observe(include, "webp/decode.h").include == include


def test_libjpeg_turbo_is_known_by_the_jconfig_its_header_takes(include: Path) -> None:
    _write(include / "jpeglib.h")
    _write(include / "x86_64-linux-gnu/jconfig.h", TURBO)
    found = _observe(include, "jpeglib.h")
    assert (found.implementation, found.version) == ("libjpeg-turbo", "2.1.5")


def test_the_other_libjpeg_is_told_by_its_own_header(include: Path) -> None:
    _write(include / "jpeglib.h", "#define JPEG_LIB_VERSION  90\t/* Compatibility version 9.0 */\n")
    _write(include / "jconfig.h", "#define HAVE_PROTOTYPES 1\n")
    found = _observe(include, "jpeglib.h")
    assert (found.implementation, found.version) == ("IJG libjpeg", "9")
