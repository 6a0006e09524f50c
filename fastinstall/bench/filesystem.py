"""Find out on which kind of filesystem and disk files lie. Sources: proc_pid_mountinfo(5), sysfs."""

import os
import re
from collections.abc import Iterator
from pathlib import Path, PurePath

from fastinstall.core import foreign
from fastinstall.core.values import immutable
from fastinstall.model.machine import Filesystem

_NETWORK = frozenset(
    {
        *("nfs", "nfs4", "cifs", "smb3", "smbfs", "ncpfs", "afs", "coda", "davfs", "drvfs"),
        *("9p", "virtiofs", "vboxsf", "prl_fs", "vmhgfs", "fuse.vmhgfs-fuse"),
        *("ceph", "fuse.ceph", "fuse.ceph-fuse", "lustre", "gpfs", "beegfs", "beegfs_nodev", "panfs", "wekafs"),
        *("orangefs", "pvfs2", "quobyte", "fuse.quobyte", "fuse.glusterfs", "fuse.moosefs", "fuse.mfs", "fuse.juicefs"),
        *("fuse.sshfs", "fuse.s3fs", "fuse.gcsfuse", "gcsfuse", "fuse.goofys", "fuse.mount-s3", "mountpoint-s3"),
        *("fuse.rclone", "fuse.blobfuse", "fuse.blobfuse2", "fuse.davfs", "fuse.seaweedfs", "fuse.alluxio-fuse"),
        *("fuse.gvfsd-fuse", "fuse.cvmfs2", "fuse.smbnetfs", "fuse.curlftpfs"),
    }
)
"""Names from the kernel. A virtual machine's host filesystems count: another machine is asked there too."""


_MEMORY = frozenset({"tmpfs", "ramfs", "devtmpfs"})


_VIRTUAL = re.compile(r"(vd|xvd|zram)[a-z0-9]+")


_ESCAPED = re.compile(r"\\([0-7]{3})")


def filesystem_of(path: Path, root: Path = Path("/")) -> Filesystem:
    """Return the filesystem of a path, or of its nearest existing parent.

    Args:
        path: a file or directory; links are followed.
        root: what stands for "/"; another directory holds the files of a captured machine.

    Source: proc_pid_mountinfo(5); Documentation/ABI/stable/sysfs-block, `queue/rotational`.
    """
    real = path.resolve() if root == Path("/") else path
    mount = mount_of(real, _read_text_if_readable(root / "proc/self/mountinfo"))
    return Filesystem(
        mount=mount.point,
        type=mount.type,
        network=mount.type in _NETWORK,
        memory=mount.type in _MEMORY,
        rotational=_is_rotational(root, mount),
        free_bytes=_measure_free_bytes(real) if root == Path("/") else 0,
    )


@immutable
class Mount:
    """A line of mountinfo.

    Attributes:
        point: the directory that it is mounted on.
        type: type of the filesystem, "drvfs" for Windows drives in WSL.
        source: the mounted device or "server:/export".
        device: number of the device, "MAJOR:MINOR".
    """

    point: PurePath
    type: str
    source: str
    device: str


def mount_of(path: PurePath, mountinfo: str) -> Mount:
    """Return the mount of a path: the longest one, and of several in one place the last, which hides the others.

    >>> mount_of(PurePath("/data/photos"), "36 35 0:30 / /data rw - nfs4 nas:/export rw").source
    'nas:/export'

    Args:
        path: absolute, with symbolic links already resolved.
        mountinfo: the text of /proc/self/mountinfo.
    """
    nowhere = Mount(point=PurePath("/"), type="", source="", device="")
    found = [mount for mount in _parse_mounts(mountinfo) if path.is_relative_to(mount.point)]
    longest = max((len(mount.point.parts) for mount in found), default=0)
    return next((mount for mount in reversed(found) if len(mount.point.parts) == longest), nowhere)


def _parse_mounts(mountinfo: str) -> Iterator[Mount]:
    for line in mountinfo.splitlines():
        first, dash, second = line.partition(" - ")
        fields, rest = first.split(" "), second.split(" ")
        if dash and len(fields) > 4 and len(rest) > 1:  # noqa: PLR2004 (the mount point is the fifth)
            point = PurePath(_unescape_octal(fields[4]))
            yield Mount(
                point=point,
                type=_name_filesystem_type(rest[0], rest[-1]),
                source=_unescape_octal(rest[1]),
                device=fields[2],
            )


def _name_filesystem_type(name: str, options: str) -> str:
    """Return the type; "drvfs" for Windows drives, which WSL mounts by 9p."""
    return "drvfs" if name == "9p" and "aname=drvfs" in options else name


def _unescape_octal(text: str) -> str:
    """Replace the octal escapes for space, tab, newline and backslash."""
    return _ESCAPED.sub(lambda found: chr(int(found[1], 8)), text)


def _is_rotational(root: Path, mount: Mount) -> bool | None:
    """Tell whether the disk rotates, or return None if that is unknown.

    A filesystem over several devices (btrfs) has its own number, and is looked up by its source. A virtual disk
    reports 1 unless its host sets it otherwise, so it says nothing.
    """
    for entry in (
        root / "sys/dev/block" / mount.device,
        root / "sys/class/block" / _resolve_device_name(root, mount.source),
    ):
        disk = entry.resolve()
        for place in (disk, disk.parent):
            said = _read_text_if_readable(place / "queue/rotational").strip()
            if said:
                return None if _VIRTUAL.fullmatch(place.name) else said == "1"
    return None


def _resolve_device_name(root: Path, source: str) -> str:
    """Return the kernel's name of a device: "dm-0" for "/dev/mapper/vg-data"."""
    if not source.startswith("/dev/"):
        return "-"
    return (root / source.lstrip("/")).resolve().name


def _measure_free_bytes(path: Path) -> int:
    there = next(each for each in (path, *path.parents) if each.exists())
    found = os.statvfs(there)
    return found.f_bavail * found.f_frsize


def _read_text_if_readable(path: Path) -> str:
    try:
        return foreign.read_text(path, errors="replace")
    except OSError:
        return ""
