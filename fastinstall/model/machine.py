"""What was observed of the machine: its toolchain, the limits on loading images, and its GPUs.

The limits are CPUs, memory, the allocator, and the disk that the files lie on. GPUs come with their driver, and with
what an environment's frameworks were built for. Serial numbers and UUIDs of devices are never kept.
"""

import shlex
from enum import StrEnum
from pathlib import PurePath

from fastinstall.core.values import immutable, published_as


@immutable
class Compiler:
    """The C compiler that would build.

    Attributes:
        command: argv prefix ("cc").
        version: its first line of `--version`.
        accepts: the probed flags that it accepts.
    """

    command: tuple[str, ...]
    version: str
    accepts: tuple[str, ...]

    @property
    def text(self) -> str:
        """Which one it is, as the keys of caches have it."""
        return f"{shlex.join(self.command)}: {self.version}"


CLANG, CLANG_VERSIONS = "ziglang", "==0.17.*"
"""The distribution whose wheel brings a clang that needs nothing of the machine, and its versions that were tried."""


@immutable
class NativeLibrary:
    """A C library of this machine that a build could use.

    Attributes:
        name: the recipe's name for it: "jpeg", "tiff".
        include: the directory that holds its header; None if the header is missing.
        library: the file for the linker; None if it is missing.
        version: as pkg-config or the header says; empty if unknown.
        implementation: for jpeg: "libjpeg-turbo" or "IJG libjpeg"; empty otherwise.
    """

    name: str
    include: PurePath | None
    library: PurePath | None
    version: str = ""
    implementation: str = ""


@immutable
class Toolchain:
    """What this machine could build with.

    Attributes:
        compiler: None if there is none.
        libraries: those that the recipes name, found or not.
        package_manager: "apt" or "dnf"; None if neither is there.
        may_install: whether this user may install system packages.
        named_compiler: what CC says; empty if it says nothing.
        rattler: whether py-rattler (the extra "conda") is installed beside fastinstall.
        channels: conda channels that the user has configured, without credentials.
    """

    compiler: Compiler | None
    libraries: tuple[NativeLibrary, ...] = ()
    package_manager: str | None = None
    may_install: bool = False
    named_compiler: str = ""
    rattler: bool = False
    channels: tuple[str, ...] = ()


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


@published_as("Machine")
@immutable
class LoaderLimits:
    """What bounds a loader on this machine.

    Attributes:
        cpu: its name.
        cores: logical CPUs that a process may run on.
        quota: CPUs granted by the control group; None if unlimited.
        memory_bytes: memory that may be used, by the control group where that grants less.
        huge_pages: the kernel's word on transparent huge pages: "always", "madvise", "never"; empty if unknown.
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
        """How many processes can compute at the same time: whole CPUs of the quota, at least one."""
        granted = self.cores if self.quota is None else min(self.cores, int(self.quota))
        return max(1, granted)


class GpuSource(StrEnum):
    """Who told of the GPUs."""

    NVML = "NVML"
    PROC = "/proc"
    NODES = "device nodes"
    NOTHING = "nothing"


class Nvml(StrEnum):
    """What became of asking NVML, the driver's management library."""

    NOT_ASKED = "not asked"
    ANSWERED = "answered"
    NO_PACKAGE = "no nvidia-ml-py"
    NO_LIBRARY = "no library"
    MISMATCH = "library and kernel module of different versions"
    REFUSED = "refused"
    HUNG = "no answer in time"


@immutable
class GpuDevice:
    """One GPU.

    Attributes:
        name: "NVIDIA GeForce RTX 3090"; empty if unknown.
        capability: compute capability, "8.6"; empty if unknown: only NVML tells it.
        memory_bytes: of the device; None if unknown.
    """

    name: str
    capability: str = ""
    memory_bytes: int | None = None


@immutable
class FrameworkBuild:
    """What a framework in site-packages was built for, by its files alone; it was not imported.

    Attributes:
        name: of the distribution: "torch", "torchvision", "tensorflow", "jax".
        version: with the local label, where its files tell one: "2.9.1+cu126".
        cuda: the CUDA version that it was built with, "12.6", or "12" where only that is told; None for builds without.
        rocm: the version of ROCm or HIP, for AMD's GPUs; None for builds without.
        xpu: the version of Intel's oneAPI; None for builds without.
        known: whether its files tell what it was built for.
        architectures: compute capabilities that it has code for, "8.6", those with PTX as "9.0+PTX"; empty if no
            file tells them: torch has them inside its libraries only.
        wants_torch: the version of torch that its metadata asks for; empty if it asks for none or for several.
        source: the file that told.
    """

    name: str
    version: str
    cuda: str | None = None
    rocm: str | None = None
    xpu: str | None = None
    known: bool = True
    architectures: tuple[str, ...] = ()
    wants_torch: str = ""
    source: PurePath | None = None


@immutable
class Gpu:
    """NVIDIA GPUs of the machine as a process here sees them, their driver, and the frameworks that would use them.

    Attributes:
        found_by: who told of the devices.
        devices: GPUs that the driver gives to processes here; empty if there are none, or if nobody tells.
        nodes: whether device files are there (`/dev/nvidia0`, `/dev/nvidiactl`; `/dev/dxg` under WSL).
        cards: how many GPUs of NVIDIA's are on the PCI bus without NVIDIA's driver; counted where none is loaded, and
            less those that are given to virtual machines.
        driver: the version of the kernel's module, "550.54.15"; empty if none is loaded.
        open_module: whether that is the open kernel module.
        driver_cuda: the highest CUDA version that the driver offers, "12.4"; empty if unknown: only NVML tells it.
        library: the version of the driver's library for programs, by the name of its file; empty if unknown.
        libcuda: the file that programs would load as libcuda.so.1; None if there is none.
        compat: the version of a forward-compatibility package's libcuda, where that would be loaded; empty otherwise.
        nvml: what became of asking NVML.
        problem: why NVML did not tell, in words; empty if it did, or was not asked.
        wsl: whether this is the Windows Subsystem for Linux, where `driver` and `driver_cuda` are Windows's.
        tegra: whether this is a Jetson or another Tegra, whose driver is part of its system image.
        container: whether this seems to be a container.
        frameworks: what those of the environment were built for.
    """

    found_by: GpuSource = GpuSource.NOTHING
    devices: tuple[GpuDevice, ...] = ()
    nodes: bool = False
    cards: int = 0
    driver: str = ""
    open_module: bool = False
    driver_cuda: str = ""
    library: str = ""
    libcuda: PurePath | None = None
    compat: str = ""
    nvml: Nvml = Nvml.NOT_ASKED
    problem: str = ""
    wsl: bool = False
    tegra: bool = False
    container: bool = False
    frameworks: tuple[FrameworkBuild, ...] = ()

    @property
    def present(self) -> bool:
        """Whether there is any sign of a GPU of NVIDIA's: a device, its file, a card, a loaded driver, a Tegra."""
        return bool(self.devices or self.nodes or self.cards or self.driver or self.tegra)

    @property
    def mismatch(self) -> bool:
        """Whether kernel module and library are of different versions; NVML knows, else the files' names tell."""
        if self.nvml in (Nvml.ANSWERED, Nvml.MISMATCH):
            return self.nvml is Nvml.MISMATCH
        told = bool(self.driver and self.library) and not (self.wsl or self.tegra)
        return told and self.driver != self.library

    @property
    def usable(self) -> bool:
        """Whether a process here would reach a GPU, as far as files tell: device files, the libraries, no mismatch."""
        return (self.nodes or self.tegra) and self.libcuda is not None and not self.mismatch
