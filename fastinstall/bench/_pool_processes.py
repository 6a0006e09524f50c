"""What the processes of a measurement share: they end together, and their memory is added up."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
from typing import Any, Dict, Optional

AHEAD = 2
"""Batches that each worker has to make beyond the one that is taken, as a DataLoader has it."""
_PR_SET_PDEATHSIG = 1  # linux/prctl.h


class Trouble(Exception):
    """Why there is no rate, in words."""


def end_with(parent: int) -> None:
    """Have the kernel kill this process when the one that started it dies. Source: prctl(2)."""
    try:
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    except (OSError, AttributeError):
        return  # no such call: workers look for their parent themselves
    if os.getppid() != parent:
        os._exit(1)


def ending(exit_code: Optional[int]) -> str:
    if exit_code is None or exit_code >= 0:
        return "ended with exit code %s" % exit_code
    try:
        return "was killed by %s" % signal.Signals(-exit_code).name
    except ValueError:
        return "was killed by signal %d" % -exit_code


def peak_bytes() -> int:
    """The most memory of this process and its workers, in bytes.

    Each one's share of what it has now (PSS: a page of four processes counts a quarter for each), and what it had more
    at its height, which was its own. Looked up once, after the counting: a look takes milliseconds.
    """
    workers = [child.pid for child in multiprocessing.active_children()]
    return sum(_read_peak_bytes(pid) for pid in [os.getpid(), *workers])


def _read_peak_bytes(pid: Any) -> int:
    status = _read_fields("/proc/%d/status" % pid)
    now = status.get("VmRSS", 0)
    share = _read_fields("/proc/%d/smaps_rollup" % pid).get("Pss", now)
    return share + max(0, status.get("VmHWM", now) - now)


def _read_fields(path: str) -> Dict[str, int]:
    """The lines "NAME: N kB" of a file, in bytes; none if it cannot be read."""
    try:
        with open(path, encoding="utf-8", errors="replace") as stream:
            rows = [line.split() for line in stream]
    except OSError:
        return {}
    return {row[0][:-1]: int(row[1]) * 1024 for row in rows if row[2:] == ["kB"]}
