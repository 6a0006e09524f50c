"""A mount table for this process and its child processes: see mount_namespaces(7)."""

import ctypes
import os
from pathlib import Path

_CLONE_NEWNS = 0x0002_0000
_MS_BIND = 0x1000
_MS_REC_PRIVATE = 0x4000 | 0x40000


def unshare_mounts() -> None:
    """Give this process its own mount table, whose changes no other process sees.

    Raises:
        OSError: it is forbidden.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_CLONE_NEWNS) != 0 or libc.mount(b"none", b"/", None, _MS_REC_PRIVATE, None) != 0:
        raise _make_error("/")


def mount(kind: str, target: Path, options: str = "", *, flags: int = 0) -> None:
    """Mount a filesystem without a device."""
    _mount(kind, target, kind, flags, options)


def bind(file: Path, target: Path) -> None:
    """Mount a file over another file."""
    _mount(str(file), target, "", _MS_BIND, "")


def _mount(source: str, target: Path, kind: str, flags: int, options: str) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(os.fsencode(source), os.fsencode(target), kind.encode(), flags, options.encode()) != 0:
        raise _make_error(str(target))


def _make_error(place: str) -> OSError:
    number = ctypes.get_errno()
    return OSError(number, os.strerror(number), place)
