"""Machines without shared memory: fastinstall knows whether semaphores work, and falls back if not."""

import os
import subprocess
import sys

import pytest
from support.machine.needs import require_system

PROGRAM = """\
from multiprocessing.pool import ThreadPool

from fastinstall.wheelbuild.compile import has_semaphores

try:
    with ThreadPool(2):
        made = True
except OSError:
    made = False
assert has_semaphores() is made
print(made)
"""


READ_ONLY = "mount -t tmpfs -o ro none /dev/shm"
FULL = "mount -t tmpfs -o size=4k none /dev/shm && head -c 4096 /dev/zero >/dev/shm/full"


@pytest.mark.parametrize(
    ("mount", "made"), [("true", "True"), (READ_ONLY, "False"), (FULL, "False")], ids=["as it is", "read-only", "full"]
)
def test_it_is_told_before_a_build_whether_its_pool_can_start(mount: str, made: str) -> None:
    answer = _run(mount, PROGRAM)
    assert (answer.stdout.strip(), answer.returncode) == (made, 0), answer.stderr


PICTURES = """\
from fastinstall.bench._stores._files import in_parallel
print(*in_parallel(len, ["a", "bb"]))
"""


@pytest.mark.parametrize("mount", ["true", READ_ONLY, FULL], ids=["as it is", "read-only", "full"])
def test_images_are_prepared_without_shared_memory_too(mount: str) -> None:
    answer = _run(mount, PICTURES)
    assert (answer.stdout.strip(), answer.returncode) == ("1 2", 0), answer.stderr


def _run(mount: str, program: str) -> subprocess.CompletedProcess[str]:
    """Run a Python program after the shell command `mount`, which changes /dev/shm for this program only."""
    user = () if os.geteuid() == 0 else ("--user", "--map-root-user")
    namespace = ("unshare", "--mount", *user)
    allowed = subprocess.run((*namespace, "true"), capture_output=True, check=False).returncode == 0
    require_system(allowed, "mount namespaces (unshare(2))")
    words = ("sh", "-c", f'{mount}\nexec "$@"', "sh", sys.executable, "-c", program)
    return subprocess.run((*namespace, *words), capture_output=True, text=True, check=False)
