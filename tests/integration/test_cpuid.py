"""The CPUID instruction, executed on this CPU and on one that QEMU emulates."""

import platform
import shutil
import sys
from pathlib import Path

import pytest
from support.environments.interpreters import running
from support.machine.needs import require_system
from support.sandbox import Sandbox

from fastinstall.core.architecture import architecture_of
from fastinstall.elf.cpu import list_level_features
from fastinstall.observe.cpu import execute_cpuid

MACHINE = platform.machine()
needs_cpuid = pytest.mark.skipif(not architecture_of(MACHINE).has_cpuid, reason="this CPU has no such instruction")


@needs_cpuid
@pytest.mark.parametrize(("cpu", "level"), [("Nehalem", "x86-64-v2"), ("Haswell", "x86-64-v3")])
def test_it_answers_for_the_cpu_that_runs_the_program(cpu: str, level: str) -> None:
    emulator = shutil.which(f"qemu-{MACHINE}")
    require_system(emulator, "qemu-user")
    executed = execute_cpuid(MACHINE, (str(emulator), "-cpu", cpu, sys.executable, "-I"))
    assert set(executed or ()) == set(list_level_features(level)) - set(list_level_features("x86-64-v1"))


def test_where_it_cannot_be_executed_nothing_is_known() -> None:
    assert execute_cpuid(MACHINE, (Path("/bin/false"),)) is None


@needs_cpuid
def test_inspect_compares_it_with_what_the_kernel_shows(sandbox: Sandbox) -> None:
    target = ("--prefix", sandbox.venv(running(), pip=False).prefix)
    facts = sandbox.cli("inspect", "--json", *target).document
    executed = facts["cpu"]["executed"]
    assert {"sse4_2", "popcnt"} <= set(executed)
    assert "cpuid" in sandbox.cli("inspect", *target).stdout
