"""Fetch fastinstall's own dependencies as wheels for other Pythons and machines, in the versions of a lock file.

fastinstall's own pip fetches them by hash. pip would evaluate the lock file's markers for the Python that runs pip, so
this module evaluates them. `<cache>/tool/needs/<key>/` holds the wheels for one Python on one architecture.
"""

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from packaging.markers import default_environment
from packaging.requirements import Requirement

from fastinstall.core import codec, files, sealed_trees, temporary_directories
from fastinstall.core.errors import FailedError
from fastinstall.core.process import CommandError, run
from fastinstall.index.pip import pip_environment
from fastinstall.index.selection import list_libc_platforms

_PIP = (sys.executable, "-P", "-m", "pip")
_SECONDS = 300.0
_BASE_GLIBC = (2, 28)
"""The oldest glibc that official wheels support."""


def fetch_dependencies(
    lock: Path, minor: str, machine: str, cache: Path, variables: Mapping[str, str], *, offline: bool = False
) -> tuple[Path, ...]:
    """Return the wheels that a lock file names for a Python; fetch them if our cache lacks them.

    Args:
        lock: a requirements file with hashes, as written by uv or pip-compile.
        minor: minor version of the Python that will import the wheels ("3.12").
        machine: architecture of the machine that runs this Python, as in `uname -m` ("x86_64").
        cache: root of our cache.
        variables: environment variables, with pip's settings.
        offline: whether network access is forbidden.

    Raises:
        FailedError: the index cannot be reached, is not allowed, or lacks a wheel.
    """
    pins = list(list_pins(lock.read_text(encoding="utf-8"), minor, machine))
    platforms = list(list_libc_platforms("glibc", _BASE_GLIBC, machine))
    place = cache / "tool" / "needs" / codec.digest([minor, *platforms, *pins])[:32]
    if not sealed_trees.is_intact(place, cache=cache):
        if offline:
            raise FailedError(
                f"fastinstall's own dependencies for Python {minor} are not in the cache, and this run is offline",
                hint="run the same command once without --offline",
            )
        with temporary_directories.temporary_directory("tool", within=cache / "tmp") as space:
            fresh = space / "wheels"
            fresh.mkdir()
            requirements = space / "requirements.txt"
            files.write_text(requirements, "".join(f"{pin}\n" for pin in pins), durable=False)
            words = (
                *("download", "--quiet", "--progress-bar", "off", "--no-deps", "--only-binary", ":all:"),
                *("--require-hashes", "--requirement", str(requirements), "--dest", str(fresh)),
                *("--implementation=cp", f"--python-version={minor}"),
                *(f"--abi={abi}" for abi in (f"cp{minor.replace('.', '')}", "abi3", "none")),
                *(f"--platform={platform}" for platform in platforms),
            )
            environment = {**pip_environment(variables), "TMPDIR": str(space)}
            try:
                run((*_PIP, *words), environment=environment, timeout=_SECONDS, while_working=True)
            except CommandError as error:
                message = f"cannot fetch fastinstall's own dependencies for Python {minor}"
                hint = "run `python -m pip config list` to see which index is used"
                raise FailedError(message, hint=hint, details=error.details) from error
            sealed_trees.publish_sealed(fresh, place, space / "aside", cache=cache)
    return tuple(place.glob("*.whl"))


def list_pins(lock: str, minor: str, machine: str) -> Iterator[str]:
    """Yield the pinned requirements of a lock file, with their hashes, if their markers are true.

    Args:
        lock: text of the lock file.
        minor: minor version of the CPython that will import the packages ("3.12").
        machine: architecture of the Linux machine that runs this CPython, as in `uname -m` ("x86_64").
    """
    version = f"{minor}.0"
    ours = {"python_version": minor, "python_full_version": version, "implementation_version": version}
    environment = {key: str(value) for key, value in default_environment().items()} | ours
    environment["platform_machine"] = machine
    for line in lock.replace("\\\n", "").splitlines():
        if line and not line.lstrip().startswith("#"):
            text, *hashes = line.split(" --hash=")
            requirement = Requirement(text)
            if requirement.marker is None or requirement.marker.evaluate(environment):
                yield " --hash=".join([f"{requirement.name}{requirement.specifier}", *map(str.strip, hashes)])
