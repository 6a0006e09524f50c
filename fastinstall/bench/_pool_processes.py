"""What a measurement's processes share: they end together, and their memory is added up."""

import ctypes
import multiprocessing
import os
import signal
from typing import Any, Dict, Optional

AHEAD = 2
"""Batches that each worker makes ahead, as in a DataLoader."""
_PR_SET_PDEATHSIG = 1  # linux/prctl.h


class Trouble(Exception):
    """Why there is no rate, in words."""


def end_with(parent: int) -> None:
    """Let the kernel kill this process when its parent dies. Source: prctl(2)."""
    try:
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    except (OSError, AttributeError):
        return  # no such call: workers check for their parent themselves
    if os.getppid() != parent:
        os._exit(1)


def ending(exit_code: Optional[int]) -> str:
    """Describe how a process ended: exit code or signal."""
    if exit_code is None or exit_code >= 0:
        return "ended with exit code %s" % exit_code
    try:
        return "was killed by %s" % signal.Signals(-exit_code).name
    except ValueError:
        return "was killed by signal %d" % -exit_code


DOCKERS = 64
"""Megabytes of shared memory that a container of Docker has, unless more is asked for."""


def stuck() -> str:
    """Return what may keep workers from answering: torch sends batches through /dev/shm, and waits where it is full."""
    try:
        disk = os.statvfs("/dev/shm")  # noqa: S108 (only looked at)
    except OSError:
        return ""
    free = disk.f_bavail * disk.f_frsize >> 20
    return "; /dev/shm has only %d MB free (docker run --shm-size=1g)" % free if free < DOCKERS else ""


def peak_bytes() -> int:
    """Return the peak memory of this process and its workers, in bytes.

    This adds each process's current share (PSS: a page shared by four counts a quarter for each) and what its peak
    had beyond its current memory, which was its own. Read once, after counting: it takes milliseconds.
    """
    workers = [child.pid for child in multiprocessing.active_children()]
    return sum(_read_peak_bytes(pid) for pid in [os.getpid(), *workers])


def _read_peak_bytes(pid: Any) -> int:
    status = _read_fields("/proc/%d/status" % pid)
    now = status.get("VmRSS", 0)
    share = _read_fields("/proc/%d/smaps_rollup" % pid).get("Pss", now)
    return share + max(0, status.get("VmHWM", now) - now)


def _read_fields(path: str) -> Dict[str, int]:
    """Return the lines "NAME: N kB" of a file, in bytes; none if it cannot be read."""
    try:
        with open(path, encoding="utf-8", errors="replace") as stream:
            rows = [line.split() for line in stream]
    except OSError:
        return {}
    return {row[0][:-1]: int(row[1]) * 1024 for row in rows if row[2:] == ["kB"]}
