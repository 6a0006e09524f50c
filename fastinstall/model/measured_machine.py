"""What of a machine bounds the loading of images: CPUs, memory, the allocator, and the disk that the files lie on."""

from pathlib import PurePath

from fastinstall.model.immutable import immutable


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
