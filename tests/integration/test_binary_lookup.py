"""Definitions and references in files from the real linker, and how the real loader binds them."""

import ctypes
import json
import subprocess
import sys
from pathlib import Path

import pytest
from support.elf.compiler import compile_library
from support.elf.linked_files import link_library, link_plain_library, link_program

from fastinstall.elf.lookup import (
    Definition,
    Reference,
    SymbolVersions,
    definition_for,
    find_all_definitions,
    find_definitions,
    read_versions,
    references,
)

CALL = "int scale(int); int call(int x) { return scale(x); }"
CALL_IN_FRESH_PROCESS = """
import ctypes, json, sys
ctypes.CDLL(sys.argv[1], ctypes.RTLD_GLOBAL)
print(json.dumps([ctypes.CDLL(path).call(1) for path in sys.argv[2:]]))
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return link_library(tmp_path_factory.mktemp("versioned"))


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return link_plain_library(tmp_path_factory.mktemp("plain"), "-Wl,--hash-style=sysv")


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory, library: Path) -> Path:
    return link_program(tmp_path_factory.mktemp("program"), library)


def test_all_that_others_can_bind_to_is_found(library: Path) -> None:
    names = ("scale", "shown", "both", "count", "shared", "by_cpu", "copy", "hidden", "pick", "strlen", "missing")
    assert {name: versions_of(found) for name, found in find_all_definitions(library, names).items()} == {
        "scale": {"OLD_1": True, "NEW_2": False},
        "shown": {"OLD_1": False},
        "both": {"NEW_2": False},
        "count": {"NEW_2": False},
        "shared": {"OLD_1": False},
        "by_cpu": {"OLD_1": False},
        "copy": {"OLD_1": False},
        **{name: {} for name in ("hidden", "pick", "strlen", "missing")},
    }


def test_an_old_hash_table_leads_to_the_same_names(plain: Path) -> None:
    assert find_definitions(plain, "count") == (Definition(name="count"),)
    assert [find_definitions(plain, name) for name in ("hidden", "strlen", "nothing")] == [(), (), ()]


def test_references_are_read_with_version_library_and_weakness(library: Path) -> None:
    found = references(library)
    assert found["memcpy"] == Reference(name="memcpy", version="GLIBC_2.14")
    assert found["pow"] == Reference(name="pow", version="GLIBC_2.29")
    assert found["missing"] == Reference(name="missing")
    assert "scale" not in found


def test_versions_are_those_of_the_script(library: Path) -> None:
    versions = read_versions(library)
    assert versions.defined == ("OLD_1", "NEW_2")
    assert versions.needed["libm.so.6"] == ("GLIBC_2.29",)
    assert read_versions(compile_library(library.with_name("libnone.so"))) == SymbolVersions()


def test_copied_data_is_a_definition_and_a_plt_address_is_not(program: Path) -> None:
    assert find_definitions(program, "shared") == (Definition(name="shared", version="OLD_1", oldest=False),)
    assert find_definitions(program, "copy") == ()
    assert references(program)["copy"] == Reference(name="copy", version="OLD_1")


def test_a_program_that_exports_nothing_has_references(tmp_path: Path) -> None:
    """The number of symbols cannot be taken from the hash table, which is empty in such a program."""
    path = tmp_path / "program"
    source = '#include <stdio.h>\nint main(void) { return puts(""); }'
    subprocess.run(["gcc", "-x", "c", "-", "-o", path], input=source, text=True, check=True)
    assert {"puts", "__libc_start_main"} <= references(path).keys()


def test_the_real_loader_binds_as_foreseen(library: Path, plain: Path, tmp_path: Path) -> None:
    """A binary linked to the unversioned library gets the oldest definition; one linked to `library`, the default."""
    users = [
        compile_library(tmp_path / "libold.so", CALL, needs=(plain,)),
        compile_library(tmp_path / "libnew.so", CALL, needs=(library,)),
    ]
    command: list[str | Path] = [sys.executable, "-S", "-c", CALL_IN_FRESH_PROCESS, library, *users]
    results = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    chosen = [definition_for(find_definitions(library, "scale"), references(user)["scale"]) for user in users]
    assert [one.version if one else None for one in chosen] == ["OLD_1", "NEW_2"]
    assert results == [1, 6]


def test_a_definition_is_found_exactly_where_dlsym_finds_one() -> None:
    handle = ctypes.CDLL("libz.so.1")
    path = next(Path(line.split()[-1]) for line in Path("/proc/self/maps").read_text().splitlines() if "/libz." in line)
    for name in ("inflate", "deflateInit_", "crc32", "gzopen64", "no_such_name"):
        assert bool(find_definitions(path, name)) == hasattr(handle, name), name


def versions_of(definitions: tuple[Definition, ...]) -> dict[str, bool]:
    """Return for each version whether it is hidden."""
    return {definition.version: definition.hidden for definition in definitions}
