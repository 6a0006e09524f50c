"""The user's home directory, where there is one: containers and daemons run users that have none.

Not for what lies in it: see `surroundings`.
"""

import os
from collections.abc import Mapping
from pathlib import Path

from fastinstall.core.errors import RefusedError

_NOWHERE = Path(os.devnull)
"""Below it nothing is, and nothing can be made, not even by root."""


def find_home(variables: Mapping[str, str]) -> Path:
    """Return the home directory: HOME, or what passwd(5) says; a place below which nothing can be if neither does."""
    try:
        return Path(variables.get("HOME") or Path.home())
    except RuntimeError:  # no entry for this user
        return _NOWHERE


def refuse_homeless(path: Path) -> None:
    """Refuse to write below a home directory that the user does not have.

    Raises:
        RefusedError: names the variables.
    """
    if _NOWHERE in path.parents:
        raise RefusedError(
            f"user {os.geteuid()} has no home directory: HOME is not set, and /etc/passwd does not name the user",
            hint="name a directory for the cache: XDG_CACHE_HOME=DIR fastinstall ...; or set HOME",
        )


def expand_home(path: str | Path) -> Path:
    """Replace "~" and "~user" at the beginning of a path; one that leads to no home directory stays as it is."""
    return Path(os.path.expanduser(path))  # noqa: PTH111 (pathlib raises where there is no such user)
