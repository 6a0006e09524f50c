"""Drops files from the page cache, so that reading them reads the disk. Runs in the target; needs no privileges."""

import contextlib
import ctypes
import mmap
import os
from typing import Any

ATTEMPTS = 2
"""Recently read pages may wait in one CPU's list, which the first attempt empties."""


def drop(source: Any) -> bool:
    """Drop the files of images or of a store from the page cache.

    Args:
        source: has `files()`, or else `paths`.

    Returns:
        Whether they are gone, according to the kernel. They are not if they are in memory (tmpfs), or if a process
        has mapped them.
    """
    paths = source.files() if hasattr(source, "files") else source.paths
    return all(list(map(gone, paths)))  # a list: every file is dropped, even if the first fails


def gone(path: str) -> bool:
    """Drop a file's pages from the cache; return whether none is left, False if it cannot be opened."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        return False
    try:
        return any(_drop_pages(descriptor) for _ in range(ATTEMPTS))
    except OSError:
        return False
    finally:
        os.close(descriptor)


def _drop_pages(descriptor: int) -> bool:
    with contextlib.suppress(OSError):  # on a read-only filesystem
        os.fdatasync(descriptor)  # a dirty page cannot be dropped
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    size = os.fstat(descriptor).st_size
    return size == 0 or not _is_mapping_resident(descriptor, size)


def _is_mapping_resident(descriptor: int, size: int) -> bool:
    """Return whether a page of the file is in memory; true of a file of another user, whose pages the kernel hides.

    Asks mincore(2), on our own mapping, which loads no page.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *([ctypes.c_int] * 3), ctypes.c_long]
    start, pages = libc.mmap(None, size, mmap.PROT_READ, mmap.MAP_SHARED, descriptor, 0), -(-size // mmap.PAGESIZE)
    if start in (None, ctypes.c_void_p(-1).value):
        return True
    vector = (ctypes.c_ubyte * pages)()
    failed = libc.mincore(ctypes.c_void_p(start), ctypes.c_size_t(size), vector)
    libc.munmap(ctypes.c_void_p(start), ctypes.c_size_t(size))
    return bool(failed) or any(each & 1 for each in vector)
