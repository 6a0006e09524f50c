"""C headers from packages of Debian and Ubuntu: the packages exist, and fit the libraries of official wheels."""

import shutil
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from support.sandbox import Sandbox

from fastinstall.core.architecture import AARCH64, X86_64
from fastinstall.core.directories import recipes_directory
from fastinstall.core.events import ignore
from fastinstall.index.header_packages import read_header_packages
from fastinstall.index.offers import PackageIndex
from fastinstall.index.pip import PipSettings
from fastinstall.observe.interpreter import observe_interpreter
from fastinstall.observe.recipes import load_recipe
from fastinstall.wheelbuild.headers import unpack_headers

HEADERS = {
    "jpeg": ("jpeglib.h", "jconfig.h"),
    "zlib": ("zlib.h", "zconf.h"),
    "tiff": ("tiffio.h", "tiffconf.h"),
    "jpeg2000": ("openjpeg-*/openjpeg.h",),
    "xcb": ("xcb/xcb.h", "xcb/xproto.h"),
    **{f"python3.{minor}": ("Python.h", "pyconfig.h") for minor in range(10, 16)},
}


def _fetch(key: str, cache: Path) -> Path:
    package = read_header_packages().artefacts()[key]
    return PackageIndex(settings=PipSettings(timeout=60.0)).fetch(package, cache, ignore)


@pytest.mark.parametrize("key", HEADERS)
def test_a_package_is_in_its_archive_and_has_the_headers(key: str, sandbox: Sandbox, tmp_path: Path) -> None:
    directories = unpack_headers(_fetch(key, sandbox.cache), tmp_path)

    for header in HEADERS[key]:
        assert any(True for directory in directories for _ in directory.glob(header)), header
    assert not (directories[0].parent / "lib").exists()


@pytest.mark.parametrize("key", ["jpeg", "python3.11", "python3.13"])
def test_for_another_architecture_they_stand_where_it_has_them(key: str, sandbox: Sandbox, tmp_path: Path) -> None:
    package = _fetch(key, sandbox.cache)
    usual, there = unpack_headers(package, tmp_path), unpack_headers(package, tmp_path, AARCH64)
    assert not {*usual} & {*there}
    assert [path.name for path in usual if path.name.endswith("-gnu")] == [X86_64.target]
    assert [path.name for path in there if path.name.endswith("-gnu")] == [AARCH64.target]
    assert unpack_headers(package, tmp_path) == usual


def _change(header: Path) -> None:
    header.write_text("#error mine\n")


def _add(header: Path) -> None:
    header.with_name("more.h").write_text("int a;\n")


def _link(header: Path) -> None:
    header.unlink()
    header.symlink_to("/etc/passwd")


@pytest.mark.parametrize("spoil", [_change, _add, _link])
def test_headers_that_were_changed_in_the_cache_are_replaced(
    spoil: Callable[[Path], None], sandbox: Sandbox, tmp_path: Path
) -> None:
    package = _fetch("zlib", sandbox.cache)
    include, *_ = unpack_headers(package, tmp_path)
    genuine = {path.name: path.read_bytes() for path in include.iterdir() if path.is_file()}
    spoil(include / "zlib.h")
    unpack_headers(package, tmp_path)
    assert {path.name: path.read_bytes() for path in include.iterdir() if path.is_file()} == genuine
    assert not (include / "zlib.h").is_symlink()


def test_headers_that_are_as_they_were_stay(sandbox: Sandbox, tmp_path: Path) -> None:
    package = _fetch("zlib", sandbox.cache)
    before = unpack_headers(package, tmp_path)[0].stat().st_ino
    assert unpack_headers(package, tmp_path)[0].stat().st_ino == before


def test_headers_come_from_a_mirror_if_the_first_address_is_gone(sandbox: Sandbox, tmp_path: Path) -> None:
    package = read_header_packages().artefacts()["xcb"]
    moved = replace(package, url=f"{package.url}.gone", mirrors=(package.url,))

    path = PackageIndex(settings=PipSettings(timeout=60.0)).fetch(moved, tmp_path, ignore)

    assert path.read_bytes() == _fetch("xcb", sandbox.cache).read_bytes()


def test_offline_headers_come_from_the_cache_and_the_wheelhouse(sandbox: Sandbox, tmp_path: Path) -> None:
    cache, wheelhouse = tmp_path / "cache", tmp_path / "wheels"
    wheelhouse.mkdir()
    _fetch("zlib", cache)
    shutil.copy(_fetch("xcb", sandbox.cache), wheelhouse)
    index = PackageIndex(settings=PipSettings(), wheelhouse=wheelhouse, offline=True, cache=cache)
    recipe = load_recipe("pillow", (recipes_directory(),))

    found = index.releases_for((recipe,), observe_interpreter(Path(sys.executable)))["pillow"].headers

    assert found.keys() == {"zlib", "xcb"}
    assert index.fetch(found["xcb"], cache, ignore).is_relative_to(cache)
