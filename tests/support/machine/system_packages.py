"""Compiler, headers and programs for the tests: installed where we may, else named with the command.

We may as root with apt or dnf. A missing one ends the run only in continuous integration; elsewhere
the tests that need it are skipped.
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
_PROGRAMS: dict[str, dict[str, tuple[str, ...]]] = {
    "qemu-x86_64": {"apt": ("qemu-user",), "dnf": ("qemu-user",)},
    "qemu-aarch64": {"apt": ("qemu-user",), "dnf": ("qemu-user",)},
    "zsh": {"apt": ("zsh",), "dnf": ("zsh",)},
    "fish": {"apt": ("fish",), "dnf": ("fish",)},
    "groff": {"apt": ("groff-base",), "dnf": ("groff-base",)},
    "git": {"apt": ("git",), "dnf": ("git-core",)},
    "ssh-keygen": {"apt": ("openssh-client",), "dnf": ("openssh",)},
    "rsync": {"apt": ("rsync",), "dnf": ("rsync",)},
    "sudo": {"apt": ("sudo",), "dnf": ("sudo",)},
}
"""What tests start, by name, with the packages that bring it."""
_PYTHON: dict[str, tuple[str, ...]] = {"apt": (f"python{_MINOR}-dev",), "dnf": (f"python{_MINOR}-devel",)}


def prepare(variables: Mapping[str, str]) -> int:
    """Bring what is missing.

    Args:
        variables: the environment; PATH, CC and CI are read.

    Returns:
        0; in CI 1 where something is missing still.
    """
    packages = missing(variables)
    if packages:
        _bring(_find_manager(variables), packages)
        packages = missing(variables)
    manager = _find_manager(variables) or "apt"
    _say(f"still missing: {' '.join(packages[manager])}" if packages else "all that the tests need is there")
    return 1 if packages and variables.get("CI") else 0


def missing(variables: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """The packages that would bring what is not there, by package manager; empty where all of it is."""
    needed = _needed_libraries()
    found = observe_toolchain(needed, (), variables=variables)
    absent = [needed[library.name] for library in found.libraries if library.include is None or library.library is None]
    tools = [] if found.compiler else [_COMPILER]
    tools += [] if Path(sysconfig.get_path("include"), "Python.h").is_file() else [_PYTHON]
    path = variables.get("PATH")
    tools += [packages for program, packages in _PROGRAMS.items() if not shutil.which(program, path=path)]
    if not absent and not tools:
        return {}
    return {
        manager: (*(name for tool in tools for name in tool[manager]), *_names(absent, manager))
        for manager in ("apt", "dnf")
    }


def _needed_libraries() -> dict[str, NativeRequirement]:
    """Those that the core of an official wheel is linked to."""
    libraries = load_recipe("pillow-simd", (recipes_directory(),)).libraries
    return {name: library for name, library in libraries.items() if library.core and library.in_wheels}


def _names(libraries: Sequence[NativeRequirement], manager: str) -> tuple[str, ...]:
    return tuple(name for library in libraries for name in getattr(library, manager))


def _find_manager(variables: Mapping[str, str]) -> str | None:
    manager = find_package_manager(variables)
    return manager if manager in _COMPILER else None


def _bring(manager: str | None, packages: Mapping[str, tuple[str, ...]]) -> None:
    if manager is None or not may_install():
        commands = [install_command(name, packages[name]) for name in ([manager] if manager else packages)]
        _say(
            "compiler, headers or programs are missing, and some tests will be skipped; to bring them: "
            + "; or ".join(commands)
        )
        return
    try:
        install_packages(manager, packages[manager], _listen)
    except FastinstallError as error:
        _say("\n".join((f"error: {error.message}", *error.details, f"  hint: {error.hint}")))


def _listen(event: Event) -> None:
    if isinstance(event, Noted):
        _say(event.message)


def _say(text: str) -> None:
    print(text, flush=True)  # noqa: T201 (a part of the test run: it talks to whoever runs it)


if __name__ == "__main__":
    sys.exit(prepare(os.environ))
