"""A build on other CPUs, emulated by qemu-user: a clear message if it cannot run, otherwise correct pixels."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.environments.interpreters import running
from support.machine.needs import require_system
from support.sandbox import STOCK, NewSandbox, Sandbox, Venv

from fastinstall.model.facts import Runtime
from fastinstall.observe.runtime import observe_runtime
from fastinstall.proof.judge import compare_pixels

HIDING = {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2"}
BASELINE, BETTER = "pillow.libs", "x86-64-v3"
REFUSAL = "CPU ISA level is lower than required"


@dataclass(frozen=True, kw_only=True)
class Everywhere:
    """An environment with the wheel for this machine, which the tests run on several CPUs."""

    sandbox: Sandbox
    venv: Venv

    def on(self, cpu: str, pixels: Path) -> Runtime:
        """Use PIL on an emulated CPU, and save the results of the operations."""
        return observe_runtime(_python_on(cpu, self), pixels=pixels, environment=os.environ)

    def here(self, pixels: Path, *, hiding: bool = False) -> Runtime:
        """Use PIL on this CPU; if `hiding`, hide the CPU features of the build's higher level."""
        return observe_runtime(
            self.venv.python, pixels=pixels, environment={**os.environ, **(HIDING if hiding else {})}
        )


@pytest.fixture(scope="module")
def everywhere(new_sandbox: NewSandbox) -> Iterator[Everywhere]:
    with new_sandbox() as sandbox:
        venv = sandbox.venv(running(), pip=False)
        setup = sandbox.cli("setup", "--yes", "--prefix", venv.prefix)
        assert setup.exit_code == 0, setup.text
        yield Everywhere(sandbox=sandbox, venv=venv)


@pytest.mark.parametrize(("cpu", "directory"), [("Nehalem", BASELINE), ("SandyBridge", BASELINE), ("Haswell", BETTER)])
def test_each_cpu_loads_its_levels_copy_and_computes_the_same(
    everywhere: Everywhere, tmp_path: Path, cpu: str, directory: str
) -> None:
    there, here = tmp_path / "there", tmp_path / "here"
    emulated = everywhere.on(cpu, there)
    native = everywhere.here(here, hiding=directory == BASELINE)
    assert emulated.imported, emulated.error
    assert [operation for operation in emulated.operations if not operation.ok] == []
    assert Path(emulated.core).parent.name == directory
    assert emulated.core == native.core
    compared = compare_pixels(there, here)
    pictures = [operation for operation in native.operations if not operation.name.startswith("import-")]
    assert len(compared) == len(pictures) > 50
    assert [difference for difference in compared if not difference.is_tolerable] == []


def test_both_levels_compute_the_same_to_the_bit_on_this_cpu(everywhere: Everywhere, tmp_path: Path) -> None:
    lower = everywhere.here(tmp_path / "lower", hiding=True)
    usual = everywhere.here(tmp_path / "usual")
    assert Path(lower.core).parent.name == BASELINE
    if usual.core == lower.core:
        pytest.skip("this CPU has the lower level only")
    assert {difference.largest for difference in compare_pixels(tmp_path / "lower", tmp_path / "usual")} == {0.0}


def test_a_cpu_below_the_baseline_gets_an_import_error(everywhere: Everywhere, tmp_path: Path) -> None:
    emulated = everywhere.on("core2duo", tmp_path / "none")
    assert (emulated.imported, emulated.signal) == (False, "")
    assert emulated.error.startswith("ImportError")
    assert REFUSAL in emulated.error


@pytest.mark.parametrize(
    ("variables", "words"),
    [({}, "is loaded"), (HIDING, "the baseline (x86-64-v2) is loaded")],
    ids=["as it is", "hidden by GLIBC_TUNABLES"],
)
def test_doctor_names_the_copy_that_is_loaded(everywhere: Everywhere, variables: dict[str, str], words: str) -> None:
    prefix = everywhere.venv.prefix
    doctor = everywhere.sandbox.cli("doctor", "cpu-level", "--json", "--prefix", prefix, env=variables)
    assert doctor.exit_code == 0, doctor.text
    (finding,) = doctor.document["findings"]
    assert words in finding["message"], finding
    assert finding["status"] == ("hint" if variables else "ok")
    assert ("unset GLIBC_TUNABLES" in str(finding["remedy"])) == bool(variables)


def test_a_wheel_for_one_level_is_as_polite_to_a_cpu_below_it(sandbox: Sandbox) -> None:
    venv = sandbox.venv(running(), pip=False)
    setup = sandbox.cli("setup", "--yes", "--prefix", venv.prefix, *STOCK)
    assert setup.exit_code == 0, setup.text
    assert not list(venv.prefix.rglob("glibc-hwcaps"))
    one = Everywhere(sandbox=sandbox, venv=venv)
    resize = "from PIL import Image; print(Image.new('RGB', (64, 64), (1, 2, 3)).resize((9, 9), 1).getpixel((0, 0)))"
    core2duo, nehalem = (_run(_python_on(cpu, one), resize) for cpu in ("core2duo", "Nehalem"))
    assert core2duo.returncode == 1, core2duo.stderr
    assert REFUSAL in core2duo.stderr
    assert nehalem.stdout == "(1, 2, 3)\n", nehalem.stderr


def _python_on(cpu: str, everywhere: Everywhere) -> Path:
    """Return a program that runs the environment's interpreter on an emulated CPU."""
    emulator = shutil.which("qemu-x86_64")
    require_system(emulator, "qemu-user")
    script = everywhere.sandbox.root / f"python-on-{cpu}"
    script.write_text(f'#!/bin/sh\nexec {emulator} -cpu {cpu} {everywhere.venv.python} "$@"\n')
    script.chmod(0o755)
    return script


def _run(python: Path, script: str) -> subprocess.CompletedProcess[str]:
    variables = {**os.environ, "FASTINSTALL_GUARD": "0"}
    argv = (python, "-c", script)
    return subprocess.run(argv, env=variables, capture_output=True, text=True, timeout=120, check=False)
