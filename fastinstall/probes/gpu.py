"""NVIDIA GPUs and their driver: from files of the kernel, and where a GPU is, from NVML; no framework is imported.

NVML is asked by nvidia-ml-py (the extra "cuda") in a process with a time limit, because a driver that hangs takes
whoever asks with it. Without it, /proc/driver/nvidia tells the driver's version and the names of the GPUs, and nobody
tells their compute capability and memory.

Sources: the driver's README, "The /proc Interface"; NVIDIA's CUDA on WSL User Guide; NVML API Reference. No GPU was at
hand where this was written: what the driver's files look like is from machines that others have shown in public.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from fastinstall.model.gpu import FrameworkBuild, Gpu, GpuDevice, GpuSource
from fastinstall.system import foreign

if TYPE_CHECKING:
    from fastinstall.model.conda import CondaPackage
    from fastinstall.model.facts import Distribution

_VERSION = re.compile(r"Module\s+(?:for\s+\S+\s+)?(\d+(?:\.\d+)+)")
_MODEL = re.compile(r"^Model:[ \t]*(.*?)[ \t]*$", re.MULTILINE)
_NODES = ("dev/nvidiactl", "dev/nvidia0")
_WSL = "usr/lib/wsl/lib/libcuda.so.1"
_CONTAINER = (".dockerenv", "run/.containerenv", "var/run/secrets/kubernetes.io")
_ROOT = Path("/")


def observe_gpu(
    site_packages: Path,
    distributions: "Sequence[Distribution]",
    *,
    nvml: bool = True,
    library_path: str = "",
    packages: "Sequence[CondaPackage]" = (),
) -> Gpu | None:
    """The GPUs and what the environment's frameworks were built for.

    Args:
        site_packages: of the environment.
        distributions: everything installed there.
        nvml: whether NVML may be asked: about 0.1 s, where a GPU is.
        library_path: the variable LD_LIBRARY_PATH.
        packages: those of conda, where the environment is conda's.
    """
    from fastinstall.probes.gpu_frameworks import observe_frameworks  # noqa: PLC0415 (two probes, wanted one by one)

    hardware = observe_hardware(nvml=nvml, library_path=library_path)
    return joined(hardware, observe_frameworks(site_packages, distributions, packages))


def joined(hardware: Gpu, frameworks: tuple[FrameworkBuild, ...]) -> Gpu | None:
    """Combine both, or return None if there is neither a GPU nor a framework that could use one."""
    return replace(hardware, frameworks=frameworks) if hardware.present or frameworks else None


def observe_hardware(*, nvml: bool = True, library_path: str = "", root: Path = _ROOT) -> Gpu:
    """The GPUs and their driver, without frameworks: about 0.1 ms where there are none.

    Args:
        nvml: whether NVML may be asked.
        library_path: the variable LD_LIBRARY_PATH.
        root: what stands for "/": another directory holds the files of a captured machine.
    """
    wsl = (root / "dev/dxg").exists() and (root / _WSL).exists()
    tegra = _tegra(root)
    nodes = wsl or any((root / name).exists() for name in _NODES)
    text = _text(root / "proc/driver/nvidia/version")
    driver = _driver(text) or _text(root / "sys/module/nvidia/version").strip()
    container = any((root / name).exists() for name in _CONTAINER)
    if not (nodes or driver or tegra):
        return Gpu(cards=_cards(root), container=container)
    seen = Gpu(
        devices=_devices(root) or _board(root, tegra=tegra),
        nodes=nodes,
        driver=driver,
        open_module="Open Kernel Module" in text,
        wsl=wsl,
        tegra=tegra,
        container=container,
    )
    return _asked(_with_libraries(replace(seen, found_by=_source(seen)), root, library_path), nvml=nvml)


def _source(seen: Gpu) -> GpuSource:
    if seen.driver or seen.devices:
        return GpuSource.PROC
    return GpuSource.NODES if seen.nodes else GpuSource.NOTHING


def _driver(text: str) -> str:
    """The version in /proc/driver/nvidia/version, in the words of either kernel module."""
    found = _VERSION.search(text)
    return found[1] if found else ""


def _devices(root: Path) -> tuple[GpuDevice, ...]:
    try:
        places = sorted((root / "proc/driver/nvidia/gpus").iterdir())
    except OSError:
        return ()
    texts = (_text(place / "information") for place in places)
    return tuple(GpuDevice(name=found[1]) for text in texts if (found := _MODEL.search(text)))


def _cards(root: Path) -> int:
    """GPUs of NVIDIA's on the PCI bus (vendor 10de, display class 03), less those that virtual machines are given."""
    if "\t10de" not in _text(root / "proc/bus/pci/devices"):
        return 0
    places = (root / "sys/bus/pci/devices").glob("*")
    own = (place for place in places if _text(place / "vendor").strip() == "0x10de")
    shown = (place for place in own if _text(place / "class").startswith("0x03"))
    return sum((place / "driver").resolve().name != "vfio-pci" for place in shown)


def _tegra(root: Path) -> bool:
    if (root / "etc/nv_tegra_release").exists():
        return True
    return "nvidia,tegra" in _text(root / "proc/device-tree/compatible")


def _board(root: Path, *, tegra: bool) -> tuple[GpuDevice, ...]:
    """The board that a Tegra's GPU is part of: a Tegra's driver lists no device."""
    name = _text(root / "proc/device-tree/model").strip("\0\n ")
    return (GpuDevice(name=name),) if tegra and name else ()


def _with_libraries(seen: Gpu, root: Path, library_path: str) -> Gpu:
    from fastinstall.probes.gpu_libraries import find_driver_libraries  # noqa: PLC0415 (only where a GPU is)

    found = find_driver_libraries(root, library_path, wsl=seen.wsl)
    return replace(seen, library=found.version, libcuda=found.libcuda, compat=found.compat)


def _asked(seen: Gpu, *, nvml: bool) -> Gpu:
    if not nvml:
        return seen
    from fastinstall.probes.gpu_nvml import told_by_nvml  # noqa: PLC0415 (only where a GPU is)

    return told_by_nvml(seen)


def _text(path: Path) -> str:
    try:
        return foreign.read_text(path, errors="replace")
    except OSError:
        return ""
