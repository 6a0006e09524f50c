"""Install packages of the operating system, if the user is root.

This is tested with apt; dnf accepts the same few arguments. `model.recipe` has the names of the packages.
"""

import os
import shlex
from collections.abc import Mapping
from pathlib import Path

from fastinstall.core.errors import FailedError, RefusedError
from fastinstall.core.events import Emit, Noted
from fastinstall.core.messages import quote
from fastinstall.core.process import CommandError, run
from fastinstall.core.root_commands import find_root_prefix

_INSTALL = {"apt": ("apt-get", "install", "--yes", "--no-install-recommends"), "dnf": ("dnf", "install", "--assumeyes")}
_PATIENT = {
    "apt": ("-o", "DPkg::Lock::Timeout=120", "-o", "Acquire::Retries=2", "-o", "Acquire::http::Timeout=30"),
    "dnf": (),
}
_QUIET = ("env", "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C.UTF-8")
_SECONDS = 1800.0
_LISTS = Path("/var/lib/apt/lists")


def install_command(manager: str, packages: tuple[str, ...], variables: Mapping[str, str]) -> str:
    """Return a shell command for hints that installs packages; for ordinary users it starts with "sudo" or "as root:".

    Args:
        manager: the system's package manager, "apt" or "dnf".
        packages: names of packages, as the manager knows them.
        variables: environment variables; only PATH is read.

    Raises:
        RefusedError: the manager is neither "apt" nor "dnf".
    """
    if manager not in _INSTALL:
        raise RefusedError(
            f"unknown package manager ({manager!r})",
            hint=f"install these with your package manager: {' '.join(map(quote, packages))}",
        )
    return find_root_prefix(variables) + shlex.join((*_INSTALL[manager], *packages))


def may_install() -> bool:
    """Return whether this user may install system packages: only root may, because fastinstall never calls sudo."""
    return os.geteuid() == 0


def install_packages(manager: str, packages: tuple[str, ...], variables: Mapping[str, str], emit: Emit) -> None:
    """Install those of the packages that are missing; installed packages are not upgraded.

    Args:
        manager: the system's package manager, "apt" or "dnf".
        packages: names of packages, as the manager knows them.
        variables: environment variables; only PATH is read, for the command in a hint.
        emit: receives an event that names the packages.

    Raises:
        RefusedError: the user is not root, or the package manager is unknown.
        FailedError: the package manager failed; the details have the last lines of its output.
    """
    command = install_command(manager, packages, variables)
    if not may_install():
        raise RefusedError(f"only root can install {', '.join(packages)}", hint=command)
    emit(Noted(message=f"installing with {manager}: {', '.join(packages)}"))
    try:
        _install(manager, packages)
    except CommandError as error:
        raise FailedError(
            f"{manager} could not install {', '.join(packages)}: {error.message}",
            hint=f"apt-get update; dpkg --configure -a; {command}" if manager == "apt" else command,
            details=error.details,
        ) from error


def _install(manager: str, packages: tuple[str, ...]) -> None:
    update_first = manager == "apt" and not any(_LISTS.glob("*_Packages*"))
    if update_first:
        _update()
    words = (*_INSTALL[manager], *_PATIENT[manager], *(("--no-upgrade",) if manager == "apt" else ()), *packages)
    completed = run((*_QUIET, *words), check=False, timeout=_SECONDS, outlives_us=True)
    if completed.exit_code == 0:
        return
    if manager != "apt" or update_first:
        raise CommandError(f"exit code {completed.exit_code}", completed)
    _update()  # outdated package lists name files that no longer exist
    run((*_QUIET, *words), timeout=_SECONDS, outlives_us=True)


def _update() -> None:
    run((*_QUIET, "apt-get", "update", *_PATIENT["apt"]), timeout=_SECONDS)
