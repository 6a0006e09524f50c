"""Who holds a lock: the process that the kernel names in /proc/locks."""

import os
from pathlib import Path


def holder(locks: str, *, device: int, inode: int) -> int | None:
    """Find the process that holds a flock(2) in the text of /proc/locks, or return None.

    Source: proc_locks(5). Some filesystems show another device there than stat(2) does; then a
    single holder of that inode is believed.
    """
    rows = [words for words in map(str.split, locks.splitlines()) if words[1:2] == ["FLOCK"] and int(words[4]) > 0]
    candidates = [words for words in rows if int(words[5].rpartition(":")[2]) == inode]
    exact = [words for words in candidates if _parse_device(words[5]) == device]
    chosen = exact or candidates
    return int(chosen[0][4]) if len(chosen) == 1 else None


def find_holder(status: os.stat_result) -> int | None:
    """Find the process that holds a flock(2) on this file or directory, or return None if the kernel does not say."""
    try:
        locks = Path("/proc/locks").read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
    return holder(locks, device=status.st_dev, inode=status.st_ino)


def _parse_device(column: str) -> int:
    major, minor, _ = column.split(":")
    return os.makedev(int(major, 16), int(minor, 16))
