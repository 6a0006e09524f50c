"""Puts files out of the page cache, so that reading them is reading the disk. Runs in the target; needs no rights."""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import os
from typing import Any

ATTEMPTS = 2
"""Pages that were read a moment ago may wait in a list of one CPU, which the first attempt empties."""


def drop(source: Any) -> bool:
    """Put the files of images or of a store out of the page cache.

    Args:
        source: its `files()`, or else its `paths`, are meant.

    Returns:
        Whether they are really gone, as far as the kernel says. They are not where they lie in memory (tmpfs), or
        where a process has mapped them.
    """
    paths = source.files() if hasattr(source, "files") else source.paths
    return all(list(map(gone, paths)))  # a list: every one is dropped, whatever became of the first


def gone(path: str) -> bool:
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
    with contextlib.suppress(OSError):  # on a filesystem that is mounted read-only
        os.fdatasync(descriptor)  # a page that is not yet written cannot be dropped
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    return not _is_cached(descriptor)


def _is_cached(descriptor: int) -> bool:
    """Whether a page of the file is in memory.

    mincore(2) says so where this user may write the file, and lies elsewhere: there a read that would not wait says it.
    """
    status = os.fstat(descriptor)
    if status.st_size == 0:
        return False
    if status.st_uid == os.geteuid() or os.access("/proc/self/fd/%d" % descriptor, os.W_OK):
        return _is_mapping_resident(descriptor, status.st_size)
    return _is_page_in_cache(descriptor, status.st_size // 2)


def _is_page_in_cache(descriptor: int, place: int) -> bool:
    """By preadv2(2), which may begin to read what is missing: one page, and that is dropped again."""
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_RANDOM)
    try:
        return os.preadv(descriptor, [bytearray(1)], place, os.RWF_NOWAIT) > 0
    except BlockingIOError:
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        return False
    except (OSError, AttributeError):
        return True  # nobody can say


def _is_mapping_resident(descriptor: int, size: int) -> bool:
    """By mincore(2), on a mapping of our own, which brings no page in."""
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
