"""System packages for the tests: compiler, headers and programs; installed if permitted, else the command is printed.

Root with apt or dnf gets a compiler, C headers and an emulator. Programs that few tests start are installed only in
continuous integration. There a package that is still missing ends the run; elsewhere its tests are skipped.
"""

import os
import shutil
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from pathlib import Path

from fastinstall.core.directories import recipes_directory
from fastinstall.core.errors import FastinstallError
from fastinstall.core.events import Event, Noted
from fastinstall.model.recipe import NativeRequirement
from fastinstall.observe.recipes import load_recipe
from fastinstall.observe.toolchain import find_package_manager, observe_toolchain
from fastinstall.wheelbuild.system_packages import install_command, install_packages, may_install

_MINOR = ".".join(map(str, sys.version_info[:2]))
_COMPILER: dict[str, tuple[str, ...]] = {"apt": ("gcc", "libc6-dev"), "dnf": ("gcc", "glibc-devel")}
_EMULATORS: dict[str, dict[str, tuple[str, ...]]] = {
    "qemu-x86_64": {"apt": ("qemu-user",), "dnf": ("qemu-user",)},
    "qemu-aarch64": {"apt": ("qemu-user",), "dnf": ("qemu-user",)},
}
_RARELY_STARTED: dict[str, dict[str, tuple[str, ...]]] = {
    "zsh": {"apt": ("zsh",), "dnf": ("zsh",)},
    "fish": {"apt": ("fish",), "dnf": ("fish",)},
    "groff": {"apt": ("groff-base",), "dnf": ("groff-base",)},
    "git": {"apt": ("git",), "dnf": ("git-core",)},
    "ssh-keygen": {"apt": ("openssh-client",), "dnf": ("openssh",)},
    "rsync": {"apt": ("rsync",), "dnf": ("rsync",)},
    "sudo": {"apt": ("sudo",), "dnf": ("sudo",)},
}
"""Programs that few tests start, with their packages."""
_PYTHON: dict[str, tuple[str, ...]] = {"apt": (f"python{_MINOR}-dev",), "dnf": (f"python{_MINOR}-devel",)}
_DEBIANS_PILLOW: dict[str, tuple[str, ...]] = {"apt": ("python3-pil",), "dnf": ()}
"""Needed by the test of an environment that belongs to Debian."""


def prepare(variables: Mapping[str, str]) -> int:
    """Print the names of missing packages, and install them if permitted.

    Args:
        variables: the environment; PATH, CC and CI are read.

    Returns:
        1 if in CI a package is still missing, else 0.
    """
    in_ci = bool(variables.get("CI"))
    manager = _find_manager(variables)
    installed = find_missing(variables, with_rarely_started=in_ci)
    if installed and manager is not None and may_install():
        _install(manager, installed[manager], variables)
    absent = find_missing(variables, with_rarely_started=True)
    if not absent:
        _say("all that the tests need is there")
        return 0
    commands = [install_command(name, absent[name], variables) for name in ([manager] if manager else absent)]
    _say(f"missing: {' '.join(absent[manager or 'apt'])}; tests that need them are skipped; to bring them:")
    _say("; or ".join(commands))
    return int(in_ci)


def find_missing(variables: Mapping[str, str], *, with_rarely_started: bool) -> dict[str, tuple[str, ...]]:
    """Return the missing packages, by package manager; empty if none is missing.

    Args:
        variables: the environment; PATH and CC are read.
        with_rarely_started: include programs that few tests start.
    """
    needed = _needed_libraries()
    found = observe_toolchain(needed, (), variables=variables)
    absent = [needed[library.name] for library in found.libraries if library.include is None or library.library is None]
    tools = [] if found.compiler else [_COMPILER]
    tools += [] if Path(sysconfig.get_path("include"), "Python.h").is_file() else [_PYTHON]
    path = variables.get("PATH")
    if with_rarely_started and _find_manager(variables) == "apt":
        tools += [] if Path("/usr/lib/python3/dist-packages/PIL/Image.py").is_file() else [_DEBIANS_PILLOW]
    programs = {**_EMULATORS, **(_RARELY_STARTED if with_rarely_started else {})}
    tools += [packages for program, packages in programs.items() if not shutil.which(program, path=path)]
    if not absent and not tools:
        return {}
    return {
        manager: tuple(dict.fromkeys((*(name for tool in tools for name in tool[manager]), *_names(absent, manager))))
        for manager in ("apt", "dnf")
    }


def _needed_libraries() -> dict[str, NativeRequirement]:
    """Return the libraries that the core of an official wheel is linked with."""
    libraries = load_recipe("pillow-simd", (recipes_directory(),)).libraries
    return {name: library for name, library in libraries.items() if library.core and library.in_wheels}


def _names(libraries: Sequence[NativeRequirement], manager: str) -> tuple[str, ...]:
    return tuple(name for library in libraries for name in getattr(library, manager))


def _find_manager(variables: Mapping[str, str]) -> str | None:
    manager = find_package_manager(variables)
    return manager if manager in _COMPILER else None


def _install(manager: str, packages: tuple[str, ...], variables: Mapping[str, str]) -> None:
    try:
        install_packages(manager, packages, variables, _listen)
    except FastinstallError as error:
        _say("\n".join((f"error: {error.message}", *error.details, f"  hint: {error.hint}")))


def _listen(event: Event) -> None:
    if isinstance(event, Noted):
        _say(event.message)


def _say(text: str) -> None:
    print(text, flush=True)  # noqa: T201 (output of the test run)


if __name__ == "__main__":
    sys.exit(prepare(os.environ))
