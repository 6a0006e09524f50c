"""What the kernel refused, in words: where, why, and a command that shows more. Not for what we refuse ourselves."""

import errno
import os
from collections.abc import Mapping
from pathlib import Path

from fastinstall.rules.messages import quote

_LOOK: Mapping[int, str] = {
    errno.ENOSPC: "make room, then run the same command again: df -h {place} && df -i {place}",
    errno.EDQUOT: "make room, then run the same command again: quota -s",
    errno.EROFS: "see how it is mounted: findmnt -T {place}",
    errno.EIO: "see what the kernel says of the disk: dmesg | tail",
    errno.EMFILE: "see how many files may be open: ulimit -n",
    errno.ENFILE: "see how many files may be open: cat /proc/sys/fs/file-nr",
}
_OTHERWISE = "see what is there, and whose it is: ls -ld {place}"


def reason(error: OSError, place: Path) -> str:
    """Where and why: "/env/share: No space left on device".

    Args:
        error: the kernel's; one about an open file names no path.
        place: stands for the path then.
    """
    names = (error.filename, error.filename2)
    where = " -> ".join(str(name) for name in names if name and not isinstance(name, int))
    return f"{where or place}: {error.strerror or error}"


def advice(error: OSError, place: Path) -> str:
    """A hint: what to look at, with a command that can be pasted.

    Args:
        error: the kernel's.
        place: there, and on the filesystem in question where the error names no path.
    """
    return _LOOK.get(error.errno or 0, _OTHERWISE).format(place=quote(_nearest(error.filename, place)))


def _nearest(named: object, place: Path) -> Path:
    """The named path, or what is there on the way to it."""
    path = Path(named) if isinstance(named, str) else place
    return next((each for each in (path, *path.parents) if path.is_absolute() and os.access(each, os.F_OK)), place)
