"""Kernels in several threads, on private and on shared images: races, and releases of the GIL.

ThreadSanitizer detects the races. Operations also start threads of their own, and split even small pictures among them.
Kernels that only clang compiles are left out, because the sanitizer is GCC's.
"""

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from integration.kernels.builds import KernelsBuild, run_script, start_script
from support.machine.addresses import fixed_addresses
from support.machine.needs import require_system

from fastinstall.proof.runs import ProofStack

pytestmark = pytest.mark.slow
SANITIZE = "-fsanitize=thread"
FOUND = 66
RACE = (r"(\n +)(fi_copy_margin\()", r"\1static int calls;\1calls++;\1\2")
"""Injects a race after the GIL is released."""


def find_runtime() -> Path:
    done = subprocess.run(["gcc", "-print-file-name=libtsan.so"], check=True, capture_output=True, text=True)
    return Path(done.stdout.strip())


def run_threads(build: KernelsBuild, name: str, source: Path) -> subprocess.CompletedProcess[str]:
    require_system(find_runtime().is_absolute(), "libtsan, GCC's ThreadSanitizer")
    stack = build.stack(name, source, flags=("-O1", "-g", "-DFI_SHARE_BYTES=1", SANITIZE), linker=(SANITIZE,))
    options = {
        "FASTINSTALL_THREADS": "3",
        "LD_PRELOAD": str(find_runtime()),
        "TSAN_OPTIONS": f"exitcode={FOUND}",
    }
    with fixed_addresses():
        return start_script(stack, "many_threads.py", **options)


def test_threads_do_not_race(build: KernelsBuild) -> None:
    source = build.scratch / "reviewed" / build.build_tree.source.name
    shutil.copytree(build.build_tree.source / "src", source / "src")
    ours = [path for path in source.glob("src/**/*.c") if "__source" in path.read_text("utf-8", "replace")]
    assert ours
    for path in ours:
        with path.open("a", encoding="utf-8") as file:
            file.write("/* compiled again */\n")
    done = run_threads(build, "sanitized", source)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_race_is_found(build: KernelsBuild) -> None:
    source = build.changed("raced", "src/libImaging/filter.h", *RACE)
    done = run_threads(build, "sanitized-raced", source)
    assert done.returncode == FOUND
    assert "data race" in done.stderr
    assert "in ImagingFilter" in done.stderr


def who_runs_meanwhile(stack: ProofStack) -> dict[str, bool]:
    """Return for each operation whether another thread ran during it."""
    released: dict[str, bool] = json.loads(run_script(stack, "runs_meanwhile.py")[0])
    return released


def test_other_threads_run_while_large_pictures_are_combined(build: KernelsBuild, ours: ProofStack) -> None:
    fast, stock = who_runs_meanwhile(ours), who_runs_meanwhile(build.reference)
    assert [name for name, released in fast.items() if not released] == []
    assert [name for name, released in stock.items() if not released] == ["blend", "add", "multiply"]
