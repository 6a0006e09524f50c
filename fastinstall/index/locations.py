"""Where a `file://` URL or a plain path leads, and the name of a place where files come from."""

from pathlib import Path
from urllib.parse import unquote, urlsplit

from fastinstall.core.home import expand_home
from fastinstall.core.secrets import remove_credentials


def local_path(location: str) -> Path | None:
    """Return the path that a `file://` URL or a plain path means; None for anything remote.

    >>> local_path("file:///srv/my%20wheels"), local_path("https://example.org/simple")
    (PosixPath('/srv/my wheels'), None)
    """
    if location.startswith("file:"):
        return Path(unquote(urlsplit(location).path))
    return None if "://" in location else expand_home(location)


def name_place(place: str) -> str:
    """Return the name by which files of an index or a `find-links` are known: its address without credentials.

    >>> name_place("https://me:secret@example.org/simple/")
    'https://example.org/simple'
    """
    return remove_credentials(place).rstrip("/")
