"""Change files durably and atomically, and never delete a file that fastinstall did not create."""

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
"""Maximum size, in bytes, of a file to hash: larger than any wheel, and hashed in less than a minute."""
_SYNCS_AT_ONCE = 8
_ACCESS_LISTS = ("system.posix_acl_access", "system.posix_acl_default")
_FEW_SYNCS = 4
"""Maximum number of paths that are synced without threads."""


def write_text(path: Path, text: str, *, mode: int = 0o644, durable: bool = True) -> None:
    """Write a text in UTF-8 to a file atomically; see `write_bytes` for the arguments."""
    write_bytes(path, text.encode("utf-8"), mode=mode, durable=durable)


def write_bytes(
    path: Path, content: bytes, *, mode: int = 0o644, durable: bool = True, like: Path | None = None
) -> None:
    """Write a file atomically: its path has either the old or the whole new content, even after a power loss.

    Args:
        path: the file; missing directories above it are created.
        content: the whole content of the file.
        mode: permission bits; the umask is ignored.
        durable: whether to wait for the disk (some 5 ms); if False, the file may be empty after a power loss.
        like: a file whose mode, access list and owner are copied to the new one, instead of `mode`.
    """
    make_directories(path.parent, durable=durable)
    import tempfile  # slow to import; doctor writes nothing, and must feel instant

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
    """Create a directory and the missing directories above it.

    Args:
        durable: whether to force the entry of each new directory to the disk. If a directory's own entry is lost, the
            files in the directory are lost too. Source: fsync(2), notes.
    """
    missing = tuple(itertools.takewhile(lambda each: not each.is_dir(), (directory, *directory.parents)))
    directory.mkdir(parents=True, exist_ok=True)
    for each in missing if durable else ():
        sync_directory(each.parent)


@contextlib.contextmanager
def opened(path: Path | str, flags: int, mode: int = 0o777, directory: int | None = None) -> Iterator[int]:
    """Open a file or directory while the block runs, and yield its descriptor; see os.open for the arguments."""
    descriptor = os.open(path, flags | os.O_CLOEXEC, mode, dir_fd=directory)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def append_line(path: Path, line: str) -> None:
    """Append one line to a journal and force it to the disk."""
    with opened(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o644) as descriptor:
        _write_whole(descriptor, line.encode("utf-8") + b"\n")
        os.fsync(descriptor)


def sync_directory(directory: Path) -> None:
    """Force a directory's entries to the disk."""
    _sync(directory, os.O_DIRECTORY)


def sync_directories(directories: Iterable[Path]) -> None:
    """Force the entries of several directories to the disk, each once; missing directories are skipped."""
    for directory in dict.fromkeys(directories):
        if directory.is_dir():
            sync_directory(directory)


def sync_tree(tree: Path) -> None:
    """Force a file, or every file and directory of a tree, to the disk."""
    with sync_during((tree,)):
        pass


@contextlib.contextmanager
def sync_during(trees: Iterable[Path]) -> Iterator[None]:
    """Force files and trees to the disk while the block runs, and wait at its end until all of them are written.

    The block may read the files, but must not change them. Several files are synced at a time, because the filesystem's
    journal then commits them together. syncfs(2) is not used, because it would also wait for other programs' data.

    Raises:
        OSError: a file could not be forced to the disk.
    """
    paths = tuple(path for tree in trees for path in _to_sync(os.fspath(tree)))
    if len(paths) <= _FEW_SYNCS:
        yield
        for path in paths:
            _sync(path)
        return
    from concurrent.futures import ThreadPoolExecutor

    from fastinstall.core.concurrency import await_future

    with ThreadPoolExecutor(max_workers=_SYNCS_AT_ONCE) as pool:
        outcomes = [pool.submit(_sync, path) for path in paths]
        try:
            yield
            for outcome in outcomes:
                await_future(outcome)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def rename(source: Path, target: Path) -> None:
    """Rename a file or directory inside one filesystem, and never overwrite an existing target.

    Raises:
        FileExistsError: the target exists.
        OSError: the rename failed (EXDEV across filesystems).
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
    """Swap two files or directories of one filesystem atomically. Source: renameat2(2).

    Returns:
        True after the swap; False if the kernel or the filesystem cannot swap, and nothing has changed.
    """
    try:
        _call_renameat2(one, other, _RENAME_EXCHANGE)
    except OSError as error:
        if error.errno in (errno.ENOSYS, errno.EINVAL):
            return False
        raise
    return True


def publish(fresh: Path, target: Path, aside: Path) -> None:
    """Move a finished directory to its place in a cache, atomically and durably.

    Args:
        fresh: the finished directory, on the cache's filesystem.
        target: the directory's future path in the cache. An existing directory at this path is replaced: it is damaged,
            or another process has just published the same content.
        aside: a path that does not exist yet, to which an existing directory may be moved.
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
    """Copy a file or symbolic link with its permissions, owner and times, without forcing it to the disk.

    Raises:
        FileExistsError: the target exists.
        OSError: the file or link could not be copied.
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
    """Copy the mode, the access lists and, if permitted, the owner of `source` to `target`.

    If `target` is a symbolic link, only the owner is copied.

    Raises:
        OSError: the source cannot be read, or the target's mode cannot be changed.
    """
    status = source.lstat()
    if target.is_symlink():
        with contextlib.suppress(PermissionError):
            os.lchown(target, status.st_uid, status.st_gid)
        return
    with opened(target, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK) as descriptor:
        there = os.fstat(descriptor)
        if (there.st_uid, there.st_gid) != (status.st_uid, status.st_gid):
            with contextlib.suppress(PermissionError):
                os.fchown(descriptor, status.st_uid, status.st_gid)
        if stat.S_IMODE(os.fstat(descriptor).st_mode) != stat.S_IMODE(status.st_mode):
            os.fchmod(descriptor, stat.S_IMODE(status.st_mode))
        for name in _ACCESS_LISTS:
            with contextlib.suppress(OSError):  # the source has no access list, or the filesystem supports none
                os.setxattr(descriptor, name, os.getxattr(source, name))


def sha256(path: Path) -> str:
    """Compute the SHA-256 digest of a file, in hexadecimal.

    Raises:
        OSError: the file cannot be read, is not a regular file, or is larger than any wheel or library.
    """
    with foreign.open_foreign_file(path) as stream:
        if os.fstat(stream.fileno()).st_size > _LARGEST:
            raise OSError(errno.EFBIG, f"is larger than {_LARGEST >> 30} GiB", os.fspath(path))
        return hashlib.file_digest(stream, "sha256").hexdigest()


def discard(path: Path) -> None:
    """Remove a file or tree that fastinstall created (a stage, a temporary directory), if it exists.

    Read-only directories, such as those of some unpacked archives, are made writable first.
    """
    if path.is_dir() and not path.is_symlink():
        import shutil

        try:
            shutil.rmtree(path)
        except PermissionError:
            _make_writable(path)
            shutil.rmtree(path)
    elif os.path.lexists(path):
        path.unlink(missing_ok=True)


def _make_writable(directory: Path) -> None:
    """Give the owner of a tree full access to all its directories."""
    with contextlib.suppress(OSError):  # the caller's removal of the tree then raises the error
        directory.chmod(stat.S_IMODE(directory.lstat().st_mode) | stat.S_IRWXU)
        for path in directory.iterdir():
            if path.is_dir() and not path.is_symlink():
                _make_writable(path)


def _to_sync(tree: str) -> Iterator[str]:
    """Yield the files and directories of a tree, each directory after its content.

    Symbolic links are left out: they are stored in their directory.
    """
    if os.path.islink(tree):  # noqa: PTH114 (faster than a path object for each of hundreds of paths)
        return
    if os.path.isdir(tree):  # noqa: PTH112 (faster than a path object for each of hundreds of paths)
        with os.scandir(tree) as entries:
            inner = [(entry.path, entry.is_dir(follow_symlinks=False)) for entry in entries if not entry.is_symlink()]
        for path, is_directory in inner:
            yield from _to_sync(path) if is_directory else (path,)
    yield tree


def _sync(path: Path | str, flags: int = os.O_NONBLOCK) -> None:
    with opened(path, os.O_RDONLY | flags) as descriptor:
        os.fsync(descriptor)


def _copy_content(reader: int, writer: int) -> None:
    """Copy a file's content inside the kernel, which may share disk blocks; if that fails, read and write."""
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
    import ctypes

    function = _find_renameat2()
    if function is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    if function(_AT_FDCWD, os.fsencode(source), _AT_FDCWD, os.fsencode(target), flags) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), str(source), None, str(target))


def _find_renameat2() -> Callable[..., int] | None:
    import ctypes

    try:
        function = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        return None
    function.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)
    function.restype = ctypes.c_int
    return cast("Callable[..., int]", function)
