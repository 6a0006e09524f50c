"""Libraries from real wheels: every kind of libjpeg, shared and static, and the one that PIL is bound to.

Needs a package index. Downloads are kept in FASTINSTALL_TEST_CACHE if it is set.
"""

import os
import re
import subprocess
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.elf.compiler import compile_library, runpath
from support.elf.jpeg_libraries import CONDA, MODULES
from support.environments.interpreters import running
from support.index.cached_files import fetched
from support.sandbox import NewSandbox, Venv

from fastinstall.core.files import sha256
from fastinstall.elf.description import Linkage
from fastinstall.elf.libraries import Identity, identify
from fastinstall.elf.linkage import ENTRY_POINTS, read_linkage
from fastinstall.elf.loader.process_settings import ProcessSettings

STATIC = "simplejpeg-1.9.0-cp311-cp311-manylinux2014_x86_64.manylinux_2_17_x86_64.manylinux_2_28_x86_64.whl"
NG = "zlib_ng-1.1.0-cp311-cp311-manylinux2014_x86_64.manylinux_2_17_x86_64.manylinux_2_28_x86_64.whl"
IJG = {
    "6b": "62",
    "7": "70",
    "8": "80",
    "8a": "80",
    "8b": "80",
    "8c": "80",
    "8d": "80",
    "9": "90",
    "9a": "90",
    "9b": "90",
    "9c": "90",
    "9d": "90",
    "9e": "90",
    "9f": "90",
}
TURBO = {"120": "1.2", "130": "1.3", "140": "1.4", "150": "1.5.0", "200": "2.0.0", "210": "2.1.0"}
MOZJPEG = {"201": "2", "300": "3", "403": "4.0.3"}
JPEGS = {
    **{name: ("IJG libjpeg", name, abi) for name, abi in IJG.items()},
    **{f"turbo{name}": ("libjpeg-turbo", version, "70") for name, version in TURBO.items()},
    **{f"mozjpeg{name}": ("mozjpeg", version, "70") for name, version in MOZJPEG.items()},
}
"""Modules of `jpeglib` by name: implementation, version and interface of their libjpeg."""

OWN_WORDS = {"tiff": "libtiff", "openjpeg": "jpg_2000", "webp": "webp", "lcms2": "littlecms2"}
"""Names in `PIL.features` of the libraries that report their own version, without FreeType."""

_SAY = "import json, sys; from PIL import features; print(json.dumps({n: features.version(n) for n in sys.argv[1:]}))"
_OPEN = "import ctypes, sys; [ctypes.CDLL(path) for path in sys.argv[1:]]"
_BOUND = re.compile(r"binding file (\S+) \[0\] to (\S+) \[0\]: normal symbol `(\w+)'")


@pytest.fixture(scope="module")
def wheels(shared_cache: Path) -> dict[str, Path]:
    """Return the downloaded wheels by name."""
    return fetched(shared_cache, MODULES, CONDA, STATIC, NG)


@pytest.fixture(scope="module")
def stock(new_sandbox: NewSandbox) -> Iterator[Venv]:
    """Yield an environment into which uv has installed Pillow's official wheel."""
    with new_sandbox() as sandbox:
        venv = sandbox.venv(running(), pip=False)
        installed = venv.uv("install", "pillow")
        assert installed.exit_code == 0, installed.text
        yield venv


@pytest.fixture(scope="module")
def modules(stock: Venv) -> tuple[Path, ...]:
    """Return PIL's extension modules, the core first."""
    others = sorted(set(stock.site_packages.glob("PIL/*.so")) - {stock.core})
    return stock.core, *others


@pytest.fixture(scope="module")
def linkage(stock: Venv, modules: tuple[Path, ...]) -> Linkage:
    """Return the libraries that a process would load with these modules."""
    return read_linkage(modules, ProcessSettings(program=stock.python))


def of_member(wheel: Path, pattern: str, directory: Path) -> tuple[Identity, ...]:
    """Identify the libraries in the only file of a wheel that matches the pattern."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if re.search(pattern, name))
        return identify(Path(archive.extract(name, directory)))


@pytest.mark.parametrize("name", JPEGS)
def test_each_libjpeg_but_mozjpeg_1_is_told(wheels: dict[str, Path], tmp_path: Path, name: str) -> None:
    implementation, version, abi = JPEGS[name]
    (found,) = of_member(wheels[MODULES], rf"cjpeglib_{name}\.abi3\.so$", tmp_path)
    assert (found.kind, found.implementation, found.version) == ("jpeg", implementation, version)
    assert (found.abi, found.simd) == (abi, False)


def test_a_libjpeg_that_is_hidden_in_a_module_is_told(wheels: dict[str, Path], tmp_path: Path) -> None:
    (found,) = of_member(wheels[STATIC], r"_jpeg\..*\.so$", tmp_path)
    assert (found.implementation, found.version, found.abi) == ("libjpeg-turbo", "3.1.2", "62")
    assert (found.simd, found.inside) == (True, True)


@pytest.mark.parametrize(
    ("wheel", "pattern", "expected"),
    [
        (CONDA, r"/libjpeg\.", "jpeg: libjpeg-turbo 3.1.3"),
        (CONDA, r"/libz\.", "zlib: zlib 1.3.2"),
        (CONDA, r"/libwebp\.", "webp: libwebp 1.6.0"),
        (NG, r"/zlib_ng\.cpython", "zlib: zlib-ng 2.3.3"),
    ],
)
def test_what_other_wheels_bring_is_told(
    wheels: dict[str, Path], tmp_path: Path, wheel: str, pattern: str, expected: str
) -> None:
    (found,) = of_member(wheels[wheel], pattern, tmp_path)
    assert f"{found.kind}: {found.implementation} {found.version}" == expected


@pytest.mark.parametrize("pattern", [r"/image_stable\.so$", r"/libpng16\.", r"/libsharpyuv\."])
def test_what_only_uses_them_is_none_of_them(wheels: dict[str, Path], tmp_path: Path, pattern: str) -> None:
    assert of_member(wheels[CONDA], pattern, tmp_path) == ()


def test_the_libraries_of_a_stock_wheel_are_all_told(linkage: Linkage) -> None:
    assert (linkage.problem, linkage.missing) == ("", ())
    codecs = {codec.kind: codec.library for codec in linkage.codecs}
    assert set(codecs) == set(ENTRY_POINTS)
    assert len(linkage.codecs) == len(codecs)
    assert (codecs["jpeg"].implementation, codecs["jpeg"].simd, codecs["jpeg"].abi) == ("libjpeg-turbo", True, "62")
    assert re.fullmatch(r"\d+\.\d+\.\d+", codecs["jpeg"].version)
    assert codecs["jpeg"].sha256 == sha256(Path(codecs["jpeg"].path or ""))


def test_their_versions_are_those_that_they_give_themselves(stock: Venv, linkage: Linkage) -> None:
    said = stock.run("-c", _SAY, *OWN_WORDS.values()).document
    told = {codec.kind: codec.library.version for codec in linkage.codecs}
    assert {kind: told[kind] for kind in OWN_WORDS} == {kind: said[name] for kind, name in OWN_WORDS.items()}


def test_the_hosts_zlib_is_bound_not_the_one_from_compile_time(stock: Venv, linkage: Linkage) -> None:
    (found,) = (codec for codec in linkage.codecs if codec.kind == "zlib")
    assert b".zlib-ng\0" in stock.core.read_bytes()
    assert stock.core in found.users
    assert not found.library.path or not found.library.path.is_relative_to(stock.prefix)


def test_libtiff_is_bound_to_the_same_libjpeg_as_the_core(linkage: Linkage) -> None:
    (found,) = (codec for codec in linkage.codecs if codec.kind == "jpeg")
    assert [user.name.partition("-")[0].partition(".")[0] for user in found.users] == ["_imaging", "libtiff"]


def test_bindings_are_those_of_the_real_loader(
    stock: Venv, modules: tuple[Path, ...], linkage: Linkage, tmp_path: Path
) -> None:
    mine = {(str(each.user), each.symbol): str(each.provider) for each in linkage.bindings}
    assert mine == dict(_really_bound(stock, modules, tmp_path))


def _really_bound(stock: Venv, modules: tuple[Path, ...], directory: Path) -> Iterator[tuple[tuple[str, str], str]]:
    """Yield the real loader's bindings of codecs' entry points: ((using file, symbol), providing file), as paths."""
    report = directory / "bindings"
    variables = {**os.environ, "LD_BIND_NOW": "1", "LD_DEBUG": "bindings", "LD_DEBUG_OUTPUT": str(report)}
    subprocess.run((stock.python, "-S", "-c", _OPEN, *modules), env=variables, check=True)
    (written,) = directory.glob("bindings.*")
    program = str(stock.python.resolve())
    entries = {symbol for symbols in ENTRY_POINTS.values() for symbol in symbols}
    for line in written.read_text().splitlines():
        found = _BOUND.search(line)
        if found and found[3] in entries and found[1] != found[2]:
            # The loader's report names the program by the path with which the program was started.
            user = program if found[1] == str(stock.python) else os.path.normpath(found[1])
            yield (user, found[3]), os.path.normpath(found[2])


def test_a_symbol_name_stored_as_the_tail_of_another_is_found(tmp_path: Path) -> None:
    zlib = compile_library(tmp_path / "libz.so.1", "int inflate(void) { return 1; }")
    source = "int my_inflate(void); int inflate(void); int use(void) { return my_inflate() + inflate(); }"
    user = compile_library(tmp_path / "user.so", source, needs=[zlib], flags=runpath("$ORIGIN"))
    program = Path("/bin/true").resolve()  # not Python: Debian's contains its own libz, whose symbols would come first
    linkage = read_linkage((user,), ProcessSettings(program=program))
    (binding,) = (binding for binding in linkage.bindings if binding.user == user)
    assert (binding.symbol, binding.provider) == ("inflate", zlib)
