"""Compose commands that need root, for the user to paste."""

import os
from collections.abc import Mapping


def has_sudo(variables: Mapping[str, str]) -> bool:
    """Return whether sudo is on PATH."""
    import shutil  # slow to import; doctor needs it only for other users' environments

    return shutil.which("sudo", path=variables.get("PATH", os.defpath)) is not None


def find_root_prefix(variables: Mapping[str, str]) -> str:
    """Return the prefix of a command that needs root: "" for root, "sudo ", or "as root: " without sudo.

    Args:
        variables: the environment; PATH is read.
    """
    if os.geteuid() == 0:
        return ""
    return "sudo " if has_sudo(variables) else "as root: "
