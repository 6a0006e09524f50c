"""Find the Pythons of a machine, and the wheels that fit one of them; runs on Python 3.8."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    Python = dict[str, Any]

_OLDEST = (3, 11)
_NAMES = ("python3", "python3.14", "python3.13", "python3.12", "python3.11")
_USUAL = "/usr/local/bin:/usr/bin:/bin"
_SECONDS = 60.0
_MANYLINUX = {"manylinux1": "2_5", "manylinux2010": "2_12", "manylinux2014": "2_17"}
_OWN, _STABLE, _ANY = 3, 2, 1
_QUESTION = """
import json, os, sys
libc = os.confstr("CS_GNU_LIBC_VERSION") if "CS_GNU_LIBC_VERSION" in os.confstr_names else ""
print(json.dumps({
    "executable": getattr(sys, "_base_executable", "") or sys.executable,
    "version": list(sys.version_info[:3]),
    "implementation": sys.implementation.name,
    "abi_flags": getattr(sys, "abiflags", ""),
    "machine": os.uname().machine if sys.maxsize > 2**32 else "32 bits",
    "libc": (libc or "").rpartition(" ")[2],
}))
"""


def candidates(named: str | None) -> Iterator[str]:
    """Yield interpreters that may run fastinstall: the named one or, if none is named, this one and those on PATH."""
    if named:
        yield named
        return
    path = f"{os.environ.get('PATH', '')}:{_USUAL}"
    found = (shutil.which(name, path=path) for name in _NAMES)
    different: dict[str, str] = {}
    for each in (sys.executable, *found):
        if each:
            different.setdefault(os.path.realpath(each), each)
    yield from different.values()


def ask(python: str) -> Python | None:
    """Return the properties that an interpreter reports, or None if it cannot be run."""
    argv = [python, "-I", "-S", "-c", _QUESTION]
    try:
        said = subprocess.run(  # noqa: S603 (no shell, and fixed arguments)
            argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=_SECONDS, check=False
        )
        answer: Python = json.loads(said.stdout)
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    return {**answer, "executable": os.path.realpath(answer["executable"])}


def objection_to(python: Python | None) -> str:
    """Return why fastinstall cannot run on an interpreter; empty if it can."""
    if python is None:
        return "it does not answer"
    if python["implementation"] != "cpython":
        return f"it is {python['implementation']}, and fastinstall needs CPython"
    if tuple(python["version"]) < _OLDEST:
        return f"it is {described(python)}, and fastinstall needs 3.11 or later"
    return ""


def described(python: Python) -> str:
    """Describe an interpreter for messages: "Python 3.11.7 on x86_64"."""
    return f"Python {'.'.join(map(str, python['version']))} on {python['machine']}"


def rank_of(wheel: str, python: Python) -> tuple[list[int], int] | None:
    """Return how well a wheel fits an interpreter (greater is better); None if it does not fit (PEP 425, PEP 600).

    Args:
        wheel: file name of the wheel.
        python: the interpreter, as returned by `ask`.
    """
    words = wheel[: -len(".whl")].split("-")
    version, (pythons, abis, platforms) = words[1], (each.split(".") for each in words[-3:])
    closeness = max(_closeness(tag, abi, python) for tag in pythons for abi in abis)
    if not closeness or not any(_suits(platform, python) for platform in platforms):
        return None
    return ([int(part) for part in re.findall(r"\d+", version)], closeness)


def _closeness(tag: str, abi: str, python: Python) -> int:
    minor, flags = python["version"][1], python["abi_flags"]
    kind, written = tag[:3], tag[3:]
    is_own = written == str(minor)
    if kind == "cp3" and is_own and abi == f"cp3{minor}{flags}":
        return _OWN
    if kind == "cp3" and abi == "abi3" and "t" not in flags and int(written) <= minor:
        return _STABLE
    return _ANY if abi == "none" and (tag == "py3" or (kind in ("py3", "cp3") and is_own)) else 0


def _suits(platform: str, python: Python) -> bool:
    for alias, policy in _MANYLINUX.items():
        platform = platform.replace(f"{alias}_", f"manylinux_{policy}_")
    parts = re.match(r"manylinux_(\d+)_(\d+)_(.+)$", platform)
    if parts is None:
        return platform in ("any", f"linux_{python['machine']}")
    libc = [int(part) for part in re.findall(r"\d+", python["libc"])]
    return parts.group(3) == python["machine"] and [int(parts.group(1)), int(parts.group(2))] <= libc
