"""Where a `file://` URL or a plain path leads, and the name of a place where files come from."""

from pathlib import Path
from urllib.parse import unquote, urlsplit

from fastinstall.core.home import expand_home
from fastinstall.core.secrets import remove_credentials


def local_path(location: str) -> Path | None:
    """The path that a `file://` URL or a plain path means; None for anything remote."""
    if location.startswith("file:"):
        return Path(unquote(urlsplit(location).path))
    return None if "://" in location else expand_home(location)


def name_place(place: str) -> str:
    """The name of an index or a `find-links`, by which files that came from it are known: without credentials."""
    return remove_credentials(place).rstrip("/")
