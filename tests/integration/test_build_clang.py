"""clang from the package index: it is unpacked, accepts other compilers' options, and builds programs that run."""

import os
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from support.build.tiny_library import library_request, library_sdist
from support.machine.needs import require_system

from fastinstall.compilers.clang import COMPILER
from fastinstall.core.events import ignore
from fastinstall.elf.dynamic import read_dynamic
from fastinstall.elf.lookup import read_versions
from fastinstall.elf.symbols import compiler_switches
from fastinstall.index.client import ask_indexes
from fastinstall.index.offers import PackageIndex
from fastinstall.index.pip import pip_settings
from fastinstall.model.machine import Compiler
from fastinstall.wheelbuild.own_code import mark_text
from fastinstall.wheelbuild.static_libraries import build_static, list_global_symbols

EMPTY = {"PATH": "/nonexistent"}
MODULE = """
#include <immintrin.h>
#include <math.h>
#include <string.h>
__attribute__((visibility("hidden"))) double inside(double x) { return sin(x); }
void copy(char *to, const char *from, double x) { memcpy(to, from, (size_t)inside(x)); }
"""
LOADED = "import ctypes, sys; ctypes.CDLL(sys.argv[1]); print('loaded')"
OLDEST_GLIBC = (2, 27)


@dataclass(frozen=True, slots=True)
class Clang:
    """A clang that was unpacked in a cache."""

    program: Path

    def run(self, *words: str | Path) -> str:
        """Run clang without environment variables, even without PATH; return its output."""
        argv = (self.program, *words)
        return subprocess.run(argv, env=EMPTY, check=True, capture_output=True, text=True).stdout

    def link(self, source: Path, *words: str | Path) -> Path:
        made = source.with_suffix(".so")
        self.run("-O2", "-march=x86-64-v3", "-fPIC", "-shared", source, *words, "-o", made)
        return made


def exported(made: Path) -> set[str]:
    listing = subprocess.run(["nm", "-D", "--defined-only", made], check=True, capture_output=True, text=True).stdout
    return {line.split()[-1] for line in listing.splitlines()}


@pytest.fixture(scope="module")
def clang(shared_cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Clang:
    """Return clang, unpacked in a cache whose path has a space."""
    settings = replace(pip_settings(Path(sys.executable), os.environ), timeout=30.0)
    offered = ask_indexes(
        settings,
        (COMPILER.distribution,),
        lambda name: "-0.17.1-" in name and "manylinux_2_12_x86_64" in name,
    )
    wheel = PackageIndex(settings=settings).fetch(offered[0], shared_cache, ignore)
    return Clang(COMPILER.prepare(wheel, tmp_path_factory.mktemp("a cache"), ignore))


@pytest.fixture
def module(tmp_path: Path) -> Path:
    source = tmp_path / "module.c"
    source.write_text(MODULE)
    return source


def test_clang_needs_no_system_program_and_targets_an_old_glibc(clang: Clang, module: Path) -> None:
    made = clang.link(module)
    assert exported(made) == {"copy"}
    needed = [name for names in read_versions(made).needed.values() for name in names]
    assert needed
    for name in needed:
        assert tuple(map(int, name.removeprefix("GLIBC_").split("."))) <= OLDEST_GLIBC
    assert subprocess.run([sys.executable, "-c", LOADED, made], check=False).returncode == 0


def test_it_makes_the_same_bytes_in_another_place(clang: Clang, module: Path, tmp_path: Path) -> None:
    other = tmp_path / "elsewhere" / "module.c"
    other.parent.mkdir()
    other.write_text(MODULE)
    made = [clang.link(source, f"-ffile-prefix-map={source.parent}=.").read_bytes() for source in (module, other)]
    assert made[0] == made[1]
    assert str(clang.program.parent).encode() not in made[0]


def test_level_and_switches_are_marked_without_linker_support(clang: Clang, module: Path) -> None:
    require_system(Path("/usr/bin/qemu-x86_64").exists(), "qemu-user")
    source = module.with_name("marks.s")
    source.write_text(mark_text("x86-64-v3", "clang 22 -O3 -march=x86-64-v3"))
    made = clang.link(module, source)
    assert read_dynamic(made).isa_needed == "x86-64-v3"
    assert compiler_switches(made) == ("clang 22 -O3 -march=x86-64-v3",)
    said = {}
    for cpu in ("Nehalem", "Haswell"):
        argv = ("qemu-x86_64", "-cpu", cpu, sys.executable, "-I", "-S", "-c", LOADED, made)
        answer = subprocess.run(argv, capture_output=True, text=True, check=False)
        said[cpu] = answer.stdout + answer.stderr
    assert "CPU ISA level is lower" in said["Nehalem"]
    assert "loaded" in said["Haswell"]


def test_clang_archives_a_static_library_that_stays_hidden(clang: Clang, module: Path, tmp_path: Path) -> None:
    version = clang.run("--version").partition("\n")[0]
    compiler = Compiler(command=(str(clang.program),), version=version, accepts=())
    library = build_static(library_request(tmp_path, library_sdist(tmp_path), compiler=compiler), "tiny")
    assert "tiny_two" in list_global_symbols(library.archive)
    module.write_text("int tiny_two(void);\nint three(void) { return tiny_two() + 1; }\n")
    assert exported(clang.link(module, library.archive)) == {"three"}


def test_clang_finds_a_system_library_and_echoes_a_missing_one(clang: Clang) -> None:
    found = Path(clang.run("-print-file-name=libc.so.6").strip())
    assert found.is_absolute()
    assert found.exists()
    assert clang.run("-print-file-name=libnone.so.7") == "libnone.so.7\n"


def test_clang_leaves_files_only_in_a_builds_temporary_directory(clang: Clang, module: Path, tmp_path: Path) -> None:
    ours, others = tmp_path / "fastinstall-build-1", tmp_path / "tmp"
    for directory in (ours, others):
        directory.mkdir()
        variables = {**EMPTY, "TMPDIR": str(directory)}
        made = module.with_suffix(".o")
        subprocess.run([clang.program, "-c", module, "-o", made], env=variables, check=True)
        made.unlink()
    assert list(ours.iterdir())
    assert not list(others.iterdir())
