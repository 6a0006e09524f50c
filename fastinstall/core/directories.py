"""Where fastinstall's own things lie: the user's directories, and the recipes and hooks that come with the package.

The latter lie in the installed package, or at the top of a checkout. Source: XDG Base Directory Specification 0.8.
"""

from collections.abc import Mapping
from pathlib import Path

from fastinstall.core.home import find_home
from fastinstall.core.values import immutable

_NAME = "fastinstall"


@immutable
class Directories:
    """Where fastinstall keeps what is its own.

    Attributes:
        cache: built wheels, downloads; may be removed at any time.
        state: logs, which a person may want after a failure.
        config: the directory with `fastinstall.toml`.
        data: builds that projects are pinned to.
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
    return (Path(named) if named.startswith("/") else find_home(environment) / default) / _NAME


_PACKAGE = Path(__file__).resolve().parent.parent


def recipes_directory() -> Path:
    """Return the directory of the recipes that come with fastinstall."""
    return _find("recipes")


def hooks_directory() -> Path:
    """Return the directory of the files that a guard puts into an environment."""
    return _find("hooks")


def _find(name: str) -> Path:
    installed = _PACKAGE / "_data" / name
    return installed if installed.is_dir() else _PACKAGE.parent / name
