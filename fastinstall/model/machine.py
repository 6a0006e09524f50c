"""The resources of a machine that limit image loading: CPUs, memory, the allocator, and the filesystem."""

from pathlib import PurePath

from fastinstall.core.values import immutable


@immutable
class Filesystem:
    """The filesystem that contains the measured files.

    Attributes:
        mount: the directory where it is mounted.
        type: its type, as the kernel names it: "ext4", "nfs4", "tmpfs".
        network: whether another machine serves the files.
        memory: whether the files are in memory, so that reading with a cold cache cannot be measured.
        free_bytes: free space for this user.
    """

    mount: PurePath
    type: str
    network: bool = False
    memory: bool = False
    free_bytes: int = 0


@immutable
class LoaderLimits:
    """The resources that limit a loader on this machine.

    Attributes:
        cpu: name of the CPU model; its architecture if the kernel gives no name.
        cores: logical CPUs that a process may run on.
        quota: number of CPUs that the control group grants; None if unlimited.
        memory_bytes: usable memory, at most the control group's limit.
        huge_pages: the kernel's setting of transparent huge pages: "always", "madvise", "never"; empty if unknown.
        libc_version: version of glibc, "2.36"; empty for another C library.
        tunables: value of GLIBC_TUNABLES in the measured processes.
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
        """Number of processes that can run at the same time: `cores`, or `quota` rounded down if less; at least one."""
        granted = self.cores if self.quota is None else min(self.cores, int(self.quota))
        return max(1, granted)
