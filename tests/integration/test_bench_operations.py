"""The table of operations, timed on a real stack."""

import json
import platform
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from differential.isa_builds import compile_c
from support.environments.real import Environments

from fastinstall.core import process
from fastinstall.core.errors import FailedError
from fastinstall.core.events import Progressed, ignore
from fastinstall.proof.timing import SHORT, MeasuredPil, TimingEffort, measure

pytest_plugins = ("support.environments.fixtures",)
WORKER = Path(process.__file__).parents[1] / "proof" / "_worker.py"


@pytest.fixture(scope="module")
def python(environments: Environments) -> Path:
    """Return an interpreter with stock Pillow and nothing else."""
    return environments.copy("stock").python


@pytest.fixture
def worker(python: Path) -> Iterator[process.Conversation]:
    with process.conversation((python, "-I", "-B", WORKER), environment={}) as talk:
        assert json.loads(talk.listen())["version"]
        yield talk


def test_every_operation_runs(worker: process.Conversation) -> None:
    names = json.loads(worker.ask('{"operation": "?", "seconds": 0}'))["names"]
    assert set(SHORT) <= set(names)
    answers = [json.loads(worker.ask(json.dumps({"operation": name, "seconds": 0}))) for name in names]
    assert [answer for answer in answers if not answer.get("ms", 0) > 0] == []


def test_a_table_tells_the_rounds_least_and_greatest_ratio(python: Path) -> None:
    told: list[object] = []
    here, there = (MeasuredPil(label=label, python=python) for label in ("one", "the same"))
    effort = TimingEffort(operations=("crop", "no such operation", "flip"), rounds=3, seconds=0.001)
    table = measure(here, there, effort, variables={}, emit=told.append, cpu="a CPU", measured_at="2026-11-22")
    assert [row.operation for row in table.rows] == ["crop", "flip"]
    for row in table.rows:
        assert row.low is not None
        assert row.high is not None
        assert 0 < row.low <= row.high
    assert [event.done for event in told if isinstance(event, Progressed)] == [1, 2, 3]


_REGISTERS = """
unsigned in_use(void) {
    unsigned a = 13, b, c = 1, d;
    __asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
    if (!(a & 4) || !__builtin_cpu_supports("avx2")) return 2; /* without XGETBV for ECX=1 nothing tells */
    __asm__ volatile("xgetbv" : "=a"(a), "=d"(d) : "c"(1));
    return a >> 2 & 1;
}
unsigned in_use_when_cleared(void) {
    if (in_use() != 2) __asm__ volatile("vzeroupper");
    return in_use();
}
unsigned leave_in_use(void) { /* as the encoder of AVIF does on CPUs with AVX-512 */
    if (in_use() != 2) __asm__ volatile("vpcmpeqd %%ymm15, %%ymm15, %%ymm15" ::: "xmm15");
    return in_use();
}
"""
_OLD_LIBC = {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX,-AVX2,-AVX_Fast_Unaligned_Load"}
"""Keeps glibc from using its AVX2 functions, which would clear the registers themselves."""

_AFTER_A_USE = """
import ctypes, importlib.util, json, sys
from PIL import Image

spec = importlib.util.spec_from_file_location("worker", sys.argv[1])
worker = importlib.util.module_from_spec(spec)
spec.loader.exec_module(worker)
library = ctypes.CDLL(sys.argv[2])
seen = [library.in_use_when_cleared()]
bench = {"use": lambda: seen.append(library.leave_in_use()), "look": lambda: seen.append(library.in_use())}
requests = [json.dumps({"operation": name, "seconds": 0}) for name in bench]
worker.serve(Image, bench, requests)
print(seen)
"""


@pytest.mark.skipif(platform.machine() != "x86_64", reason="registers of x86-64")
def test_registers_left_in_use_do_not_slow_the_next_operation(python: Path, tmp_path: Path) -> None:
    library = compile_c(_REGISTERS, tmp_path / "registers.so", "-shared", "-fPIC")
    words = (python, "-I", "-c", _AFTER_A_USE, WORKER, library)
    done = subprocess.run(words, env=_OLD_LIBC, capture_output=True, text=True, check=True)
    cleared, before, after = json.loads(done.stdout.splitlines()[-1])
    if cleared != 0:
        pytest.skip("this CPU does not say which registers are in use")
    assert (before, after) == (1, 0)


def test_one_round_has_no_range(python: Path) -> None:
    here, there = (MeasuredPil(label=label, python=python) for label in ("one", "the same"))
    table = measure(here, there, TimingEffort(operations=("crop",), rounds=1, seconds=0.001), variables={}, emit=ignore)
    assert (table.rows[0].low, table.rows[0].high) == (None, None)


def test_a_stack_that_cannot_be_imported_is_named(python: Path, tmp_path: Path) -> None:
    (tmp_path / "PIL").mkdir()
    (tmp_path / "PIL" / "__init__.py").write_text("raise ImportError('broken for a reason')\n")
    sound, broken = (
        MeasuredPil(label="a", python=python),
        MeasuredPil(label="the broken one", python=python, stage=tmp_path),
    )
    with pytest.raises(FailedError, match=r"^the broken one ") as raised:
        measure(sound, broken, TimingEffort(operations=("crop",)), variables={}, emit=ignore)
    assert any("broken for a reason" in line for line in raised.value.details)
