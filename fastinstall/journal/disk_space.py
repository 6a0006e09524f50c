"""The disk space that removing files and trees would free."""

import os
import stat
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

_BLOCK = 512
"""The unit of `st_blocks`; see stat(2)."""


def measure_freed_bytes(paths: Iterable[Path]) -> int:
    """Return how many bytes of disk space removing files and trees would free; missing paths count as 0.

    A file that has hard links outside these paths, as in a package cache, does not count: removing it frees nothing.
    """
    links: Counter[tuple[int, int]] = Counter()
    sizes: dict[tuple[int, int], tuple[int, int]] = {}
    directories = 0
    for status, is_directory in (found for path in paths for found in _walk_statuses(path)):
        if is_directory:
            directories += status.st_blocks * _BLOCK
            continue
        key = (status.st_dev, status.st_ino)
        links[key] += 1
        sizes[key] = (status.st_nlink, status.st_blocks * _BLOCK)
    return directories + sum(size for key, (count, size) in sizes.items() if links[key] >= count)


def _walk_statuses(path: Path | str) -> Iterator[tuple[os.stat_result, bool]]:
    try:
        status = os.lstat(path)
    except OSError:
        return
    is_directory = stat.S_ISDIR(status.st_mode)
    yield status, is_directory
    if is_directory:
        try:
            with os.scandir(path) as entries:
                names = [entry.path for entry in entries]
        except OSError:
            return
        for name in names:
            yield from _walk_statuses(name)
