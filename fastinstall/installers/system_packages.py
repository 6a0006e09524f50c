"""The system's package manager: which one, the command to show, and the installation where we may.

apt is driven and tested; dnf is driven by the same few words.
"""

import os
import shlex
import shutil
from collections.abc import Mapping
from pathlib import Path

from fastinstall.errors import FailedError, RefusedError
from fastinstall.model.event import Emit, Noted
from fastinstall.rules.messages import quote
from fastinstall.system.process import CommandError, run

_PROGRAMS = {"apt": ("apt-get", "dpkg"), "dnf": ("dnf", "rpm")}
_INSTALL = {
    "apt": ("apt-get", "install", "--yes", "--no-install-recommends"),
    "dnf": ("dnf", "install", "--assumeyes"),
}
_PATIENT = {
    "apt": ("-o", "DPkg::Lock::Timeout=120", "-o", "Acquire::Retries=2", "-o", "Acquire::http::Timeout=30"),
    "dnf": (),
}
_QUIET = ("env", "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C.UTF-8")
_SECONDS = 1800.0
_LISTS = Path("/var/lib/apt/lists")
_REPAIR = "apt-get update; dpkg --configure -a"


def package_manager(variables: Mapping[str, str]) -> str | None:
    """Which package manager this machine has: "apt", "dnf" or None.

    Args:
        variables: the environment; PATH is read.
    """
    path = variables.get("PATH", os.defpath)
    for manager, programs in _PROGRAMS.items():
        if all(shutil.which(program, path=path) for program in programs):
            return manager
    return None


def install_command(manager: str, packages: tuple[str, ...], *, root: bool | None = None) -> str:
    """The command that a person would paste to install packages.

    Args:
        manager: "apt" or "dnf".
        packages: their names.
        root: whether it is for root; None for whoever runs us.
    """
    may = may_install() if root is None else root
    return shlex.join((*(() if may else ("sudo",)), *_INSTALL[_known(manager, packages)], *packages))


def may_install() -> bool:
    """Whether this user may install system packages: root only, as we never call sudo ourselves."""
    return os.geteuid() == 0


def install_packages(manager: str, packages: tuple[str, ...], emit: Emit) -> None:
    """Install packages of the system; those that are there stay as they are.

    Raises:
        RefusedError: not root, or a manager that we do not know.
        FailedError: the manager failed; the last lines of its output are shown.
    """
    command = install_command(manager, packages)
    if not may_install():
        raise RefusedError(f"only root may install {', '.join(packages)}", hint=command)
    emit(Noted(message=f"installing with {manager}: {', '.join(packages)}"))
    try:
        _install(manager, packages)
    except CommandError as error:
        raise FailedError(
            f"{manager} could not install {', '.join(packages)}: {error.message}",
            hint=f"{_REPAIR}; {command}" if manager == "apt" else command,
            details=error.details,
        ) from error


def _install(manager: str, packages: tuple[str, ...]) -> None:
    update_first = manager == "apt" and not any(_LISTS.glob("*_Packages*"))
    if update_first:
        _update()
    words = (*_INSTALL[manager], *_PATIENT[manager], *(("--no-upgrade",) if manager == "apt" else ()), *packages)
    completed = run((*_QUIET, *words), check=False, timeout=_SECONDS)
    if completed.exit_code == 0:
        return
    if manager != "apt" or update_first:
        raise CommandError(f"exit code {completed.exit_code}", completed)
    _update()  # lists that are out of date name files that are gone
    run((*_QUIET, *words), timeout=_SECONDS)


def _update() -> None:
    run((*_QUIET, "apt-get", "update", *_PATIENT["apt"]), timeout=_SECONDS)


def _known(manager: str, packages: tuple[str, ...]) -> str:
    if manager not in _INSTALL:
        raise RefusedError(
            f"no package manager that we know ({manager!r})",
            hint=f"install with your system's own: {' '.join(map(quote, packages))}",
        )
    return manager
