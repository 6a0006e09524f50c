"""Whether semaphores can be made, held against the thread pool of multiprocessing that Pillow's setup.py starts."""

import os
import subprocess
import sys

import pytest
from needs import require_system

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


@pytest.mark.parametrize(
    ("mount", "made"),
    [
        ("true", "True"),
        ("mount -t tmpfs -o ro none /dev/shm", "False"),
        ("mount -t tmpfs -o size=4k none /dev/shm && head -c 4096 /dev/zero >/dev/shm/full", "False"),
    ],
    ids=["as it is", "read-only", "full"],
)
def test_it_is_told_before_a_build_whether_its_pool_can_start(mount: str, made: str) -> None:
    user = () if os.geteuid() == 0 else ("--user", "--map-root-user")
    namespace = ("unshare", "--mount", *user)
    allowed = subprocess.run((*namespace, "true"), capture_output=True, check=False).returncode == 0
    require_system(allowed, "mount namespaces (unshare(2))")
    words = ("sh", "-c", f'{mount}\nexec "$@"', "sh", sys.executable, "-c", PROGRAM)
    answer = subprocess.run((*namespace, *words), capture_output=True, text=True, check=False)
    assert (answer.stdout.strip(), answer.returncode) == (made, 0), answer.stderr
