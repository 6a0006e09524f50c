"""A machine: its limits on image loading, its GPUs and their driver, and its compiler and libraries."""

import shlex
from enum import StrEnum
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
    """The resources of this machine that limit the loading of images.

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


@immutable
class LoadingFacts:
    """Settings that decide how a program that loads images allocates memory.

    Attributes:
        huge_pages: the kernel's setting of transparent huge pages: "always", "madvise", "never"; empty if unknown.
        tunables: GLIBC_TUNABLES, as the target's programs receive it.
    """

    huge_pages: str = ""
    tunables: str = ""


@immutable
class Compiler:
    """The C compiler for builds.

    Attributes:
        command: the argv that runs it, without flags ("cc").
        version: the first line of its `--version` output.
        accepts: the flags that it accepts, among those that were tested.
    """

    command: tuple[str, ...]
    version: str
    accepts: tuple[str, ...]

    @property
    def text(self) -> str:
        """The compiler's command and version, which identify it in cache keys."""
        return f"{shlex.join(self.command)}: {self.version}"


@immutable
class NativeLibrary:
    """A C library of this machine that a build could use.

    Attributes:
        name: the recipe's name for it: "jpeg", "tiff".
        include: the directory with its header; None if the header is missing.
        library: the file that the linker uses; None if it is missing.
        version: from pkg-config or the header; empty if unknown.
        implementation: for jpeg: "libjpeg-turbo" or "IJG libjpeg"; empty otherwise.
    """

    name: str
    include: PurePath | None
    library: PurePath | None
    version: str = ""
    implementation: str = ""


@immutable
class Toolchain:
    """The build tools and libraries of this machine.

    Attributes:
        compiler: the C compiler; None if there is none.
        libraries: the recipes' libraries, including missing ones.
        package_manager: "apt", "dnf", "zypper", "pacman" or "apk"; None if the machine has none of these.
        may_install: whether fastinstall may install system packages, as this user and with this package manager.
        as_root: text to put before a command that needs root: "" for root, "sudo ", or "as root: " without sudo.
        named_compiler: the value of CC; empty if unset.
        rattler: whether py-rattler (the extra "conda") is installed with fastinstall.
        channels: conda channels that the user has configured, without credentials.
    """

    compiler: Compiler | None
    libraries: tuple[NativeLibrary, ...] = ()
    package_manager: str | None = None
    may_install: bool = False
    as_root: str = "sudo "
    named_compiler: str = ""
    rattler: bool = False
    channels: tuple[str, ...] = ()


class GpuSource(StrEnum):
    """The source of the facts about GPUs."""

    NVML = "NVML"
    PROC = "/proc"
    NODES = "device nodes"
    NOTHING = "nothing"


class Nvml(StrEnum):
    """The result of asking NVML, the driver's management library."""

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
        capability: compute capability, "8.6"; empty if unknown: only NVML reports it.
        memory_bytes: size of its memory; None if unknown.
    """

    name: str
    capability: str = ""
    memory_bytes: int | None = None


@immutable
class FrameworkBuild:
    """The GPU platforms that a framework in site-packages was built for, judged by its files without importing it.

    Attributes:
        name: name of the distribution: "torch".
        version: its version, with the local label if its files have one: "2.9.1+cu126".
        cuda: the CUDA version of the build, "12.6", or "12" if only the major version is known; None without CUDA.
        rocm: the version of ROCm or HIP, for AMD's GPUs; None without either.
        xpu: the version of Intel's oneAPI; None without oneAPI.
        known: whether the framework's files show for which platforms it was built.
        source: the file that shows the platforms; None if no file does.
    """

    name: str
    version: str
    cuda: str | None = None
    rocm: str | None = None
    xpu: str | None = None
    known: bool = True
    source: PurePath | None = None


@immutable
class Gpu:
    """The NVIDIA GPUs that a process on this machine sees, their driver, and the frameworks that would use them.

    Serial numbers and UUIDs of devices are never kept.

    Attributes:
        found_by: the source of `devices`.
        devices: GPUs that processes on this machine can use; empty if there are none, or if unknown.
        nodes: whether device files exist (`/dev/nvidia0`, `/dev/nvidiactl`; `/dev/dxg` under WSL).
        cards: number of NVIDIA GPUs on the PCI bus, except those passed to virtual machines; only counted if NVIDIA's
            driver is not loaded.
        driver: the version of the kernel module, "550.54.15"; empty if none is loaded.
        open_module: whether this is NVIDIA's open kernel module.
        driver_cuda: the highest CUDA version that the driver supports, "12.4"; empty if unknown: only NVML reports it.
        library: the version of the driver's user-space library, from its file name; empty if unknown.
        libcuda: the file that programs would load as libcuda.so.1; None if there is none.
        compat: the version of libcuda in a forward-compatibility package; empty if programs would load another libcuda.
        nvml: the result of asking NVML.
        problem: why NVML did not answer, in words; empty if it answered or was not asked.
        wsl: whether this is the Windows Subsystem for Linux; `driver` and `driver_cuda` are then those of Windows.
        tegra: whether this is a Jetson or another Tegra, whose driver is part of its system image.
        container: whether this seems to be a container.
        frameworks: the environment's frameworks, and the platforms for which they were built.
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
        """Whether there is any sign of an NVIDIA GPU: a device, its file, a card, a loaded driver, a Tegra."""
        return bool(self.devices or self.nodes or self.cards or self.driver or self.tegra)

    @property
    def mismatch(self) -> bool:
        """Whether the driver's kernel module and its library have different versions.

        If NVML reports a mismatch or answers queries, that decides. Otherwise, `driver` and `library` are compared,
        except under WSL and on Tegra, where the result is false.
        """
        if self.nvml in (Nvml.ANSWERED, Nvml.MISMATCH):
            return self.nvml is Nvml.MISMATCH
        told = bool(self.driver and self.library) and not (self.wsl or self.tegra)
        return told and self.driver != self.library

    @property
    def usable(self) -> bool:
        """Whether a process could use a GPU, judging by device files, the library, and the driver's versions."""
        return (self.nodes or self.tegra) and self.libcuda is not None and not self.mismatch
