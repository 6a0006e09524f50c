"""Temporary directories of killed processes are removed by the next run that uses the same parent directory."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from fastinstall.core.temporary_directories import temporary_directory

HOLD = """
import sys, pathlib
from fastinstall.core.temporary_directories import temporary_directory
with temporary_directory("build", within=pathlib.Path(sys.argv[1])) as space:
    (space / "tree").mkdir()
    (space / "tree" / "object.o").write_bytes(b"x" * 1000)
    print(space, flush=True)
    sys.stdin.read()
"""


def start(within: Path) -> tuple["subprocess.Popen[str]", Path]:
    """Start a process that keeps a temporary directory until its input ends; return the process and the directory."""
    argv = (sys.executable, "-c", HOLD, str(within))
    process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def test_files_of_a_killed_process_go_and_of_a_living_one_stay(tmp_path: Path) -> None:
    dead, abandoned = start(tmp_path)
    living, used = start(tmp_path)
    dead.send_signal(signal.SIGKILL)
    dead.communicate()
    assert abandoned.is_dir()

    with temporary_directory("other", within=tmp_path) as space:
        assert set(tmp_path.iterdir()) == {used, space}
        assert (used / "tree" / "object.o").is_file()

    living.communicate("")
    assert living.returncode == 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "name", ["fastinstall-build-of-another-boot.000000000000", "fastinstall-build-unmarked", "own"]
)
def test_what_nobody_can_say_is_abandoned_stays(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()

    with temporary_directory("other", within=tmp_path):
        assert (tmp_path / name).is_dir()


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    mine, within = tmp_path / "mine", tmp_path / "tmp"
    (mine / "photos").mkdir(parents=True)
    with temporary_directory("other", within=within) as space:
        mark = space.name.rpartition(".")[2]
    (within / f"fastinstall-build-x.{mark}").symlink_to(mine)

    with temporary_directory("other", within=within):
        assert (mine / "photos").is_dir()
