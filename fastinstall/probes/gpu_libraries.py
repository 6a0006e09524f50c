"""The driver's libraries that a program would load: where they lie, and their versions by the names of their files.

A driver installs `libcuda.so.1` and `libnvidia-ml.so.1` as links to files that bear its version. A package for forward
compatibility brings a later libcuda alone, in a directory `compat`; then only libnvidia-ml tells the driver's version.

Source: NVIDIA's CUDA Compatibility, "Forward Compatibility".
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path

from fastinstall.model.immutable import immutable

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
        compat: the version of a forward-compatibility libcuda, where that is the one found; empty elsewhere.
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
    libcuda, management = _found(_CUDA, root, library_path, wsl=wsl), _found(_NVML, root, library_path, wsl=wsl)
    own = _number(libcuda)
    compat = own if libcuda is not None and _is_compat(libcuda) else ""
    return DriverLibraries(libcuda=libcuda, version=_number(management) or ("" if compat else own), compat=compat)


def _found(name: str, root: Path, library_path: str, *, wsl: bool) -> Path | None:
    return next((path for path in _candidates(name, root, library_path, wsl=wsl) if path.exists()), None)


def _candidates(name: str, root: Path, library_path: str, *, wsl: bool) -> Iterator[Path]:
    yield from (root / part.lstrip("/") / name for part in library_path.split(":") if part.startswith("/"))
    if (cached := _cached(name, root)) is not None:
        yield root / cached.lstrip("/")
    if wsl:
        yield root / "usr/lib/wsl/lib" / name
    yield from (root / directory / name for directory in _DIRECTORIES)


def _cached(name: str, root: Path) -> str | None:
    from fastinstall.binary.loader_cache import read_loader_cache  # noqa: PLC0415 (only where a GPU is)

    return read_loader_cache(root / "etc/ld.so.cache").find(name, os.uname().machine, ())


def _is_compat(path: Path) -> bool:
    return "compat" in path.parts or "compat" in path.resolve().parts


def _number(path: Path | None) -> str:
    """The version that the file bears behind all links."""
    found = _NUMBERED.search(path.resolve().name) if path is not None else None
    return found[1] if found else ""
