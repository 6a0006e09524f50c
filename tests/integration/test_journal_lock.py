"""One run at a time per environment."""

import errno
import fcntl
import multiprocessing
import os
import signal
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from fastinstall.core.errors import RefusedError, UndeterminedError
from fastinstall.core.lock import lock_environment


def _hold(prefix: Path, ready: Connection) -> None:
    with lock_environment(prefix):
        ready.send("held")
        signal.pause()


@contextmanager
def _held_by_another(prefix: Path) -> Iterator[int]:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_hold, args=(prefix, theirs))
    process.start()
    try:
        assert ours.recv() == "held"
        assert process.pid is not None
        yield process.pid
    finally:
        process.kill()
        process.join()


def test_a_held_lock_refuses_and_names_the_process(tmp_path: Path) -> None:
    with _held_by_another(tmp_path) as process, pytest.raises(RefusedError) as caught, lock_environment(tmp_path):
        pass
    assert f"{tmp_path}: process {process} " in caught.value.message
    assert str(process) in str(caught.value.hint)


def test_a_killed_holder_holds_nothing(tmp_path: Path) -> None:
    with _held_by_another(tmp_path) as process:
        os.kill(process, signal.SIGKILL)
    with lock_environment(tmp_path):
        pass


def test_the_lock_leaves_no_trace(tmp_path: Path) -> None:
    os.utime(tmp_path, ns=(1, 1))
    with lock_environment(tmp_path):
        assert list(tmp_path.iterdir()) == []
    assert tmp_path.stat().st_mtime_ns == 1


def test_a_lock_is_free_after_its_block_even_when_it_fails(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), lock_environment(tmp_path):
        raise ZeroDivisionError
    with lock_environment(tmp_path):
        pass


def test_a_missing_environment_cannot_be_locked(tmp_path: Path) -> None:
    with pytest.raises(UndeterminedError, match="No such file"), lock_environment(tmp_path / "gone"):
        pass


def test_where_directories_cannot_be_locked_a_file_elsewhere_stands_for_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """NFS cannot be mounted here: its refusal to lock a directory (EBADF, flock(2)) is played."""
    real = fcntl.flock

    def as_on_nfs(descriptor: int, operation: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        real(descriptor, operation)

    environment = tmp_path / "env"
    environment.mkdir()
    monkeypatch.setattr(fcntl, "flock", as_on_nfs)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with (
        lock_environment(environment),
        pytest.raises(RefusedError, match=f"process {os.getpid()}"),
        lock_environment(environment),
    ):
        pass
    assert list(environment.iterdir()) == []
