"""The machine's limits on loading images: CPUs, memory, the allocator, and the disk with the files."""

from pathlib import PurePath

from fastinstall.core.values import immutable


@immutable
class Filesystem:
    """A filesystem with files.

    Attributes:
        mount: the directory where it is mounted.
        type: as the kernel names it: "ext4", "nfs4", "tmpfs".
        network: whether another machine serves the files.
        memory: whether the files are in memory, so that there is no cold cache.
        free_bytes: space left for this user.
    """

    mount: PurePath
    type: str
    network: bool = False
    memory: bool = False
    free_bytes: int = 0


@immutable
class LoaderLimits:
    """The limits of a loader on this machine.

    Attributes:
        cpu: name of the CPU model; its architecture if the kernel gives no name.
        cores: logical CPUs that a process may run on.
        quota: CPUs granted by the control group; None if unlimited.
        memory_bytes: usable memory, limited by the control group.
        huge_pages: the kernel's setting of transparent huge pages: "always", "madvise", "never"; empty if unknown.
        libc_version: of glibc, "2.36"; empty otherwise.
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
        """How many processes can run at the same time: full CPUs of the quota, at least one."""
        granted = self.cores if self.quota is None else min(self.cores, int(self.quota))
        return max(1, granted)
