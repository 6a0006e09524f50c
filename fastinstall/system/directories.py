"""The user's directories for our cache, state and settings. Source: XDG Base Directory Specification 0.8."""

from collections.abc import Mapping
from pathlib import Path

from fastinstall.model.immutable import immutable

_NAME = "fastinstall"


@immutable
class Directories:
    """Where fastinstall keeps what is its own.

    Attributes:
        cache: built wheels, downloads; may be removed at any time.
        state: logs.
        config: `fastinstall.toml`.
    """

    cache: Path
    state: Path
    config: Path


def user_directories(environment: Mapping[str, str]) -> Directories:
    """The XDG directories; FASTINSTALL_CACHE_DIR moves the cache.

    Relative paths in XDG variables are ignored, as the specification asks.
    """
    cache = environment.get("FASTINSTALL_CACHE_DIR")
    return Directories(
        cache=Path(cache).absolute() if cache else _directory(environment, "XDG_CACHE_HOME", ".cache"),
        state=_directory(environment, "XDG_STATE_HOME", ".local/state"),
        config=_directory(environment, "XDG_CONFIG_HOME", ".config"),
    )


def _directory(environment: Mapping[str, str], variable: str, default: str) -> Path:
    named = environment.get(variable, "")
    home = Path(environment.get("HOME") or Path.home())
    return (Path(named) if named.startswith("/") else home / default) / _NAME
