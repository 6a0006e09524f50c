"""The package manager of this machine."""

import os
import shutil
from collections.abc import Mapping

_MANAGERS = {
    "apt": ("apt-get", "dpkg"),
    "dnf": ("dnf", "rpm"),
    "zypper": ("zypper", "rpm"),
    "pacman": ("pacman",),
    "apk": ("apk",),
}
"""The programs by which a package manager is told."""


def find_package_manager(variables: Mapping[str, str]) -> str | None:
    """Return this machine's package manager: "apt", "dnf", "zypper", "pacman", "apk" or None.

    Args:
        variables: the environment; PATH is read.
    """
    path = variables.get("PATH", os.defpath)
    for manager, programs in _MANAGERS.items():
        if all(shutil.which(program, path=path) for program in programs):
            return manager
    return None
