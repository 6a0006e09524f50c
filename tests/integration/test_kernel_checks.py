"""Every kernel, built alone, gives the results of Pillow's own function on random cases; faults are detected."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from support.machine.needs import require_system

from fastinstall.elf.cpu import rank
from fastinstall.observe.cpu import observe_cpu
from fastinstall.wheelbuild.prepare import kernels_directory

LEVEL = "x86-64-v3"


@pytest.fixture(scope="module")
def pillow(shared_cache: Path) -> Path:
    """Download Pillow's source as the kernels' own checks do; return its directory."""
    for program in ("cc", "make"):
        require_system(shutil.which(program), program)
    cpu = observe_cpu(allowed_cores=1, tunables="")
    require_system(rank(cpu.level) >= rank(LEVEL), f"a CPU of {LEVEL}")
    directory = shared_cache / "kernel-checks"
    made = make(kernels_directory(), "source", f"BUILD={directory}")
    assert made.returncode == 0, made.stderr
    return next(directory.glob("pillow-*"))


def make(kernels: Path, *words: str) -> subprocess.CompletedProcess[str]:
    jobs = f"-j{len(os.sched_getaffinity(0))}"
    argv = ("make", jobs, "-C", str(kernels), f"LEVELS={LEVEL}", "TIME=0.1", *words)
    return subprocess.run(argv, capture_output=True, text=True, check=False, timeout=600)


def test_each_kernel_alone_gives_what_pillow_gives(pillow: Path, tmp_path: Path) -> None:
    done = make(kernels_directory(), "check", f"BUILD={tmp_path}", f"PILLOW={pillow}")
    assert done.returncode == 0, done.stdout + done.stderr
    lines = [line for line in done.stdout.splitlines() if line.startswith(f"{LEVEL}/")]
    assert len(lines) > len([*(kernels_directory() / "check").glob("*.c")])


def test_a_fault_in_a_kernel_ends_its_check(pillow: Path, tmp_path: Path) -> None:
    shutil.copytree(kernels_directory(), tmp_path / "kernels")
    turn = tmp_path / "kernels/turn.c"
    turn.write_text(turn.read_text().replace("in->xsize - 1 - x - i", "in->xsize - 1 - x"))
    done = make(tmp_path / "kernels", "check", "KERNELS=turn", f"BUILD={tmp_path}", f"PILLOW={pillow}")
    assert done.returncode != 0
    assert "another pixel" in done.stderr
    assert "SEED=" in done.stderr
