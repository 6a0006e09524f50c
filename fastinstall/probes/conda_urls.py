"""URLs of conda channels and packages as they may be shown and stored: without passwords and tokens."""

from fastinstall.rules.secrets import public_text


def public_channel(text: str, subdir: str = "") -> str:
    """A channel's name or URL, likewise, and without the subdirectory that conda adds in its records."""
    channel = public_text(text).rstrip("/")
    return channel.removesuffix(f"/{subdir}") if subdir else channel
