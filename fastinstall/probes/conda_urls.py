"""URLs of conda channels and packages as they may be shown and stored: without passwords and tokens."""

import re

_CREDENTIALS = re.compile(r"(?<=://)[^/\s]*@")
_TOKEN = re.compile(r"(://[^/\s]+)/t/[^/\s]*")


def public_text(text: str) -> str:
    """A text without the credentials and tokens of the URLs in it.

    Source: `url_remove_auth` and `mask_anaconda_token` of conda, "https://user:password@host/t/TOKEN/channel".
    """
    if "@" not in text and "/t/" not in text:
        return text
    return _TOKEN.sub(r"\1", _CREDENTIALS.sub("", text))


def public_channel(text: str, subdir: str = "") -> str:
    """A channel's name or URL, likewise, and without the subdirectory that conda adds in its records."""
    channel = public_text(text).rstrip("/")
    return channel.removesuffix(f"/{subdir}") if subdir else channel
