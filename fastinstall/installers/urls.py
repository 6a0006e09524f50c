"""URLs as they may be shown and stored: never with credentials."""

import re
from pathlib import Path
from urllib.parse import unquote, urlsplit, urlunsplit

_CREDENTIALS = re.compile(r"//[^/]*@")


def without_credentials(url: str) -> str:
    """The URL without user name, password and fragment; one that is malformed, without what may be a password."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return _CREDENTIALS.sub("//", url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2], fragment=""))


def local_path(location: str) -> Path | None:
    """The path that a `file://` URL or a plain path means; None for anything remote."""
    if location.startswith("file:"):
        return Path(unquote(urlsplit(location).path))
    return None if "://" in location else Path(location).expanduser()
