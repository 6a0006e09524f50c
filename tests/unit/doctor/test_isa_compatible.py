"""Whether code runs on a CPU, and which copy of a core a CPU gets."""

from dataclasses import replace
from pathlib import PurePosixPath

import pytest
from support.values.builders import healthy_facts, levelled_facts

from fastinstall.doctor.checks.isa_compatible import CpuOutcome, choose_core_for_cpu, find_features_beyond_level, judge
from fastinstall.elf.cpu import Cpu, list_level_features
from fastinstall.elf.description import Confidence, IsaScan

V2 = Cpu(architecture="x86_64", flags=list_level_features("x86-64-v2"), level="x86-64-v2")
V3 = Cpu(architecture="x86_64", flags=list_level_features("x86-64-v3"), level="x86-64-v3")
PLAIN = IsaScan(
    path=PurePosixPath("/m.so"), sha256="", confidence=Confidence.CERTAIN, level="x86-64-v1", shares={}, instructions=9
)


def needing(*features: str, **changes: object) -> IsaScan:
    return replace(PLAIN, requires=features, level="x86-64-v3", **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("scan", "cpu", "outcome", "lacking"),
    [
        (PLAIN, V2, CpuOutcome.RUNS, ()),
        (needing("avx2"), V3, CpuOutcome.RUNS, ()),
        (needing("pni", "avx2"), V2, CpuOutcome.DIES, ("avx2",)),
        (needing("abm", silent=("abm",)), V2, CpuOutcome.WRONG, ("abm",)),
        (needing("abm", "avx2", silent=("abm",)), V2, CpuOutcome.DIES, ("abm", "avx2")),
        (needing("avx2", declared="x86-64-v3"), V2, CpuOutcome.REFUSED, ("avx2",)),
        (replace(PLAIN, declared="x86-64-v3"), V2, CpuOutcome.REFUSED, ()),
        (replace(PLAIN, contains=("avx2",)), V2, CpuOutcome.RUNS, ()),
        (replace(PLAIN, problem="truncated"), V2, CpuOutcome.UNTOLD, ()),
        (replace(PLAIN, confidence=Confidence.UNVERIFIED, level=None), V2, CpuOutcome.UNTOLD, ()),
        (replace(PLAIN, confidence=Confidence.UNVERIFIED), V2, CpuOutcome.RUNS, ()),
        (needing("avx2"), Cpu(architecture="x86_64"), CpuOutcome.UNTOLD, ()),
        (needing("avx2"), Cpu(architecture="x86_64", level="x86-64-v3"), CpuOutcome.UNTOLD, ()),
        (PLAIN, Cpu(architecture="riscv64", flags=("rv64gcv",)), CpuOutcome.UNTOLD, ()),
        (PLAIN, Cpu(architecture="aarch64", flags=("fp", "asimd")), CpuOutcome.RUNS, ()),
        (needing("asimddp"), Cpu(architecture="aarch64", flags=("fp", "asimd")), CpuOutcome.DIES, ("asimddp",)),
    ],
)
def test_a_verdict_follows_from_what_is_lacking(
    scan: IsaScan, cpu: Cpu, outcome: CpuOutcome, lacking: tuple[str, ...]
) -> None:
    assert judge(scan, cpu) == (outcome, lacking)


def test_features_hidden_from_glibc_do_not_stop_code_running() -> None:
    hidden = replace(V3, level="x86-64-v2", tunables="glibc.cpu.hwcaps=-AVX2")
    assert judge(needing("avx2", declared="x86-64-v3"), hidden)[0] is CpuOutcome.RUNS


def test_each_cpu_takes_the_best_copy_that_it_bears() -> None:
    core = levelled_facts().stack.core
    assert core is not None
    levels = {
        level: choose_core_for_cpu(core, Cpu(architecture="x86_64", level=level), knows_levels=True) for level in LEVELS
    }
    assert {level: copy.level for level, copy in levels.items() if copy is not None} == LEVELS


LEVELS = {"x86-64-v1": "x86-64-v2", "x86-64-v2": "x86-64-v2", "x86-64-v3": "x86-64-v3", "x86-64-v4": "x86-64-v3"}


def test_a_loader_that_knows_no_levels_takes_the_baseline() -> None:
    core = levelled_facts().stack.core
    assert core is not None
    assert choose_core_for_cpu(core, V3, knows_levels=False) == core.levels[0]


def test_a_core_without_copies_has_none_to_take() -> None:
    core = healthy_facts().stack.core
    assert core is not None
    assert choose_core_for_cpu(core, V3, knows_levels=True) is None


def test_what_lies_beyond_a_level_is_told() -> None:
    assert find_features_beyond_level(needing("pni", "avx2", "fma4"), "x86-64-v2") == ("avx2", "fma4")
    assert find_features_beyond_level(needing("pni", "avx2"), "x86-64-v3") == ()
