"""Locate directories: the home directory, fastinstall's own directories, and the data files of the package.

In containers and daemons, the user may have no home directory. Recipes and hooks are in the package if it is installed,
and at the top of a checkout otherwise. Source: XDG Base Directory Specification 0.8.
"""

import os
from collections.abc import Mapping
from pathlib import Path

from fastinstall.core.errors import RefusedError
from fastinstall.core.values import immutable


@immutable
class Directories:
    """A user's directories for fastinstall's files.

    Attributes:
        cache: built wheels and downloads; may be removed at any time.
        state: logs, to examine after a failure.
        config: the directory with `fastinstall.toml`.
        data: the builds to which projects are pinned.
    """

    cache: Path
    state: Path
    config: Path
    data: Path


def user_directories(environment: Mapping[str, str]) -> Directories:
    """Return the XDG directories; FASTINSTALL_CACHE_DIR moves the cache.

    Relative paths in XDG variables are ignored, as the specification asks.
    """
    cache = environment.get("FASTINSTALL_CACHE_DIR")
    return Directories(
        cache=Path(cache).absolute() if cache else _find_directory(environment, "XDG_CACHE_HOME", ".cache"),
        state=_find_directory(environment, "XDG_STATE_HOME", ".local/state"),
        config=_find_directory(environment, "XDG_CONFIG_HOME", ".config"),
        data=_find_directory(environment, "XDG_DATA_HOME", ".local/share"),
    )


def _find_directory(environment: Mapping[str, str], variable: str, default: str) -> Path:
    named = environment.get(variable, "")
    return (Path(named) if named.startswith("/") else find_home(environment) / default) / "fastinstall"


_NOWHERE = Path(os.devnull)
"""A path below which nothing exists and nothing can be created, not even by root."""


def find_home(variables: Mapping[str, str]) -> Path:
    """Return the home directory from HOME or else passwd(5).

    If neither names one, the result is a path below which nothing can be created.
    """
    try:
        return Path(variables.get("HOME") or Path.home())
    except RuntimeError:  # passwd(5) has no entry for this user
        return _NOWHERE


def refuse_homeless(path: Path) -> None:
    """Refuse to write below a home directory that the user does not have.

    Raises:
        RefusedError: the user has no home directory; the hint names the variables to set.
    """
    if _NOWHERE in path.parents:
        raise RefusedError(
            f"user {os.geteuid()} has no home directory: HOME is not set, and /etc/passwd does not name the user",
            hint="name a directory for the cache: XDG_CACHE_HOME=DIR fastinstall ...; or set HOME",
        )


def expand_home(path: str | Path) -> Path:
    """Expand "~" or "~user" at the start of a path; if there is no such home directory, return the path unchanged."""
    return Path(os.path.expanduser(path))  # noqa: PTH111 (pathlib raises where there is no such user)


_PACKAGE = Path(__file__).resolve().parent.parent


def recipes_directory() -> Path:
    """Return the directory of the recipes that come with fastinstall."""
    return _find("recipes")


def hooks_directory() -> Path:
    """Return the directory with the files that the guard installs into an environment."""
    return _find("hooks")


def tool_requirements() -> Path:
    """Return the path of the lock file with fastinstall's own requirements, without extras.

    `build` uses the file to make bundles for other machines.
    """
    return _find("requirements") / "with-tool.txt"


def _find(name: str) -> Path:
    installed = _PACKAGE / "_data" / name
    return installed if installed.is_dir() else _PACKAGE.parent / name
