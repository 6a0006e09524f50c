"""Images that are loaded, what is done to each, and what of the machine bounds that."""

from pathlib import PurePath

from fastinstall.model.immutable import immutable


@immutable
class Pipeline:
    """What is done to every image.

    Attributes:
        shorter: length of the shorter side after the resize, in pixels.
        crop: side of the square that is cut out of the middle, in pixels; 0 cuts nothing.
        filter: of the resize: "bilinear", "bicubic", "lanczos".
    """

    shorter: int = 256
    crop: int = 224
    filter: str = "bilinear"


@immutable
class Filesystem:
    """Where files lie.

    Attributes:
        mount: the mount point.
        type: as the kernel names it: "ext4", "nfs4", "tmpfs".
        network: whether another machine is asked for the files.
        memory: whether they lie in memory, so that there is no cold cache.
        rotational: whether the disk turns; None if unknown.
        free_bytes: what this user may still write there.
    """

    mount: PurePath
    type: str
    network: bool = False
    memory: bool = False
    rotational: bool | None = None
    free_bytes: int = 0


@immutable
class Machine:
    """What bounds a loader on this machine.

    Attributes:
        cpu: its name.
        cores: logical CPUs that a process may run on.
        quota: CPUs granted by the control group; None if unlimited.
        memory_bytes: memory that may be used, by the control group where that grants less.
        huge_pages: the kernel's word on transparent huge pages: "always", "madvise", "never"; empty if unknown.
        libc_version: of glibc, "2.36"; empty elsewhere.
        tunables: GLIBC_TUNABLES as the measured processes had it.
    """

    cpu: str
    cores: int
    quota: float | None = None
    memory_bytes: int = 0
    huge_pages: str = ""
    libc_version: str = ""
    tunables: str = ""

    @property
    def usable_cpus(self) -> int:
        """How many processes can compute at the same time: whole CPUs of the quota, at least one."""
        granted = self.cores if self.quota is None else min(self.cores, int(self.quota))
        return max(1, granted)


@immutable
class Unmeasured:
    """Images that were left out, for one reason.

    Attributes:
        reason: "truncated", "corrupt", "not an image", "unreadable", "CMYK", "16 bits a channel", "animated",
            "too large", "kills the decoder", ...
        count: how many.
        examples: some of their paths.
    """

    reason: str
    count: int
    examples: tuple[str, ...]


@immutable
class Workload:
    """The images that are loaded.

    Attributes:
        name: for people: "photos of ./train", "500 px JPEG (generated)".
        directory: where they lie.
        files: how many files were found, up to the bound of the search.
        images: how many of them are measured.
        formats: of the measured ones: "JPEG" to how many.
        mean_bytes: of a file.
        megapixels: of an image, mean.
        width: median, in pixels.
        height: median, in pixels.
        generated: whether they were made for the measurement.
        unmeasured: what was left out and why.
        filesystem: where they lie; None if unknown.
    """

    name: str
    directory: PurePath
    files: int
    images: int
    formats: dict[str, int]
    mean_bytes: int
    megapixels: float
    width: int
    height: int
    generated: bool = False
    unmeasured: tuple[Unmeasured, ...] = ()
    filesystem: Filesystem | None = None
