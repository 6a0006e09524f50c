"""Only one run at a time may change an environment."""

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
from fastinstall.core.lock import LOCK_FILE, lock_environment
from fastinstall.journal.snapshot import is_at_work


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


@pytest.fixture
def nfs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an environment on a simulated NFS, which refuses to lock directories (EBADF, flock(2))."""
    real = fcntl.flock

    def as_on_nfs(descriptor: int, operation: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        real(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", as_on_nfs)
    environment = tmp_path / "env"
    environment.mkdir()
    return environment


def test_a_lock_file_is_used_where_directories_cannot_be_locked(nfs: Path) -> None:
    with lock_environment(nfs):
        assert is_at_work(nfs)
        with pytest.raises(RefusedError, match=f"process {os.getpid()}"), lock_environment(nfs):
            pass
    assert list(nfs.iterdir()) == []


def test_another_user_of_such_an_environment_is_kept_out(nfs: Path) -> None:
    """On NFS, fastinstall locks a file, not the directory; all who may write to the environment may open that file."""
    nfs.chmod(0o775)
    with lock_environment(nfs):
        file = next(nfs.iterdir())
        assert stat.S_IMODE(file.stat().st_mode) == 0o664
        with file.open("r+b") as stream, pytest.raises(BlockingIOError):
            fcntl.flock(stream.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_a_file_that_a_killed_run_has_left_is_taken_over(nfs: Path) -> None:
    (nfs / LOCK_FILE).touch()
    with lock_environment(nfs):
        pass
    assert list(nfs.iterdir()) == []


def test_a_lock_file_removed_by_its_holder_meanwhile_is_no_lock(nfs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, file = os.fchmod, nfs / LOCK_FILE
    found: list[int] = []

    def removed_by_another(descriptor: int, mode: int) -> None:
        real(descriptor, mode)
        found.append(descriptor)
        if len(found) == 1:
            file.unlink()

    monkeypatch.setattr(os, "fchmod", removed_by_another)
    with lock_environment(nfs):
        assert len(found) == 2
        assert file.is_file()


def test_a_link_in_the_place_of_the_file_is_refused(nfs: Path, tmp_path: Path) -> None:
    (nfs / LOCK_FILE).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(RefusedError, match="cannot be locked"), lock_environment(nfs):
        pass
    assert not (tmp_path / "elsewhere").exists()


def test_a_lock_file_elsewhere_is_used_if_no_file_can_be_locked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, environment, elsewhere = fcntl.flock, tmp_path / "env", tmp_path / "tmp"
    for directory in (environment, elsewhere):
        directory.mkdir()

    def without_locks(descriptor: int, operation: int) -> None:
        if str(environment) in str(Path(f"/proc/self/fd/{descriptor}").readlink()):
            raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))
        real(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", without_locks)
    monkeypatch.setattr("tempfile.tempdir", str(elsewhere))
    with (
        lock_environment(environment),
        pytest.raises(RefusedError, match=f"process {os.getpid()}"),
        lock_environment(environment),
    ):
        pass
    assert list(environment.iterdir()) == []
