"""ELF files from the real linker, read whole and damaged."""

import os
import re
import subprocess
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from support.elf.compiler import compile_library, rpath, runpath

from fastinstall.elf.dynamic import read_dynamic
from fastinstall.elf.image import ElfError
from fastinstall.elf.lookup import find_all_definitions
from fastinstall.elf.symbols import compiler_switches, find_defined_names, measure_unoptimised_share

FUNCTIONS = "\n".join(
    f"int scale_{number}(int *values, int count) {{\n"
    f"  int sum = {number};\n"
    f"  for (int i = 0; i < count; i++) sum += values[i] * {number + 3};\n"
    "  return sum;\n}\n"
    for number in range(30)
)
SMALL = "static int hidden(int x) { return x * 3; }\nint shown(int x) { return hidden(x) + 1; }\n"


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("small")
    needed = compile_library(directory / "libneeded.so.1")
    flags = (*runpath("$ORIGIN"), "-O0", "-frecord-gcc-switches", "-Wl,-z,x86-64-v3", "-Wl,--build-id=sha1")
    return compile_library(directory / "libsmall.so.2", SMALL, needs=(needed,), flags=flags)


def test_what_the_linker_wrote_is_read(small: Path) -> None:
    file = read_dynamic(small)
    assert (file.machine, file.interpreter) == ("x86_64", None)
    assert (file.soname, file.needed) == ("libsmall.so.2", ("libneeded.so.1",))
    assert (file.rpath, file.runpath) == (None, "$ORIGIN")
    assert file.isa_needed == "x86-64-v3"
    notes = subprocess.run(["readelf", "-n", small], capture_output=True, text=True, check=True).stdout
    assert f"Build ID: {file.build_id}\n" in notes


def test_rpath_is_told_from_runpath(tmp_path: Path) -> None:
    file = read_dynamic(compile_library(tmp_path / "libold.so", flags=rpath("/opt/lib")))
    assert (file.rpath, file.runpath) == ("/opt/lib", None)


@pytest.mark.parametrize("level", ["x86-64-baseline", "x86-64-v2", "x86-64-v4"])
def test_the_level_of_the_linkers_note_is_read(tmp_path: Path, level: str) -> None:
    file = read_dynamic(compile_library(tmp_path / "liblevel.so", flags=(f"-Wl,-z,{level}",)))
    assert file.isa_needed == level.replace("baseline", "v1")


def test_a_truncated_library_gives_an_elf_error_or_a_full_answer(small: Path, tmp_path: Path) -> None:
    path = tmp_path / small.name
    whole = small.read_bytes()
    path.write_bytes(whole)
    answer = read_dynamic(small)
    segments_end = _end_of_segments(small)
    for length in [*range(len(whole) - 1, 0x600, -11), *reversed(range(0x600))]:
        os.truncate(path, length)
        if length >= segments_end:
            assert read_dynamic(path) == answer
            continue
        with pytest.raises(ElfError):
            read_dynamic(path)


def test_symbols_of_a_real_library(small: Path) -> None:
    assert find_defined_names(small, ("shown", "hidden", "how", "hid")) == {"shown", "hidden"}


@pytest.mark.parametrize(
    ("flags", "low", "high"),
    [
        (("-O0",), 1.0, 1.0),
        (("-O0", "-fcf-protection"), 1.0, 1.0),
        (("-O3",), 0.0, 0.0),
        (("-O2", "-fno-omit-frame-pointer", "-fcf-protection"), 0.0, 0.1),
        (("-O3", "-march=x86-64-v3", "-fno-omit-frame-pointer"), 0.0, 0.1),
    ],
)
def test_an_unoptimised_build_is_told_by_its_functions(
    tmp_path: Path, flags: tuple[str, ...], low: float, high: float
) -> None:
    library = compile_library(tmp_path / "libscale.so", FUNCTIONS, flags=flags)
    share = measure_unoptimised_share(library)
    assert share is not None
    assert low <= share <= high


def test_hidden_functions_count_where_none_is_exported(tmp_path: Path) -> None:
    library = compile_library(tmp_path / "libscale.so", FUNCTIONS, flags=("-O0", "-fvisibility=hidden"))
    assert set(find_all_definitions(library, ("shown", "hidden")).values()) == {()}
    assert measure_unoptimised_share(library) == 1.0
    subprocess.run(["strip", library], check=True)
    assert measure_unoptimised_share(library) is None


def test_recorded_switches_are_read(tmp_path: Path) -> None:
    flags = ("-O3", "-march=x86-64-v3", "-frecord-gcc-switches")
    (line,) = compiler_switches(compile_library(tmp_path / "libscale.so", FUNCTIONS, flags=flags))
    assert re.match(r"GNU C\d+ .*-march=x86-64-v3", line)
    assert "-O3" in line.split()
    assert compiler_switches(compile_library(tmp_path / "libplain.so", FUNCTIONS)) == ()


def _end_of_segments(path: Path) -> int:
    with path.open("rb") as stream:
        return max(
            segment["p_offset"] + segment["p_filesz"]
            for segment in ELFFile(stream).iter_segments()
            if segment["p_type"] == "PT_LOAD"
        )
