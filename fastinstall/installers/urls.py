"""What the addresses of wheels and packages mean on this machine."""

from pathlib import Path
from urllib.parse import unquote, urlsplit


def local_path(location: str) -> Path | None:
    """The path that a `file://` URL or a plain path means; None for anything remote."""
    if location.startswith("file:"):
        return Path(unquote(urlsplit(location).path))
    return None if "://" in location else Path(location).expanduser()
