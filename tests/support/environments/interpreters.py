"""The Python interpreters of this machine from which tests create environments."""

import glob
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

SUPPORTED = ((3, 10), (3, 11), (3, 12), (3, 13))
_QUESTION = (
    "import sys; sys.stdout.write("
    "'%d %d %s' % (sys.version_info[:2] + (getattr(sys, '_base_executable', '') or sys.executable,)))"
)


@dataclass(frozen=True, kw_only=True)
class Python:
    """An interpreter that belongs to no virtual environment.

    Attributes:
        executable: its path.
        version: major and minor version.
    """

    executable: Path
    version: tuple[int, int]

    def __str__(self) -> str:
        """Return the version: "3.11"."""
        return ".".join(map(str, self.version))


@cache
def running() -> Python:
    """Return the base interpreter of the Python that runs the tests."""
    found = _asked(sys.executable)
    if found is None:
        raise AssertionError(f"{sys.executable} runs these tests, and does not answer")
    return found


@cache
def at_hand() -> tuple[Python, ...]:
    """Return one interpreter per supported version, including the one that runs the tests.

    The others come from FASTINSTALL_TEST_PYTHONS (paths separated by ":"); without it, from pyenv and PATH.
    """
    named = os.environ.get("FASTINSTALL_TEST_PYTHONS")
    candidates = named.split(os.pathsep) if named else (*_of_pyenv(), *_on_path())
    found = {running().version: running()}
    for python in _answering(candidates):
        if python.version in SUPPORTED:
            found.setdefault(python.version, python)
    return tuple(found[version] for version in sorted(found))


@cache
def outdated() -> tuple[Python, ...]:
    """Return interpreters older than every supported version, oldest first."""
    found = {python.version: python for python in _answering(_of_pyenv()) if python.version < SUPPORTED[0]}
    return tuple(found[version] for version in sorted(found))


@cache
def of_version(version: str) -> Python | None:
    """Return an interpreter of this version ("3.8"), supported or not; None if there is none."""
    if str(running()) == version:
        return running()
    on_path = shutil.which(f"python{version}")
    candidates = (*_of_pyenv(), *((on_path,) if on_path else ()))
    return next((python for python in _answering(candidates) if str(python) == version), None)


def _of_pyenv() -> tuple[str, ...]:
    roots = {Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"}
    # If HOME is not the user's own, the path of the running Python still leads to pyenv's versions.
    roots |= {parent for parent in Path(sys.base_prefix).parents if parent.name == "versions"}
    return tuple(found for root in sorted(roots) for found in _interpreters_below(root))


def _interpreters_below(root: Path) -> list[str]:
    return sorted(glob.glob(f"{glob.escape(str(root))}/*/bin/python"))  # noqa: PTH207 (the directory may be missing)


def _on_path() -> Iterator[str]:
    names = [f"python{major}.{minor}" for major, minor in SUPPORTED]
    return (path for path in map(shutil.which, names) if path)


def _answering(candidates: Iterable[str]) -> Iterator[Python]:
    return (python for python in map(_asked, candidates) if python is not None)


def _asked(executable: str) -> Python | None:
    """Return the interpreter; None if it does not run, as pyenv's shims on PATH do for inactive versions."""
    try:
        done = subprocess.run(
            (executable, "-E", "-s", "-c", _QUESTION), capture_output=True, text=True, timeout=20, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    if done.returncode != 0:
        return None
    major, minor, path = done.stdout.split(" ", 2)
    return Python(executable=Path(path), version=(int(major), int(minor)))
