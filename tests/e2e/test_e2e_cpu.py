"""The build on other CPUs, emulated by qemu-user: polite where it cannot run, right where it can."""

import os
import shutil
import subprocess

from interpreters import running
from needs import require_system
from sandbox import Sandbox, Venv

_RESIZE = "from PIL import Image; print(Image.new('RGB', (64, 64), (1, 2, 3)).resize((9, 9), 1).getpixel((0, 0)))"


def _on(cpu: str, venv: Venv) -> subprocess.CompletedProcess[str]:
    emulator = shutil.which("qemu-x86_64")
    require_system(emulator, "qemu-user")
    argv = (emulator or "", "-cpu", cpu, venv.python, "-c", _RESIZE)
    variables = {**os.environ, "FASTINSTALL_GUARD": "0"}
    return subprocess.run(argv, env=variables, capture_output=True, text=True, timeout=120, check=False)


def test_a_cpu_below_the_level_gets_an_import_error_and_no_illegal_instruction(sandbox: Sandbox) -> None:
    venv = sandbox.venv(running())
    setup = sandbox.cli("setup", "--yes", "--prefix", venv.prefix)
    assert setup.exit_code == 0, setup.text

    nehalem = _on("Nehalem", venv)
    assert nehalem.returncode == 1, nehalem.stderr
    assert "CPU ISA level is lower than required" in nehalem.stderr

    haswell = _on("Haswell", venv)
    assert haswell.stdout == "(1, 2, 3)\n", haswell.stderr
