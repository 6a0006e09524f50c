"""Find NVIDIA GPUs and their driver.

The kernel's files show whether there are GPUs. If there are, NVML (the driver's management library) is queried through
nvidia-ml-py (the extra "cuda"). A subprocess with a time limit does this, because a hung driver hangs its callers.
Without NVML, /proc/driver/nvidia gives the driver's version and the names of the GPUs, but not their compute capability
and memory.

A driver installs `libcuda.so.1` and `libnvidia-ml.so.1` as links to files named after the driver's version. A package
for forward compatibility adds only a later libcuda, in a directory `compat`. In that case, only libnvidia-ml shows the
driver's version.

Sources: the driver's README, "The /proc Interface"; NVIDIA's CUDA on WSL User Guide; NVML API Reference; NVIDIA's CUDA
Compatibility, "Forward Compatibility". The format of the driver's files is known from public listings only.
"""

import os
import re
import sys
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

from fastinstall.core import foreign
from fastinstall.core.architecture import ARCHITECTURES
from fastinstall.core.parsing import json_data
from fastinstall.core.process import CommandError, run
from fastinstall.model.machine import FrameworkBuild, Gpu, GpuDevice, GpuSource, Nvml

_VERSION = re.compile(r"Module\s+(?:for\s+\S+\s+)?(\d+(?:\.\d+)+)")
_MODEL = re.compile(r"^Model:[ \t]*(.*?)[ \t]*$", re.MULTILINE)
_NODES = ("dev/nvidiactl", "dev/nvidia0")
_WSL = "usr/lib/wsl/lib/libcuda.so.1"
_CONTAINER = (".dockerenv", "run/.containerenv", "var/run/secrets/kubernetes.io")
_ROOT = Path("/")


def join_gpu_facts(hardware: Gpu, frameworks: tuple[FrameworkBuild, ...]) -> Gpu | None:
    """Return the hardware with the frameworks added, or None if there is neither a GPU nor a framework."""
    return replace(hardware, frameworks=frameworks) if hardware.present or frameworks else None


def observe_hardware(*, nvml: bool = True, library_path: str = "", root: Path = _ROOT) -> Gpu:
    """Return the GPUs and their driver, without frameworks. If there are no GPUs, this takes about 0.1 ms.

    Args:
        nvml: whether NVML may be queried.
        library_path: the value of LD_LIBRARY_PATH; empty if unset.
        root: the root directory: "/", or a directory with the files of a captured machine.
    """
    wsl = (root / "dev/dxg").exists() and (root / _WSL).exists()
    board = foreign.text_or_empty(root / "proc/device-tree/compatible")
    tegra = (root / "etc/nv_tegra_release").exists() or "nvidia,tegra" in board
    nodes = wsl or any((root / name).exists() for name in _NODES)
    # NVIDIA's open kernel module and its proprietary one both provide this file.
    text = foreign.text_or_empty(root / "proc/driver/nvidia/version")
    version = _VERSION.search(text)
    driver = version[1] if version else foreign.text_or_empty(root / "sys/module/nvidia/version").strip()
    container = any((root / name).exists() for name in _CONTAINER)
    if not (nodes or driver or tegra):
        return Gpu(cards=_count_cards(root), container=container)
    gpus = root / "proc/driver/nvidia/gpus"
    texts = (foreign.text_or_empty(gpus / name / "information") for name in foreign.list_names(gpus))
    devices = tuple(GpuDevice(name=found[1]) for text in texts if (found := _MODEL.search(text)))
    if tegra and not devices:  # a Tegra's driver lists no devices: use the board's name
        name = foreign.text_or_empty(root / "proc/device-tree/model").strip("\0\n ")
        devices = (GpuDevice(name=name),) if name else ()
    by_nodes = GpuSource.NODES if nodes else GpuSource.NOTHING
    libcuda, management = (_find_library(name, root, library_path, wsl=wsl) for name in (_CUDA, _NVML))
    own = _parse_library_version(libcuda)
    compat = libcuda is not None and "compat" in (*libcuda.parts, *libcuda.resolve().parts)
    seen = Gpu(
        devices=devices,
        found_by=GpuSource.PROC if driver or devices else by_nodes,
        nodes=nodes,
        driver=driver,
        open_module="Open Kernel Module" in text,
        wsl=wsl,
        tegra=tegra,
        container=container,
        libcuda=libcuda,
        library=_parse_library_version(management) or ("" if compat else own),
        compat=own if compat else "",
    )
    return ask_nvml(seen) if nvml else seen


def _count_cards(root: Path) -> int:
    """Count NVIDIA's GPUs on the PCI bus (vendor 10de, class 03), except those passed through to virtual machines."""
    if "\t10de" not in foreign.text_or_empty(root / "proc/bus/pci/devices"):
        return 0
    count = 0
    for place in (root / "sys/bus/pci/devices").glob("*"):
        own = foreign.text_or_empty(place / "vendor").strip() == "0x10de"
        shown = own and foreign.text_or_empty(place / "class").startswith("0x03")
        count += shown and (place / "driver").resolve().name != "vfio-pci"
    return count


_NUMBERED = re.compile(r"\.so\.(\d+\.\d+(?:\.\d+)?)$")
_CUDA, _NVML = "libcuda.so.1", "libnvidia-ml.so.1"
_DIRECTORIES = (
    *(f"usr/lib/{each.target}{below}" for each in ARCHITECTURES for below in ("", "/tegra", "/nvidia")),
    *("usr/lib64", "usr/lib", "usr/local/nvidia/lib64", "run/opengl-driver/lib"),
)


def _find_library(name: str, root: Path, library_path: str, *, wsl: bool) -> Path | None:
    """Find a library in LD_LIBRARY_PATH, the loader's cache or the usual directories; return its path, or None."""
    from fastinstall.elf.loader.ld_so_cache import read_loader_cache  # needed only if there is a GPU

    places = [root / part.lstrip("/") / name for part in library_path.split(":") if part.startswith("/")]
    cached = read_loader_cache(root / "etc/ld.so.cache").find(name, os.uname().machine, ())
    places += [root / cached.lstrip("/")] if cached is not None else []
    places += [root / "usr/lib/wsl/lib" / name] if wsl else []  # under WSL, Windows provides these libraries
    places += [root / directory / name for directory in _DIRECTORIES]
    return next((path for path in places if path.exists()), None)


def _parse_library_version(path: Path | None) -> str:
    """Return the version in a library's file name, with links resolved; empty if it has none or `path` is None."""
    found = _NUMBERED.search(path.resolve().name) if path is not None else None
    return found[1] if found else ""


_SCRIPT = Path(__file__).with_name("_gpu_nvml.py")
_NO_PACKAGE = "nvidia-ml-py, which queries NVML, is not installed beside fastinstall: install fastinstall[cuda]"
_SECONDS = 5.0
_STATES = {12: Nvml.NO_LIBRARY, 18: Nvml.MISMATCH}
"""States for the error codes NVML_ERROR_LIBRARY_NOT_FOUND and NVML_ERROR_LIB_RM_VERSION_MISMATCH (nvml.h)."""


def ask_nvml(seen: Gpu, *, seconds: float = _SECONDS) -> Gpu:
    """Add NVML's answers to facts from files; if NVML does not answer, `problem` in the result gives the reason.

    Args:
        seen: the facts from files.
        seconds: the time limit, in seconds.
    """
    package = find_spec("pynvml")
    if package is None or package.origin is None:
        return replace(seen, nvml=Nvml.NO_PACKAGE, problem=_NO_PACKAGE)
    try:
        answer = run((sys.executable, "-I", "-B", _SCRIPT, str(Path(package.origin).parent)), timeout=seconds)
        told = json_data(answer.stdout)
    except CommandError as error:
        if error.timed_out:
            return replace(seen, nvml=Nvml.HUNG, problem=f"NVML did not answer within {seconds:g} s")
        last = error.completed.stderr.strip().rpartition("\n")[2]
        killed = error.completed.signal_name
        problem = f"NVML was killed by {killed}" if killed else f"querying NVML failed: {last or error}"
        return replace(seen, nvml=Nvml.REFUSED, problem=problem)
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
