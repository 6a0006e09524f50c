"""The one door to changes of files: durable, atomic, and never deleting what fastinstall did not make."""

import contextlib
import errno
import hashlib
import itertools
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import cast

from fastinstall.core import foreign

_RENAME_NOREPLACE = 1
_RENAME_EXCHANGE = 2
_AT_FDCWD = -100
_CHUNK = 1 << 24
_LARGEST = 1 << 33
"""Bytes that are worth a digest: more than the largest wheels have, less than takes a minute."""
_SYNCS_AT_ONCE = 8
_ACCESS_LISTS = ("system.posix_acl_access", "system.posix_acl_default")
_FEW_SYNCS = 4
"""For so few no threads are started."""


def write_text(path: Path, text: str, *, mode: int = 0o644, durable: bool = True) -> None:
    """Write a file; see `write_bytes`."""
    write_bytes(path, text.encode("utf-8"), mode=mode, durable=durable)


def write_bytes(
    path: Path, content: bytes, *, mode: int = 0o644, durable: bool = True, like: Path | None = None
) -> None:
    """Write a file so that it is there whole or not at all, and survives a power loss.

    Args:
        path: the file; its directory is made where it is missing.
        content: the whole content of the file.
        mode: permission bits, whatever the umask is.
        durable: False does not wait for the disk (some 5 ms): after a power loss the file may be empty.
        like: a file whose rights it gets, rather than `mode`.
    """
    make_directories(path.parent, durable=durable)
    import tempfile  # noqa: PLC0415 (doctor writes nothing, and must feel instant)

    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb"):
            _write_whole(descriptor, content)
            os.fchmod(descriptor, mode)
            if like is not None:
                copy_rights(like, Path(name))
            if durable:
                os.fsync(descriptor)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    if durable:
        sync_directory(path.parent)


def make_directories(directory: Path, *, durable: bool = True) -> None:
    """Make a directory and those above it where they are missing.

    Args:
        durable: also force the entry of each that was made to the disk: what is written into a directory whose own
            entry gets lost is lost with it. Source: fsync(2), notes.
    """
    missing = tuple(itertools.takewhile(lambda each: not each.is_dir(), (directory, *directory.parents)))
    directory.mkdir(parents=True, exist_ok=True)
    for each in missing if durable else ():
        sync_directory(each.parent)


def append_line(path: Path, line: str) -> None:
    """Append one line to a journal and force it to the disk."""
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    try:
        _write_whole(descriptor, line.encode("utf-8") + b"\n")
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_directory(directory: Path) -> None:
    """Force a directory's entries to the disk."""
    _sync(directory, os.O_DIRECTORY)


def sync_tree(tree: Path) -> None:
    """Force the content of a file, or of every file and directory of a tree, to the disk."""
    with sync_during((tree,)):
        pass


@contextlib.contextmanager
def sync_during(trees: Iterable[Path]) -> Iterator[None]:
    """Force files and trees to the disk while the block runs, which only reads them; they are there when it ends.

    Several at a time, since a filesystem's journal then commits them together; syncfs(2) would wait for other
    people's data as well.

    Raises:
        OSError: one of them could not be forced; as the kernel says.
    """
    paths = tuple(path for tree in trees for path in _to_sync(os.fspath(tree)))
    if len(paths) <= _FEW_SYNCS:
        yield
        for path in paths:
            _sync(path)
        return
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 (like `write_bytes`)

    from fastinstall.core.concurrency import await_future  # noqa: PLC0415 (like `write_bytes`)

    with ThreadPoolExecutor(max_workers=_SYNCS_AT_ONCE) as pool:
        outcomes = [pool.submit(_sync, path) for path in paths]
        try:
            yield
            for outcome in outcomes:
                await_future(outcome)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def rename(source: Path, target: Path) -> None:
    """Rename inside one filesystem; an existing target is an error, never overwritten.

    Raises:
        FileExistsError: the target is there.
        OSError: as the kernel says (EXDEV across filesystems).
    """
    try:
        _call_renameat2(source, target, _RENAME_NOREPLACE)
    except OSError as error:
        if error.errno not in (errno.ENOSYS, errno.EINVAL):
            raise
        if os.path.lexists(target):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target)) from None
        os.rename(source, target)


def exchange(one: Path, other: Path) -> bool:
    """Swap two entries of one filesystem in one step.

    Returns:
        False if kernel or filesystem cannot; then nothing has changed. Source: renameat2(2).
    """
    try:
        _call_renameat2(one, other, _RENAME_EXCHANGE)
    except OSError as error:
        if error.errno in (errno.ENOSYS, errno.EINVAL):
            return False
        raise
    return True


def publish(fresh: Path, target: Path, aside: Path) -> None:
    """Put a finished directory into one of our caches, whole or not at all, and forced to the disk.

    Args:
        fresh: the directory, on the same filesystem.
        target: its place. What is there is damaged, or the same by a process that was quicker.
        aside: where that may go; not there yet.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    sync_tree(fresh)
    try:
        rename(fresh, target)
    except FileExistsError:
        if not exchange(fresh, target):
            os.rename(target, aside)
            os.rename(fresh, target)
    sync_directory(target.parent)


def copy_file(source: Path, target: Path) -> None:
    """Copy a file or symbolic link with its rights and modification time; not durable yet.

    Raises:
        FileExistsError: the target is there.
        OSError: as the kernel says.
    """
    status = source.lstat()
    if source.is_symlink():
        target.symlink_to(source.readlink())
    else:
        with foreign.open_foreign_file(source) as reader, target.open("xb") as writer:
            _copy_content(reader.fileno(), writer.fileno())
    copy_rights(source, target)
    os.utime(target, ns=(status.st_atime_ns, status.st_mtime_ns), follow_symlinks=False)


def copy_rights(source: Path, target: Path) -> None:
    """Give one file or directory the mode, the access list and, where that is allowed, the owner of another.

    Raises:
        OSError: as the kernel says.
    """
    status = source.lstat()
    if target.is_symlink():
        with contextlib.suppress(PermissionError):
            os.lchown(target, status.st_uid, status.st_gid)
        return
    descriptor = os.open(target, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        there = os.fstat(descriptor)
        if (there.st_uid, there.st_gid) != (status.st_uid, status.st_gid):
            with contextlib.suppress(PermissionError):
                os.fchown(descriptor, status.st_uid, status.st_gid)
        if stat.S_IMODE(os.fstat(descriptor).st_mode) != stat.S_IMODE(status.st_mode):
            os.fchmod(descriptor, stat.S_IMODE(status.st_mode))
        for name in _ACCESS_LISTS:
            with contextlib.suppress(OSError):  # it has none, or the filesystem knows none
                os.setxattr(descriptor, name, os.getxattr(source, name))
    finally:
        os.close(descriptor)


def sha256(path: Path) -> str:
    """Compute the hexadecimal digest of a file.

    Raises:
        OSError: it cannot be read, is no file, or is larger than any wheel or library.
    """
    with foreign.open_foreign_file(path) as stream:
        if os.fstat(stream.fileno()).st_size > _LARGEST:
            raise OSError(errno.EFBIG, f"is larger than {_LARGEST >> 30} GiB", os.fspath(path))
        return hashlib.file_digest(stream, "sha256").hexdigest()


def discard(path: Path) -> None:
    """Remove a file or tree that we made ourselves (a stage, a temporary directory); absent is fine.

    Directories in it that their owner may not write to are made writable first: unpacked archives have some.
    """
    if path.is_dir() and not path.is_symlink():
        import shutil  # noqa: PLC0415 (like `write_bytes`)

        try:
            shutil.rmtree(path)
        except PermissionError:
            _make_writable(path)
            shutil.rmtree(path)
    elif os.path.lexists(path):
        path.unlink(missing_ok=True)


def _make_writable(directory: Path) -> None:
    """Let the owner of a tree write to all its directories."""
    with contextlib.suppress(OSError):  # whoever removes it says what is wrong
        directory.chmod(stat.S_IMODE(directory.lstat().st_mode) | stat.S_IRWXU)
        for path in directory.iterdir():
            if path.is_dir() and not path.is_symlink():
                _make_writable(path)


def _to_sync(tree: str) -> Iterator[str]:
    """Yield the files and directories of a tree, what is in a directory before itself.

    Links have no content but their directory's.
    """
    if os.path.islink(tree):  # noqa: PTH114 (hundreds of paths are not worth as many objects)
        return
    if os.path.isdir(tree):  # noqa: PTH112 (hundreds of paths are not worth as many objects)
        with os.scandir(tree) as entries:
            inner = [(entry.path, entry.is_dir(follow_symlinks=False)) for entry in entries if not entry.is_symlink()]
        for path, is_directory in inner:
            yield from _to_sync(path) if is_directory else (path,)
    yield tree


def _sync(path: Path | str, flags: int = os.O_NONBLOCK) -> None:
    descriptor = os.open(path, os.O_RDONLY | flags | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _copy_content(reader: int, writer: int) -> None:
    """Copy by the kernel, which shares the blocks where the filesystem can; else by reading and writing."""
    try:
        while os.copy_file_range(reader, writer, _CHUNK):
            pass
    except OSError as error:
        if error.errno not in (errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM):
            raise
        while content := os.read(reader, _CHUNK):
            _write_whole(writer, content)


def _write_whole(descriptor: int, content: bytes) -> None:
    while content:
        content = content[os.write(descriptor, content) :]


def _call_renameat2(source: Path, target: Path, flags: int) -> None:
    import ctypes  # noqa: PLC0415 (like `write_bytes`)

    function = _find_renameat2()
    if function is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    if function(_AT_FDCWD, os.fsencode(source), _AT_FDCWD, os.fsencode(target), flags) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), str(source), None, str(target))


def _find_renameat2() -> Callable[..., int] | None:
    import ctypes  # noqa: PLC0415 (like `write_bytes`)

    try:
        function = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        return None
    function.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)
    function.restype = ctypes.c_int
    return cast("Callable[..., int]", function)
