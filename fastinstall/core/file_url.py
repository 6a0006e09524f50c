"""Make the `file:` URL of a path; the path may be on another machine.

`file_url` replaces `PurePath.as_uri`, which Python 3.14 deprecates.
"""

from pathlib import PurePath


def file_url(path: PurePath) -> str:
    """Return the URL of an absolute path (RFC 8089).

    >>> file_url(PurePath("/srv/a b"))
    'file:///srv/a%20b'

    Raises:
        ValueError: the path is relative.
    """
    from urllib.parse import quote  # takes 7 ms to import; doctor makes no URLs

    if not path.is_absolute():
        raise ValueError(f"no absolute path: {path}")
    return f"file://{quote(str(path), errors='surrogateescape')}"
