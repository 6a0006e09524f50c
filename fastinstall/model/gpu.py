"""NVIDIA GPUs, their driver, and the GPU platforms for which an environment's frameworks were built.

Serial numbers and UUIDs of devices are never kept.
"""

from enum import StrEnum
from pathlib import PurePath

from fastinstall.core.values import immutable


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

        Without an answer from NVML, `driver` and `library` are compared; under WSL and on Tegra, the result is false.
        """
        if self.nvml in (Nvml.ANSWERED, Nvml.MISMATCH):
            return self.nvml is Nvml.MISMATCH
        told = bool(self.driver and self.library) and not (self.wsl or self.tegra)
        return told and self.driver != self.library

    @property
    def usable(self) -> bool:
        """Whether a process could use a GPU, judging by device files, the library, and the driver's versions."""
        return (self.nodes or self.tegra) and self.libcuda is not None and not self.mismatch
