"""The CPU features that scanned code requires, with a dispatcher or without; LZCNT and TZCNT on old CPUs."""

import shutil
import subprocess
from pathlib import Path

import pytest
from support.machine.needs import require_system

from differential.isa_builds import compile_c, machine
from fastinstall.doctor.checks.isa_compatible import CpuOutcome, judge
from fastinstall.elf.description import Confidence, IsaScan
from fastinstall.elf.isa.verdict import scan_isa

KERNELS = """
#include <immintrin.h>
#define INSIDE __attribute__((noinline, visibility("hidden")))
INSIDE __attribute__((target("avx2"))) void with_avx2(int *a) {
    _mm256_storeu_si256((void *)a, _mm256_add_epi32(_mm256_loadu_si256((void *)a), _mm256_set1_epi32(3)));
}
INSIDE __attribute__((target("avx512f"))) void with_avx512(int *a) {
    _mm512_storeu_si512(a, _mm512_add_epi32(_mm512_loadu_si512(a), _mm512_set1_epi32(3)));
}
INSIDE void plain(int *a) { for (int i = 0; i < 8; i++) a[i] += 3; }
"""
SUPPORTED = """
void run(int *a) {
    if (__builtin_cpu_supports("avx512f")) with_avx512(a);
    else if (__builtin_cpu_supports("avx2")) with_avx2(a);
    else plain(a);
}
"""
TABLE = """
#include <cpuid.h>
struct table { void (*run)(int *); };
static void stub(int *);
static struct table table = {stub};
static __attribute__((noinline)) int level(void) {
    unsigned a, b, c, d;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return 0;
    return b >> 16 & 1 ? 2 : b >> 5 & 1;
}
static __attribute__((noinline)) void fill(void) {
    struct table found = {plain};
    int known = level();
    if (known) found.run = with_avx2;
    if (known == 2) found.run = with_avx512;
    table = found;
}
static void stub(int *a) { fill(); table.run(a); }
void run(int *a) { table.run(a); }
"""
CLONES = """
__attribute__((target_clones("default", "avx2", "avx512f"))) void run(int *restrict a, int *restrict b) {
    for (int i = 0; i < 64; i++) a[i] += b[i];
}
"""
POINTER = """
#include <cpuid.h>
static int ask(int what) {
    unsigned a, b, c, d;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && b >> what & 1;
}
int (*cpu_has)(int) = ask;
void run(int *a) { if (cpu_has(16)) with_avx512(a); else if (cpu_has(5)) with_avx2(a); else plain(a); }
"""
AUXILIARY = """
#include <sys/auxv.h>
void run(int *a) { if (getauxval(AT_HWCAP2) & 2) with_avx512(a); else if (getauxval(AT_HWCAP) & 4) with_avx2(a); }
"""
INDEXED = """
#include <cpuid.h>
static __attribute__((noinline)) int level(void) {
    unsigned a, b, c, d;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return 0;
    return b >> 16 & 1 ? 2 : b >> 5 & 1;
}
static void (*const table[])(int *) = {plain, with_avx2, with_avx512};
void run(int *a) { table[level()](a); }
"""
MISTAKE = """
#include <immintrin.h>
__attribute__((target("avx2"))) void mistake(int *a) {
    _mm256_storeu_si256((void *)a, _mm256_abs_epi32(_mm256_loadu_si256((void *)a)));
}
"""
DISPATCHERS = {
    "indexed": KERNELS + INDEXED,
    "auxiliary": KERNELS + AUXILIARY,
    "cpu_supports": KERNELS + SUPPORTED,
    "table": KERNELS + TABLE,
    "clones": CLONES,
    "pointer": KERNELS + POINTER,
}
LIBRARY = ("-shared", "-fPIC", "-ftree-vectorize")
LZCNT = """
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv) { printf("%d", __builtin_clz((unsigned)atoi(argv[1]))); return 0; }
"""


@pytest.fixture(autouse=True)
def gcc() -> None:
    require_system(shutil.which("gcc"), "gcc")


def scanned(directory: Path, source: str, *flags: str) -> IsaScan:
    return scan_isa(compile_c(source, directory / "module.so", *LIBRARY, *flags))


def scanned_with_and_without_symbols(directory: Path, source: str) -> tuple[IsaScan, IsaScan]:
    whole = compile_c(source, directory / "module.so", *LIBRARY)
    bare = directory / "stripped.so"
    subprocess.run(("strip", "-s", "-o", bare, whole), check=True)
    return scan_isa(whole), scan_isa(bare)


@pytest.mark.parametrize("dispatcher", DISPATCHERS)
def test_what_a_dispatcher_chooses_is_contained(tmp_path: Path, dispatcher: str) -> None:
    for found in scanned_with_and_without_symbols(tmp_path, DISPATCHERS[dispatcher]):
        assert {"avx2", "avx512f"} <= set(found.contains), found.evidence
        assert (found.requires, found.level, found.confidence) == ((), "x86-64-v1", Confidence.LIKELY)


@pytest.mark.parametrize("dispatcher", DISPATCHERS)
def test_what_runs_unasked_beside_a_dispatcher_is_required(tmp_path: Path, dispatcher: str) -> None:
    """The file also exports a function that was compiled for AVX2 by mistake and that no dispatcher guards."""
    for found in scanned_with_and_without_symbols(tmp_path, DISPATCHERS[dispatcher] + MISTAKE):
        assert "avx2" in found.requires, found.evidence
        assert "avx512f" in found.contains


@pytest.mark.parametrize("packing", ["nopack", "pack"])
def test_what_only_a_table_of_pointers_leads_to_runs_unasked(tmp_path: Path, packing: str) -> None:
    """Methods of extension modules are called through such tables.

    The option -z pack-relative-relocs moves the relocations of the tables to DT_RELR.
    """
    methods = "static void method(int *a) { mistake(a); }\nvoid (*const methods[])(int *) = {method, method};"
    source = DISPATCHERS["table"] + MISTAKE.replace("void mistake", "INSIDE void mistake") + methods
    found = scanned(tmp_path, source, f"-Wl,-z,{packing}-relative-relocs")
    assert "avx2" in found.requires
    assert "avx512f" in found.contains


@pytest.mark.parametrize("dispatcher", ["cpu_supports", "table", "pointer"])
def test_a_dispatcher_in_code_that_is_all_for_avx2_saves_nothing(tmp_path: Path, dispatcher: str) -> None:
    work = "void work(float *a, float *b) { for (int i = 0; i < 64; i++) a[i] = a[i] * b[i] + 1.5f; }"
    found = scanned(tmp_path, DISPATCHERS[dispatcher] + work, "-mavx2")
    assert "avx" in found.requires
    assert "avx512f" in found.contains


@pytest.mark.parametrize("flags", ["-mavx2", "-march=x86-64-v3", "-march=x86-64-v4"])
def test_without_a_dispatcher_all_is_required_and_certain(tmp_path: Path, flags: str) -> None:
    work = "void work(float *a, float *b) { for (int i = 0; i < 64; i++) a[i] = a[i] * b[i] + 1.5f; }"
    found = scanned(tmp_path, work, flags)
    assert "avx" in found.requires
    assert (found.contains, found.confidence) == ((), Confidence.CERTAIN)


def test_lzcnt_on_a_cpu_without_it_is_wrong_but_raises_no_signal(tmp_path: Path) -> None:
    program = compile_c(LZCNT, tmp_path / "program", "-mlzcnt")
    known, unknown = machine("Haswell", tmp_path), machine("core2duo", tmp_path)
    scan = scan_isa(program)
    assert scan.silent == ("abm",)
    assert judge(scan, known.cpu)[0] is CpuOutcome.RUNS
    assert judge(scan, unknown.cpu)[0] is CpuOutcome.WRONG
    right, wrong = known.run(program, "1"), unknown.run(program, "1")
    assert (right.returncode, right.stdout) == (0, "31")
    assert wrong.returncode == 0
    assert wrong.stdout != "31"


def test_tzcnt_is_run_as_bsf_where_it_is_not_known(tmp_path: Path) -> None:
    """Compilers write TZCNT into code for every CPU, because it is faster; older CPUs run it as BSF."""
    source = LZCNT.replace("__builtin_clz", "__builtin_ctz")
    program = compile_c(source, tmp_path / "program")
    listing = subprocess.run(("objdump", "-d", program), capture_output=True, text=True, check=True).stdout
    assert "tzcnt" in listing or "rep bsf" in listing
    assert scan_isa(program).requires == ()
    assert machine("core2duo", tmp_path).run(program, "8").stdout == "3"
