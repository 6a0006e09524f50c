"""Find out on which kind of filesystem files lie. Source: proc_pid_mountinfo(5)."""

import re
import shutil
from pathlib import Path, PurePath

from fastinstall.core import foreign
from fastinstall.model.machine import Filesystem

_NETWORK = (
    *("nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "ceph", "lustre", "gpfs", "beegfs", "panfs", "wekafs", "pvfs2"),
    *("9p", "virtiofs", "vboxsf", "prl_fs", "vmhgfs", "gcsfuse", "mountpoint-s3"),
)
"""Names from the kernel. A virtual machine's host filesystems count: another machine is asked there too."""
_FUSE = "fuse."
_LOCAL = frozenset({"fuse.fuse-overlayfs", "fuse.mergerfs"})
"""Of those whose names begin like `_FUSE`: nearly all others fetch files from elsewhere (sshfs, s3fs, rclone)."""
_MEMORY = frozenset({"tmpfs", "ramfs", "devtmpfs"})


def filesystem_of(path: Path, root: Path = Path("/")) -> Filesystem:
    """Return the filesystem of a path, or of its nearest existing parent.

    Args:
        path: a file or directory; links are followed.
        root: what stands for "/"; another directory holds the files of a captured machine.
    """
    real = path.resolve() if root == Path("/") else path
    try:
        mountinfo = foreign.read_text(root / "proc/self/mountinfo", errors="replace")
    except OSError:
        mountinfo = ""
    point, kind = find_mount(real, mountinfo)
    return Filesystem(
        mount=point,
        type=kind,
        network=kind in _NETWORK or (kind.startswith(_FUSE) and kind not in _LOCAL),
        memory=kind in _MEMORY,
        free_bytes=shutil.disk_usage(next(each for each in (real, *real.parents) if each.exists())).free,
    )


def find_mount(path: PurePath, mountinfo: str) -> tuple[PurePath, str]:
    """Return where a path is mounted, and the type: the longest, and of several in one place the last, which hides all.

    >>> find_mount(PurePath("/data/photos"), "36 35 0:30 / /data rw - nfs4 nas:/export rw")[1]
    'nfs4'

    Args:
        path: absolute, with symbolic links already resolved.
        mountinfo: the text of /proc/self/mountinfo.
    """
    found = PurePath("/"), ""
    for line in mountinfo.splitlines():
        mount, _, filesystem = line.partition(" - ")
        # the kernel writes space, tab, newline and backslash as octal numbers
        point = PurePath(re.sub(r"\\([0-7]{3})", lambda escaped: chr(int(escaped[1], 8)), mount.split(" ")[4]))
        if path.is_relative_to(point) and len(point.parts) >= len(found[0].parts):
            found = point, filesystem.split(" ")[0]
    return found
