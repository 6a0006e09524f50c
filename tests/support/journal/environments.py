"""Environments for transactions, comparisons of their content, and processes that are killed at any step."""

import hashlib
import os
import signal
import stat
import tempfile
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from support.machine.own_mounts import unshare_mounts
from support.values.builders import changed, receipt

from fastinstall.core import files
from fastinstall.journal.rollback import recover
from fastinstall.journal.stamp import Stamp
from fastinstall.journal.store import JournalStore
from fastinstall.journal.transaction import Transaction, begin
from fastinstall.model.history import Move, MoveKind
from fastinstall.model.receipt import Receipt

SITE = "lib/python3.11/site-packages"
OLD_TIME = 1_700_000_000_123_456_789
STOCK = {
    "PIL/__init__.py": "stock",
    "PIL/_imaging.so": "stock core",
    "PIL/sub/deep.py": "deep",
    "PIL/__pycache__/__init__.cpython-311.pyc": "bytecode",
    "pillow.libs/libjpeg.so": "jpeg",
    "pillow-13.0.0.dist-info/RECORD": "record",
    "imageio/__init__.py": "imageio",
}
OURS = {
    "PIL/__init__.py": "stock",
    "PIL/_imaging.so": "simd core",
    "PIL/_simd.py": "simd",
    "pillow.libs/libjpeg.so": "jpeg",
    "pillow-12.1.1+simd.v3.dist-info/RECORD": "record of ours",
    "_fastinstall_guard.py": "guard",
}
FIRST = Stamp(id="20261121T101500Z-000001", at="2026-11-21T10:15:00Z")
# In the same second as FIRST, and with a smaller name: the order must not depend on names.
SECOND = Stamp(id="20261121T101500Z-000000", at="2026-11-21T10:15:00Z")


def make_environment(prefix: Path, *, share: bool = False) -> JournalStore:
    """Create a small environment with official Pillow, in which all entries have the same modification time."""
    write_tree(prefix / SITE, STOCK)
    write_tree(prefix, {"bin/python": "python"})
    (prefix / SITE / "PIL/sub/deep.py").chmod(0o600)
    (prefix / SITE / "PIL/sub").chmod(0o750)
    (prefix / SITE / "PIL/link.py").symlink_to("sub/deep.py")
    if share:
        write_tree(prefix, {"share/man/man1/x.1": "manual"})
    for path in (*prefix.rglob("*"), prefix):
        os.utime(path, ns=(OLD_TIME, OLD_TIME), follow_symlinks=False)
    return JournalStore(prefix)


def write_tree(root: Path, content: dict[str, str]) -> None:
    """Write files, given by path."""
    for path, text in content.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")


def picture(prefix: Path, *, times: bool = True) -> dict[str, tuple[object, ...]]:
    """Return type and mode, content, and modification time of every entry, by path.

    The time of the prefix itself is always left out; with `times=False`, all other times are, too.
    """
    looks = {path.relative_to(prefix).as_posix(): _look(path, times=times) for path in prefix.rglob("*")}
    return {".": _look(prefix, times=False), **looks}


def _look(path: Path, *, times: bool) -> tuple[object, ...]:
    status = path.lstat()
    content = ""
    if path.is_symlink():
        content = str(path.readlink())
    elif path.is_file():
        content = hashlib.sha256(path.read_bytes()).hexdigest()
    return (stat.filemode(status.st_mode), content, status.st_mtime_ns if times else None)


def live(prefix: Path) -> dict[str, tuple[object, ...]]:
    """Return what Python and people see: all entries except our own directory, without times."""
    return {
        path: look
        for path, look in picture(prefix, times=False).items()
        if path != "share" and not path.startswith("share/fastinstall") and "/.fastinstall-" not in path
    }


def swap_moves() -> tuple[Move, ...]:
    """Return moves from official Pillow to ours: every kind of move, and one into a new directory."""
    return (
        Move(kind=MoveKind.EXCHANGE, live=f"{SITE}/PIL", kept="stage/PIL"),
        Move(kind=MoveKind.EXCHANGE, live=f"{SITE}/pillow.libs", kept="stage/pillow.libs"),
        Move(kind=MoveKind.OUT, live=f"{SITE}/pillow-13.0.0.dist-info", kept="aside/pillow-13.0.0.dist-info"),
        Move(
            kind=MoveKind.IN,
            live=f"{SITE}/pillow-12.1.1+simd.v3.dist-info",
            kept="stage/pillow-12.1.1+simd.v3.dist-info",
        ),
        Move(kind=MoveKind.IN, live=f"{SITE}/made/for/it.py", kept="stage/_fastinstall_guard.py"),
    )


def open_transaction(store: JournalStore, stamp: Stamp = FIRST) -> Transaction:
    """Begin a transaction with our files in its staging directory."""
    transaction = _begun(store, stamp)
    write_tree(transaction.stage, OURS)
    return transaction


def _begun(store: JournalStore, stamp: Stamp) -> Transaction:
    return begin(store, {"verb": "setup"}, site_packages=store.prefix / SITE, stamp=stamp)


def set_up(store: JournalStore, stamp: Stamp = FIRST) -> None:
    """Run a whole transaction of a setup: begin, move files, commit."""
    with _begun(store, stamp) as transaction:
        write_tree(transaction.stage, OURS)
        transaction.perform(swap_moves())
        transaction.commit(receipt_of(stamp))


def set_up_again(store: JournalStore) -> None:
    """Run a second setup: the same files are installed again, with one changed module."""
    with _begun(store, SECOND) as transaction:
        write_tree(transaction.stage, OURS)
        write_tree(transaction.stage, {"again/__init__.py": "again"})
        transaction.perform(
            (
                Move(kind=MoveKind.EXCHANGE, live=f"{SITE}/PIL", kept="stage/PIL"),
                Move(kind=MoveKind.OUT, live=f"{SITE}/pillow.libs", kept="aside/pillow.libs"),
                Move(kind=MoveKind.IN, live=f"{SITE}/pillow.libs", kept="stage/again"),
            )
        )
        transaction.commit(receipt_of(SECOND))


def receipt_of(stamp: Stamp) -> Receipt:
    """Return a receipt of the transaction with this stamp."""
    return changed(receipt(), {"id": stamp.id, "created_at": stamp.at})


def dies_at(step: int, work: Callable[[], object]) -> bool:
    """Run `work` in a process of its own, which is killed at one of its changes of the filesystem.

    Change number n (from 0) has the steps 2n, at which the process dies before the change, and 2n + 1, after it. A
    process that dies before a write has written half of the bytes.

    Returns:
        False if the work ended before that step.
    """
    child = os.fork()
    if child == 0:
        _run_and_die(step, work)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return True
    assert os.WEXITSTATUS(status) == 0, "the work failed in its own process"
    return False


def _run_and_die(step: int, work: Callable[[], object]) -> None:
    code = 1
    try:
        with pytest.MonkeyPatch.context() as patch:
            _arm(patch, step)
            work()
        code = 0
    except BaseException:  # noqa: BLE001 (this process ends here, after it has printed its traceback)
        traceback.print_exc()
    finally:
        os._exit(code)


def _arm(patch: pytest.MonkeyPatch, step: int) -> None:
    """Count every call that changes the disk, and kill the process at one of them; the calls themselves are real."""
    count = iter(range(1_000_000))

    def deadly(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **keywords: Any) -> Any:
            number = next(count)
            if number * 2 == step:
                _die(function, arguments)
            try:
                return function(*arguments, **keywords)
            finally:
                if number * 2 + 1 == step:
                    _die(None, ())

        return call

    for name in _CALLS:
        patch.setattr(os, name, deadly(getattr(os, name)))
    patch.setattr(files, "_call_renameat2", deadly(files._call_renameat2))


_CALLS = (
    *("mkdir", "rmdir", "unlink", "replace", "rename", "write", "utime", "truncate", "chmod"),
    *("symlink", "copy_file_range"),
)
_write = os.write


def _die(function: Callable[..., Any] | None, arguments: tuple[Any, ...]) -> None:
    if getattr(function, "__name__", "") == "write" and len(arguments[1]) > 1:
        _write(arguments[0], arguments[1][: len(arguments[1]) // 2])
    os.kill(os.getpid(), signal.SIGKILL)


def steps_of(work: Callable[[int], bool], stride: int = 1) -> Iterator[int]:
    """Yield the steps 0, 1, 2 ... (or every `stride`-th) until `work(step)` returns False: not interrupted."""
    step = 0
    while work(step):
        yield step
        step += stride


@contextmanager
def swift_directory(fallback: Path) -> Iterator[Path]:
    """Yield a directory in memory if possible, as hundreds of kills would otherwise wait for a disk."""
    memory = Path("/dev/shm")  # noqa: S108 (only a subdirectory of it is used)
    if not os.access(memory, os.W_OK):
        yield fallback
        return
    with tempfile.TemporaryDirectory(prefix="fastinstall-test-", dir=memory) as name:
        yield Path(name)


def recover_all(store: JournalStore) -> None:
    """Recover the environment, as the next command does first."""
    recover(store)
    assert store.unfinished() is None


def in_own_mounts(work: Callable[[], None]) -> None:
    """Run a function in a process with its own mount table, or skip the test if that is forbidden."""
    if os.geteuid() != 0:
        pytest.skip("mounting needs root: sudo -E python -m pytest tests/integration/test_journal_filesystems.py")
    child = os.fork()
    if child == 0:
        code = 1
        try:
            try:
                unshare_mounts()
            except OSError:
                os._exit(77)
            work()
            code = 0
        except BaseException:  # noqa: BLE001 (this process ends here)
            traceback.print_exc()
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    if os.WIFEXITED(status) and os.WEXITSTATUS(status) == 77:
        pytest.skip("this machine forbids mount namespaces (unshare(2)), even to root")
    assert status == 0, "failed inside its own mounts; its traceback stands above"


def fill(ballast: Path, *, leave: int) -> None:
    """Write a file that leaves this number of free bytes in its filesystem."""
    space = os.statvfs(ballast.parent)
    free = space.f_bavail * space.f_frsize
    ballast.write_bytes(b"\0" * max(0, free - leave))
