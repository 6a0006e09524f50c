"""What findings about CUDA rest on, in words, and the commands that show it."""

from pathlib import PurePath

from fastinstall.model.gpu import FrameworkBuild, Gpu
from fastinstall.rules.checks._verify import show_files, show_text
from fastinstall.rules.cuda import dali_wheel, nvimgcodec_wheel
from fastinstall.rules.cuda_table import TAKEN

_VERSION = PurePath("/proc/driver/nvidia/version")
_NODES = (PurePath("/dev/nvidiactl"), PurePath("/dev/nvidia0"))


def portrait(gpu: Gpu) -> tuple[str, ...]:
    """Driver, GPUs, and what nobody told of them."""
    driver = (f"driver {gpu.driver}{_offer(gpu)}",) if gpu.driver else ()
    devices = tuple(_device(device.name, device.capability, device.memory_bytes) for device in gpu.devices)
    return (*driver, *devices, *((gpu.problem,) if gpu.problem else ()))


def dated() -> str:
    """The age of the data that a verdict rests on."""
    return f"NVIDIA's and pytorch's tables as of {TAKEN}"


def wheels(gpu: Gpu) -> tuple[str, ...]:
    """The wheels that would decode images on this GPU."""
    dali, codec = dali_wheel(gpu), nvimgcodec_wheel(gpu)
    return (f"to decode images on it: {dali} (DALI), {codec} (nvImageCodec)",) if dali and codec else ()


def described(build: FrameworkBuild) -> str:
    """A build with what it was made for: "torch 2.9.1 for CUDA 12.6"."""
    return f"{named(build)} for {made_for(build)}" if build.known else named(build)


def named(build: FrameworkBuild) -> str:
    """Name and version, without the local label."""
    return f"{build.name} {build.version.partition('+')[0]}"


def made_for(build: FrameworkBuild) -> str:
    """What a build was made for."""
    kinds = (("CUDA", build.cuda), ("ROCm", build.rocm), ("XPU", build.xpu))
    return next((f"{name} {version}" for name, version in kinds if version), "the CPU")


def show_driver(*files: PurePath | None) -> str:
    """The driver's version, and the files that tell what a build was made for."""
    return show_text(_VERSION, *(path for path in files if path is not None))


def show_nodes(*files: PurePath | None) -> str:
    """The device files of the driver, and others."""
    return show_files(*_NODES, *(path for path in files if path is not None))


def _offer(gpu: Gpu) -> str:
    offered = f", which offers CUDA {gpu.driver_cuda}" if gpu.driver_cuda else ""
    return f"{' (of Windows)' if gpu.wsl else ''}{offered}"


def _device(name: str, capability: str, memory: int | None) -> str:
    known = f", compute capability {capability}" if capability else ""
    size = f", {memory / (1 << 30):.0f} GiB" if memory else ""
    return f"{name or 'a GPU'}{known}{size}"
