"""The simulated loader compared with the real loader: both find the same libraries, or both refuse."""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from support.elf.compiler import compile_library, really_loaded, rpath, runpath

from fastinstall.elf.loader.process_settings import usable_hwcaps
from fastinstall.elf.loader.simulation import resolve_libraries

Link = Callable[[str], tuple[str, ...]]


def compare(path: Path, environment: Mapping[str, str] | None = None) -> list[Path]:
    """Assert that simulation and loader agree; return the libraries found in the test's directory, in order."""
    library_path = tuple(map(Path, (environment or {}).get("LD_LIBRARY_PATH", "").split(":")))
    libraries = resolve_libraries(
        path,
        main=Path(sys.executable),
        library_path=library_path if environment else (),
        hwcaps=usable_hwcaps("x86-64-v2"),
    )
    loaded, error = really_loaded(path, environment)
    missing = [library for library in libraries if library.path is None]
    if missing:
        assert error, f"the loader found {missing}"
        assert any(library.soname in error for library in missing)
        return []
    assert not error
    found = [library.path.resolve() for library in libraries if library.path is not None]
    assert {file for file in loaded if file != path.resolve()} <= set(found)
    own = [file for file in found if file.is_relative_to(_top(path))]
    assert set(own) | {path.resolve()} == {file for file in loaded if file.is_relative_to(_top(path))}
    return own


def _top(path: Path) -> Path:
    """Return the test's directory: the nearest parent named "tree"."""
    return next(parent for parent in path.parents if parent.name == "tree")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return tmp_path / "tree"


def test_origin(tree: Path) -> None:
    library = compile_library(tree / "pillow.libs" / "liba.so.1")
    for link in (rpath, runpath):
        flags = link("$ORIGIN/../pillow.libs")
        core = compile_library(tree / "PIL" / f"{link.__name__}.so", needs=(library,), flags=flags)
        assert compare(core) == [library]


@pytest.mark.parametrize(("link", "resolves"), [(rpath, True), (runpath, False)])
def test_rpath_is_inherited_and_runpath_is_not(tree: Path, link: Link, *, resolves: bool) -> None:
    deep = compile_library(tree / "libs" / "libdeep.so.1")
    library = compile_library(tree / "libs" / "liba.so.1", needs=(deep,))
    core = compile_library(tree / "core.so", needs=(library,), flags=link("$ORIGIN/libs"))
    assert compare(core) == ([library, deep] if resolves else [])


def test_a_missing_library(tree: Path) -> None:
    library = compile_library(tree / "libs" / "liba.so.1")
    core = compile_library(tree / "core.so", needs=(library,), flags=runpath("$ORIGIN/libs"))
    library.unlink()
    assert compare(core) == []


def test_a_level_directory_goes_before_the_plain_one(tree: Path) -> None:
    plain = compile_library(tree / "libs" / "liba.so.1")
    level = compile_library(tree / "libs" / "glibc-hwcaps" / "x86-64-v2" / "liba.so.1")
    core = compile_library(tree / "core.so", needs=(plain,), flags=runpath("$ORIGIN/libs"))
    assert compare(core) == [level]


@pytest.mark.parametrize(("link", "winner"), [(rpath, "own"), (runpath, "environment")])
def test_library_path(tree: Path, link: Link, winner: str) -> None:
    libraries = {name: compile_library(tree / name / "liba.so.1") for name in ("own", "environment")}
    core = compile_library(tree / "core.so", needs=(libraries["own"],), flags=link("$ORIGIN/own"))
    assert compare(core, {"LD_LIBRARY_PATH": str(tree / "environment")}) == [libraries[winner]]


def test_a_damaged_library_ends_the_search(tree: Path) -> None:
    right = compile_library(tree / "two" / "liba.so.1")
    core = compile_library(tree / "core.so", needs=(right,), flags=runpath("$ORIGIN/one:$ORIGIN/two"))
    (tree / "one").mkdir()
    (tree / "one" / "liba.so.1").write_bytes(b"")
    assert compare(core) == []


def test_system_libraries_are_found_through_the_loaders_cache(tree: Path) -> None:
    core = compile_library(tree / "core.so", flags=("-l:libz.so.1", "-l:libc.so.6"))
    names = [library.soname for library in resolve_libraries(core, main=Path(sys.executable))]
    assert names[:2] == ["libz.so.1", "libc.so.6"]
    assert compare(core) == []


def test_a_library_linked_nodefaultlib_finds_no_system_library(tree: Path) -> None:
    # The core needs libresolv because no Python is linked to it: a library that Python itself has loaded would be found
    # in spite of -z nodefaultlib.
    core = compile_library(tree / "core.so", flags=("-l:libresolv.so.2", "-Wl,-z,nodefaultlib"))
    (library,) = resolve_libraries(core, main=Path(sys.executable))
    assert (library.soname, library.path) == ("libresolv.so.2", None)
    assert compare(core) == []
