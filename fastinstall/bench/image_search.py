"""Find images: a bounded search, and a repeatable sample.

Nothing is decoded here.
"""

import hashlib
import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path, PurePath

from fastinstall.core import foreign
from fastinstall.core.values import immutable
from fastinstall.model.machine import Filesystem

EXTENSIONS = frozenset(
    (
        *(".jpg", ".jpeg", ".jpe", ".jfif", ".png", ".webp", ".bmp", ".dib", ".gif", ".tif", ".tiff"),
        *(".ppm", ".pgm", ".pnm", ".jp2", ".j2k", ".jpx", ".avif", ".tga", ".qoi", ".mpo", ".apng", ".heic", ".heif"),
    )
)
_MAGIC = (
    *(b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n", b"GIF8", b"BM", b"II*\0", b"MM\0*", b"P5", b"P6", b"qoif"),
    *(b"\0\0\0\x0cjP  ", b"\xffO\xffQ"),
)
_SKIPPED = frozenset(("node_modules", "__pycache__"))


@immutable
class SurveyedImage:
    """An image, and whether it may be measured.

    Attributes:
        path: as it was given.
        format: Pillow's name, "JPEG" for phones' MPO pictures; empty if unknown.
        mode: Pillow's name of its samples; empty likewise.
        width: in pixels, as stored; the EXIF orientation is never applied.
        height: likewise.
        size_bytes: of the file.
        reason: why it is not measured; empty if it may be. "unreadable", "not a file", "empty", "not an image",
            "truncated", "corrupt", "CMYK", "LAB", "16 bits per channel", "animated", "several pages", "too large",
            "too small", "vector graphics", "takes too long", "kills the decoder: SIGSEGV",
            "HEIC: Pillow reads it only with pillow-heif".
    """

    path: Path
    format: str = ""
    mode: str = ""
    width: int = 0
    height: int = 0
    size_bytes: int = 0
    reason: str = ""

    @property
    def megapixels(self) -> float:
        """Millions of pixels."""
        return self.width * self.height / 1e6


@immutable
class SearchBounds:
    """The limits of a search.

    Attributes:
        entries: directory entries to examine.
        seconds: duration.
    """

    entries: int = 200_000
    seconds: float = 5.0


class ImageSearch:
    """A search, and its result.

    Attributes:
        others: how many files do not look like images.
        unreadable: directories that could not be listed.
        complete: whether the search finished before a limit.
    """

    def __init__(self, bounds: SearchBounds) -> None:
        self.others = 0
        self.unreadable: list[Path] = []
        self.complete = True
        self._found: set[Path] = set()
        self._left = bounds.entries
        self._end = time.monotonic() + bounds.seconds
        self._seen: set[tuple[int, int]] = set()

    @cached_property
    def images(self) -> tuple[Path, ...]:
        """Files that look like images, sorted by path."""
        return tuple(sorted(self._found))

    def walk(self, top: Path) -> None:
        """Search a directory; anything else counts as a file."""
        if top.exists() and not top.is_dir():
            self._found.add(top)
            return
        pending = [str(top)]
        while pending:
            directory = pending.pop()
            if not self._is_first(directory):
                continue
            for entry in self._scan_entries(directory):
                self._left -= 1
                if self._left < 0 or time.monotonic() >= self._end:
                    self.complete = False
                    return
                if _has_kind(entry.is_dir):
                    if not entry.name.startswith(".") and entry.name not in _SKIPPED:
                        pending.append(entry.path)
                elif _has_kind(entry.is_file) and _is_image(entry):
                    self._found.add(Path(entry.path))
                else:
                    self.others += 1

    def _is_first(self, directory: str) -> bool:
        try:
            status = os.stat(directory)  # noqa: PTH116 (hundreds of thousands of objects would cost too much time)
        except OSError:
            self.unreadable.append(Path(directory))
            return False
        place = (status.st_dev, status.st_ino)
        first = place not in self._seen
        self._seen.add(place)
        return first

    def _scan_entries(self, directory: str) -> Iterator["os.DirEntry[str]"]:
        try:
            with os.scandir(directory) as entries:
                yield from entries
        except OSError:
            self.unreadable.append(Path(directory))


def find_images(places: Sequence[Path], bounds: SearchBounds | None = None) -> ImageSearch:
    """Search directories for images, by extension, or by their first bytes without one.

    A file named explicitly always counts. Hidden directories are skipped, and each directory is searched once, even if
    several links lead to it.

    Args:
        places: directories and files that exist.
        bounds: the limits; None for the default.
    """
    search = ImageSearch(bounds or SearchBounds())
    for place in places:
        search.walk(place)
    return search


def spread_evenly(images: Sequence[Path]) -> tuple[Path, ...]:
    """Reorder images, always in the same way, so that every beginning is an even sample of each kind."""
    by_kind: dict[str, list[Path]] = {}
    for each in sorted(images, key=lambda each: hashlib.sha1(os.fsencode(each), usedforsecurity=False).digest()):
        by_kind.setdefault(each.suffix.lower(), []).append(each)
    placed = [((number + 0.5) / len(kind), each) for kind in by_kind.values() for number, each in enumerate(kind)]
    return tuple(each for _, each in sorted(placed, key=lambda each: each[0]))


def _has_kind(test: Callable[[], bool]) -> bool:
    """Return whether an entry is of a kind; an unreadable one is not."""
    try:
        return test()
    except OSError:
        return False


def _is_image(entry: "os.DirEntry[str]") -> bool:
    extension = os.path.splitext(entry.name)[1].lower()  # noqa: PTH122 (as above)
    return extension in EXTENSIONS if extension else _has_magic(entry.path)


def _has_magic(path: str) -> bool:
    try:
        with open(path, "rb", buffering=0) as stream:  # noqa: PTH123 (as above)
            start = stream.read(16)
    except OSError:
        return False
    return start.startswith(_MAGIC) or (start[:4] == b"RIFF" and start[8:12] == b"WEBP")


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
        point: the mount point.
        type: of the filesystem.
        source: the mounted device or "server:/export".
        device: "MAJOR:MINOR".
    """

    point: PurePath
    type: str
    source: str
    device: str


def mount_of(path: PurePath, mountinfo: str) -> Mount:
    """Return the mount of a path: the longest one, and of several in one place the last, which hides the others.

    Args:
        path: absolute, without links.
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
