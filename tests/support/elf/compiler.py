"""Compiles shared libraries for tests, and loads them with the real loader."""

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

_OPEN_IN_FRESH_PROCESS = """
import ctypes, json, sys
def mapped():
    with open("/proc/self/maps") as maps:
        return {line.rstrip().split(None, 5)[5] for line in maps if "/" in line}
before, error = mapped(), ""
try:
    ctypes.CDLL(sys.argv[1])
except OSError as problem:
    error = str(problem)
print(json.dumps({"files": sorted(mapped() - before), "error": error}))
"""


def compile_library(path: Path, source: str = "", *, needs: Sequence[Path] = (), flags: Sequence[str] = ()) -> Path:
    """Compile C to a shared library that needs the other libraries by their sonames."""
    path.parent.mkdir(parents=True, exist_ok=True)
    command: list[str | Path] = [
        *("gcc", "-shared", "-fPIC", "-nostdlib", "-x", "c", "-", "-x", "none", "-o", path),
        *(f"-Wl,-soname,{path.name}", "-Wl,--no-as-needed", "-Wl,--allow-shlib-undefined"),
        *flags,
        *needs,
    ]
    done = subprocess.run(command, input=source, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return path


def rpath(search: str) -> tuple[str, ...]:
    """Return options to link with DT_RPATH."""
    return "-Wl,--disable-new-dtags", f"-Wl,-rpath,{search}"


def runpath(search: str) -> tuple[str, ...]:
    """Return options to link with DT_RUNPATH."""
    return "-Wl,--enable-new-dtags", f"-Wl,-rpath,{search}"


def really_loaded(path: Path, environment: Mapping[str, str] | None = None) -> tuple[set[Path], str]:
    """Open a library in a new interpreter, and return the files that it maps and the loader's error."""
    command: list[str | Path] = [sys.executable, "-S", "-c", _OPEN_IN_FRESH_PROCESS, path]
    done = subprocess.run(command, env=environment or {}, capture_output=True, text=True, check=True)
    answer = json.loads(done.stdout)
    return {Path(name) for name in answer["files"]}, answer["error"]
