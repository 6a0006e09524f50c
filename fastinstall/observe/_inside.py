"""Print what an interpreter says about itself, as one line of JSON. Runs inside the target, never in the tool.

Run as `PYTHON -I -S -B`: without `site` it starts in a fraction of the time, runs no `.pth` file and writes no
bytecode. This script therefore does first what `site` does for a virtual environment (PEP 405). Standard library
only, for Python 3.7 to 3.14, CPython and PyPy.
"""

# ruff: noqa: PTH100, PTH112, PTH113, PTH118, PTH120, PTH208 (importing pathlib would take longer than all of this)

from __future__ import annotations

import json
import os
import sys

MARKER = "fastinstall.interpreter/1"


def enter_environment() -> None:
    """Point `sys.prefix` to the virtual environment of this interpreter, as `site` does."""
    if sys.prefix != sys.base_prefix:
        return
    here = os.path.dirname(os.path.abspath(sys.executable))
    for directory in (here, os.path.dirname(here)):
        if os.path.isfile(os.path.join(directory, "pyvenv.cfg")):
            sys.prefix = sys.exec_prefix = os.path.dirname(here)
            return


def describe() -> dict[str, object]:
    """Return the fields of `fastinstall.model.facts.Interpreter`."""
    import sysconfig  # noqa: PLC0415 (reads sys.prefix when it is imported)

    implementation = sys.implementation.name
    include = sysconfig.get_path("include")
    libc, libc_version = _detect_libc()
    managed = _find_marker(sysconfig.get_path("stdlib"))
    return {
        "executable": sys.executable,
        "implementation": implementation,
        "version": ".".join(str(part) for part in sys.version_info[:3]) + _stage(),
        "abi": _derive_abi(implementation, sysconfig.get_config_var("SOABI") or ""),
        "platform": sysconfig.get_platform(),
        "libc": libc,
        "libc_version": libc_version,
        "free_threaded": bool(sysconfig.get_config_var("Py_GIL_DISABLED")),
        "extension_suffix": sysconfig.get_config_var("EXT_SUFFIX") or "",
        "prefix": sys.prefix,
        "base_prefix": sys.base_prefix,
        "site_packages": _find_site_packages(sysconfig.get_path("platlib"), managed),
        "include": include,
        "has_headers": os.path.isfile(os.path.join(include, "Python.h")),
        "cflags": sysconfig.get_config_var("CFLAGS") or "",
        "externally_managed": managed,
        "pip_version": _find_pip_version(sysconfig.get_path("purelib"), sysconfig.get_path("platlib")),
    }


def _stage() -> str:
    """Return the pre-release part of the version: "rc1"."""
    level = {"alpha": "a", "beta": "b", "candidate": "rc"}.get(sys.version_info.releaselevel, "")
    return level + str(sys.version_info.serial) if level else ""


def _derive_abi(implementation: str, soabi: str) -> str:
    """Return the ABI tag of PEP 425; PyPy's is derived from its SOABI ("pypy310-pp73")."""
    if implementation == "cpython":
        return "cp{}{}{}".format(sys.version_info[0], sys.version_info[1], getattr(sys, "abiflags", ""))
    return "_".join(soabi.split("-")[:2])


def _detect_libc() -> tuple[str, str]:
    """Return name and version of the C library; musl does not answer confstr, but its loader has a fixed path."""
    try:
        name, _, version = (os.confstr("CS_GNU_LIBC_VERSION") or "").partition(" ")
    except (AttributeError, ValueError, OSError):
        name, version = "", ""
    if name:
        return name, version
    found = any(entry.startswith("ld-musl-") for entry in _list_directory("/lib"))
    return ("musl" if found else ""), ""


def _find_marker(stdlib: str) -> str | None:
    """Return the marker of PEP 668, which does not apply to virtual environments."""
    marker = os.path.join(stdlib, "EXTERNALLY-MANAGED")
    return marker if sys.prefix == sys.base_prefix and os.path.isfile(marker) else None


def _find_site_packages(platlib: str, managed: str | None) -> str:
    """Return where distributions go or, for a system Python, which nobody changes, where its PIL is installed.

    Debian's Python has several such directories; pip installs into a different one from Debian's packages.
    """
    if managed is None or os.path.isdir(os.path.join(platlib, "PIL")):
        return platlib
    import site  # noqa: PLC0415 (rarely needed)

    holding = (entry for entry in site.getsitepackages() if os.path.isdir(os.path.join(entry, "PIL")))
    return next(holding, platlib)


def _find_pip_version(*directories: str) -> str | None:
    for directory in directories:
        for entry in _list_directory(directory):
            name, _, rest = entry.partition("-")
            if name == "pip" and rest.endswith((".dist-info", ".egg-info")):
                return rest.rpartition(".")[0]
    return None


def _list_directory(directory: str) -> list[str]:
    try:
        return sorted(os.listdir(directory))
    except OSError:
        return []


if __name__ == "__main__":
    enter_environment()
    sys.stdout.write(json.dumps({"schema": MARKER, "interpreter": describe()}) + "\n")
