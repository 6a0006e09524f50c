"""The user's directories for our cache, state and settings (XDG, through platformdirs)."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
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
    """The XDG directories; FASTINSTALL_CACHE_DIR moves the cache."""
    import platformdirs  # noqa: PLC0415 (imported only where a directory is needed)

    cache = environment.get("FASTINSTALL_CACHE_DIR")
    return Directories(
        cache=Path(cache) if cache else platformdirs.user_cache_path("fastinstall"),
        state=platformdirs.user_state_path("fastinstall"),
        config=platformdirs.user_config_path("fastinstall"),
    )
