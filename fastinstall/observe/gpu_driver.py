"""NVIDIA GPUs and their driver, from the kernel's files, and from NVML if there is a GPU; no framework is imported.

NVML is asked through nvidia-ml-py (the extra "cuda") in a process with a time limit, because a driver that hangs takes
its caller with it. Without it, /proc/driver/nvidia gives the driver's version and the names of the GPUs, but not their
compute capability and memory.

A driver installs `libcuda.so.1` and `libnvidia-ml.so.1` as links to files named after its version. A package for
forward compatibility brings only a later libcuda, in a directory `compat`; then only libnvidia-ml tells the driver's
version.

Sources: the driver's README, "The /proc Interface"; NVIDIA's CUDA on WSL User Guide; NVML API Reference; NVIDIA's CUDA
Compatibility, "Forward Compatibility". The format of the driver's files is known from machines that others have shown
in public; none was at hand.
"""

import os
import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from fastinstall.core import foreign
from fastinstall.core.parsing import json_data
from fastinstall.core.process import CommandError, run
from fastinstall.core.values import immutable
from fastinstall.model.machine import FrameworkBuild, Gpu, GpuDevice, GpuSource, Nvml

_VERSION = re.compile(r"Module\s+(?:for\s+\S+\s+)?(\d+(?:\.\d+)+)")
_MODEL = re.compile(r"^Model:[ \t]*(.*?)[ \t]*$", re.MULTILINE)
_NODES = ("dev/nvidiactl", "dev/nvidia0")
_WSL = "usr/lib/wsl/lib/libcuda.so.1"
_CONTAINER = (".dockerenv", "run/.containerenv", "var/run/secrets/kubernetes.io")
_ROOT = Path("/")


def join_gpu_facts(hardware: Gpu, frameworks: tuple[FrameworkBuild, ...]) -> Gpu | None:
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
    tegra = _is_tegra(root)
    nodes = wsl or any((root / name).exists() for name in _NODES)
    text = _read_text_if_readable(root / "proc/driver/nvidia/version")
    driver = _parse_driver_version(text) or _read_text_if_readable(root / "sys/module/nvidia/version").strip()
    container = any((root / name).exists() for name in _CONTAINER)
    if not (nodes or driver or tegra):
        return Gpu(cards=_count_cards(root), container=container)
    seen = Gpu(
        devices=_read_devices(root) or _read_board(root, tegra=tegra),
        nodes=nodes,
        driver=driver,
        open_module="Open Kernel Module" in text,
        wsl=wsl,
        tegra=tegra,
        container=container,
    )
    return _add_nvml_answers(_add_libraries(replace(seen, found_by=_find_source(seen)), root, library_path), nvml=nvml)


def _find_source(seen: Gpu) -> GpuSource:
    if seen.driver or seen.devices:
        return GpuSource.PROC
    return GpuSource.NODES if seen.nodes else GpuSource.NOTHING


def _parse_driver_version(text: str) -> str:
    """The version in /proc/driver/nvidia/version, in the words of either kernel module."""
    found = _VERSION.search(text)
    return found[1] if found else ""


def _read_devices(root: Path) -> tuple[GpuDevice, ...]:
    try:
        places = sorted((root / "proc/driver/nvidia/gpus").iterdir())
    except OSError:
        return ()
    texts = (_read_text_if_readable(place / "information") for place in places)
    return tuple(GpuDevice(name=found[1]) for text in texts if (found := _MODEL.search(text)))


def _count_cards(root: Path) -> int:
    """GPUs of NVIDIA's on the PCI bus (vendor 10de, display class 03), less those that virtual machines are given."""
    if "\t10de" not in _read_text_if_readable(root / "proc/bus/pci/devices"):
        return 0
    places = (root / "sys/bus/pci/devices").glob("*")
    own = (place for place in places if _read_text_if_readable(place / "vendor").strip() == "0x10de")
    shown = (place for place in own if _read_text_if_readable(place / "class").startswith("0x03"))
    return sum((place / "driver").resolve().name != "vfio-pci" for place in shown)


def _is_tegra(root: Path) -> bool:
    if (root / "etc/nv_tegra_release").exists():
        return True
    return "nvidia,tegra" in _read_text_if_readable(root / "proc/device-tree/compatible")


def _read_board(root: Path, *, tegra: bool) -> tuple[GpuDevice, ...]:
    """The board that a Tegra's GPU is part of: a Tegra's driver lists no device."""
    name = _read_text_if_readable(root / "proc/device-tree/model").strip("\0\n ")
    return (GpuDevice(name=name),) if tegra and name else ()


def _add_libraries(seen: Gpu, root: Path, library_path: str) -> Gpu:
    found = find_driver_libraries(root, library_path, wsl=seen.wsl)
    return replace(seen, library=found.version, libcuda=found.libcuda, compat=found.compat)


def _add_nvml_answers(seen: Gpu, *, nvml: bool) -> Gpu:
    if not nvml:
        return seen

    return ask_nvml(seen)


def _read_text_if_readable(path: Path) -> str:
    try:
        return foreign.read_text(path, errors="replace")
    except OSError:
        return ""


_NUMBERED = re.compile(r"\.so\.(\d+\.\d+(?:\.\d+)?)$")
_CUDA, _NVML = "libcuda.so.1", "libnvidia-ml.so.1"
_DIRECTORIES = (
    "usr/lib/x86_64-linux-gnu",
    "usr/lib64",
    "usr/lib/aarch64-linux-gnu",
    "usr/lib/aarch64-linux-gnu/tegra",
    "usr/lib/aarch64-linux-gnu/nvidia",
    "usr/lib",
    "usr/local/nvidia/lib64",
    "run/opengl-driver/lib",
)


@immutable
class DriverLibraries:
    """What programs would load of the driver.

    Attributes:
        libcuda: the file found as libcuda.so.1, or None if there is none.
        version: of the driver that the libraries belong to; empty if unknown.
        compat: the version of a forward-compatibility libcuda, where that is the one found; empty otherwise.
    """

    libcuda: Path | None = None
    version: str = ""
    compat: str = ""


def find_driver_libraries(root: Path, library_path: str, *, wsl: bool) -> DriverLibraries:
    """Look where the loader looks: LD_LIBRARY_PATH, its cache, the usual directories (man ld.so).

    Args:
        root: what stands for "/".
        library_path: the variable LD_LIBRARY_PATH.
        wsl: whether Windows hands the libraries in.
    """
    libcuda, management = (
        _find_library(_CUDA, root, library_path, wsl=wsl),
        _find_library(_NVML, root, library_path, wsl=wsl),
    )
    own = _parse_library_version(libcuda)
    compat = own if libcuda is not None and _is_compat(libcuda) else ""
    return DriverLibraries(
        libcuda=libcuda, version=_parse_library_version(management) or ("" if compat else own), compat=compat
    )


def _find_library(name: str, root: Path, library_path: str, *, wsl: bool) -> Path | None:
    return next((path for path in _list_library_candidates(name, root, library_path, wsl=wsl) if path.exists()), None)


def _list_library_candidates(name: str, root: Path, library_path: str, *, wsl: bool) -> Iterator[Path]:
    yield from (root / part.lstrip("/") / name for part in library_path.split(":") if part.startswith("/"))
    if (cached := _find_cached_library(name, root)) is not None:
        yield root / cached.lstrip("/")
    if wsl:
        yield root / "usr/lib/wsl/lib" / name
    yield from (root / directory / name for directory in _DIRECTORIES)


def _find_cached_library(name: str, root: Path) -> str | None:
    from fastinstall.elf.loader.ld_so_cache import read_loader_cache  # noqa: PLC0415 (only where a GPU is)

    return read_loader_cache(root / "etc/ld.so.cache").find(name, os.uname().machine, ())


def _is_compat(path: Path) -> bool:
    return "compat" in path.parts or "compat" in path.resolve().parts


def _parse_library_version(path: Path | None) -> str:
    """The version that the file bears behind all links."""
    found = _NUMBERED.search(path.resolve().name) if path is not None else None
    return found[1] if found else ""


_SCRIPT = Path(__file__).with_name("_gpu_nvml.py")
_NO_PACKAGE = "nvidia-ml-py, which asks NVML, is not installed beside fastinstall: its extra [cuda] brings it"
_SECONDS = 5.0
_STATES = {12: Nvml.NO_LIBRARY, 18: Nvml.MISMATCH}
"""NVML_ERROR_LIBRARY_NOT_FOUND and NVML_ERROR_LIB_RM_VERSION_MISMATCH (nvml.h)."""


def ask_nvml(seen: Gpu, *, seconds: float = _SECONDS) -> Gpu:
    """What was seen in files, with what NVML knows beside it; `problem` says why it told nothing.

    Args:
        seen: the GPUs as /proc has them.
        seconds: how long it may take.
    """
    package = find_spec("pynvml")
    if package is None or package.origin is None:
        return replace(seen, nvml=Nvml.NO_PACKAGE, problem=_NO_PACKAGE)
    try:
        answer = run((sys.executable, "-I", "-B", _SCRIPT, str(Path(package.origin).parent)), timeout=seconds)
        told = json_data(answer.stdout)
    except CommandError as error:
        state = Nvml.HUNG if error.timed_out else Nvml.REFUSED
        return replace(seen, nvml=state, problem=_explain_error(error, seconds))
    except ValueError:
        return replace(seen, nvml=Nvml.REFUSED, problem="NVML's answer could not be read")
    return _merge_nvml(seen, told)


def _explain_error(error: CommandError, seconds: float) -> str:
    if error.timed_out:
        return f"NVML did not answer within {seconds:g} s"
    if error.completed.signal_name:
        return f"NVML was killed by {error.completed.signal_name}"
    last = error.completed.stderr.strip().rpartition("\n")[2]
    return f"NVML could not be asked: {last or error}"


def _merge_nvml(seen: Gpu, told: dict[str, Any]) -> Gpu:
    if told["error"]:
        state = _STATES.get(told["code"], Nvml.REFUSED)
        return replace(seen, nvml=state, problem=f"NVML: {told['error']}")
    devices = tuple(GpuDevice(**device) for device in told["devices"])
    return replace(
        seen,
        found_by=GpuSource.NVML,
        nvml=Nvml.ANSWERED,
        devices=devices or seen.devices,
        driver=told["driver"] or seen.driver,
        driver_cuda=told["cuda"],
    )
