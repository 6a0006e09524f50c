"""Deaths by signal: where each struck is noted, and the process dies of what it would have died of."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.elf.compiler import compile_library
from support.elf.core_per_level import python_on

from fastinstall.model.facts import Runtime
from fastinstall.observe import _fault
from fastinstall.observe.runtime import observe_runtime

DEATHS = """
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
volatile int nothing = 0;
void purpose(void) { __asm__ volatile("ud2"); }
void wide(void) { __asm__ volatile("vpmovzxbw (%%rsi), %%ymm0" :: "S"(&wide)); }
void null(void) { *(volatile int *)0 = 1; }
void zero(void) { nothing = 7 / nothing; }
void cut(void) {
    int file = memfd_create("cut", 0);
    ftruncate(file, 4096);
    volatile char *page = mmap(0, 4096, PROT_READ, MAP_SHARED, file, 0);
    ftruncate(file, 0);
    nothing = page[0];
}
static void *elsewhere(void *unused) { purpose(); return unused; }
void thread(void) { pthread_t other; pthread_create(&other, 0, elsewhere, 0); pthread_join(other, 0); }
void astray(void) { ((void (*)(void))16)(); }
int deep(int depth) { volatile char frame[4096]; frame[0] = depth; return deep(depth + 1) + frame[0]; }
void gives_up(void) { abort(); }
"""
DATA = """
.org 4096
text: .ascii "\\n{\\"event\\": \\"fault\\", \\"address\\": \\""
digits: .ascii "0123456789abcdef\\"}\\n"
maps: .asciz "/proc/self/maps"
buffer: .fill 2048
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library that dies in every way."""
    path = tmp_path_factory.mktemp("deaths") / "libdeaths é.so"
    return compile_library(path, DEATHS, flags=("-O1", "-w", "-lc"))


def die(library: Path, way: str, directory: Path, python: Path = Path(sys.executable)) -> Runtime:
    """Import a PIL that calls a function of the library; the GIL is held meanwhile."""
    (directory / "PIL").mkdir(parents=True)
    (directory / "PIL/__init__.py").write_text("")
    (directory / "PIL/Image.py").write_text(f"import ctypes\nctypes.PyDLL({str(library)!r}).{way}(0)\n")
    return observe_runtime(python, stage=directory, environment=os.environ, quick=True)


@pytest.mark.parametrize(
    ("way", "signal"), [("purpose", "SIGILL"), ("null", "SIGSEGV"), ("zero", "SIGFPE"), ("cut", "SIGBUS")]
)
def test_the_file_and_the_instruction_are_found(library: Path, tmp_path: Path, way: str, signal: str) -> None:
    seen = die(library, way, tmp_path)
    assert (seen.imported, seen.signal, seen.during) == (False, signal, "import")
    assert seen.fault is not None
    assert (seen.fault.file, seen.fault.offset in _extent(library, way)) == (library, True)
    assert library.read_bytes()[seen.fault.offset :].startswith(bytes.fromhex(seen.fault.code))


def test_an_instruction_that_the_cpu_lacks_is_named_with_its_feature(library: Path, tmp_path: Path) -> None:
    seen = die(library, "wide", tmp_path / "stage", python_on("Nehalem", tmp_path))
    assert seen.signal == "SIGILL"
    assert seen.fault is not None
    assert (seen.fault.file, seen.fault.offset in _extent(library, "wide")) == (library, True)
    assert (seen.fault.instruction, seen.fault.features) == ("vpmovzxbw ymm0,[rsi]", ("avx2",))


def test_a_truncated_module_is_named_and_not_the_loader_that_reads_it(tmp_path: Path) -> None:
    source = "const char large[200000] = {1};"  # the dynamic section comes behind it
    module = compile_library(tmp_path / "PIL/_imagingft.so", source)
    os.truncate(module, 100000)
    (tmp_path / "PIL/__init__.py").write_text("")
    (tmp_path / "PIL/Image.py").write_text(f"import ctypes\nctypes.CDLL({str(module)!r})\n")
    seen = observe_runtime(Path(sys.executable), stage=tmp_path, environment=os.environ, quick=True)
    assert seen.signal == "SIGBUS"
    assert seen.fault is not None
    assert seen.fault.file != module
    assert seen.fault.truncated == (module,)


def test_a_death_in_a_thread_that_python_does_not_know_is_told_too(library: Path, tmp_path: Path) -> None:
    seen = die(library, "thread", tmp_path)
    assert (seen.signal, seen.error) == ("SIGILL", "killed by SIGILL")
    assert seen.fault is not None
    assert (seen.fault.file, seen.fault.instruction) == (library, "ud2")


def test_a_jump_to_where_no_code_is_has_no_file(library: Path, tmp_path: Path) -> None:
    seen = die(library, "astray", tmp_path)
    assert seen.signal == "SIGSEGV"
    assert seen.fault is not None
    assert (seen.fault.file, seen.fault.code) == (None, "")


@pytest.mark.parametrize(("way", "signal"), [("deep", "SIGSEGV"), ("gives_up", "SIGABRT")])
def test_where_no_place_can_be_told_the_signal_is_the_same(
    library: Path, tmp_path: Path, way: str, signal: str
) -> None:
    seen = die(library, way, tmp_path)
    assert (seen.signal, seen.fault, seen.during) == (signal, None, "import")


def test_the_listing_is_what_the_assembler_makes_of_it(tmp_path: Path) -> None:
    made = tmp_path / "handler.o"
    distance, listing = _fault.CODES["x86_64"]
    lines = (re.sub(r"^[0-9a-f]+ +", "", line) for line in listing.splitlines())
    source = ".intel_syntax noprefix\n" + "\n".join(lines) + DATA
    subprocess.run(("as", "-o", made), input=source, text=True, check=True)
    subprocess.run(("objcopy", "-O", "binary", "-j", ".text", made), check=True)
    assembled, code = made.read_bytes(), _fault.machine_code(listing)
    assert assembled[: len(code)] == code
    assert not any(assembled[len(code) : distance])
    assert assembled[distance:].startswith(_fault.TEXT + _fault.MAPS)


def _extent(library: Path, function: str) -> range:
    """Where a function lies; in this library offsets in the file are addresses."""
    lines = subprocess.run(("nm", "-DS", library), capture_output=True, text=True, check=True).stdout.splitlines()
    start, size = (int(word, 16) for word in next(line.split()[:2] for line in lines if line.endswith(f" {function}")))
    return range(start, start + size)
