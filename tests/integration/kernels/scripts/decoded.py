"""Helpers that decode a file at once or in pieces, and return the error and a digest of the pixels decoded so far."""

import hashlib
import io

from PIL import Image, ImageFile


def read(content: bytes) -> str:
    """Decode a file at once; return the error, if any, and the digest of the decoded pixels."""
    problem, picture = "", None
    try:
        picture = Image.open(io.BytesIO(content))
        picture.load()
    except (OSError, SyntaxError, ValueError) as error:
        problem = _describe(error)
    return f"{problem} {_digest(picture) if picture else ''}"


def feed(content: bytes, size: int) -> str:
    """Decode a file in pieces of `size` bytes; return the error, if any, and the digest of the decoded pixels."""
    parser = ImageFile.Parser()
    try:
        for start in range(0, len(content), size):
            parser.feed(content[start : start + size])
        return _digest(parser.close())
    except (OSError, SyntaxError, ValueError) as error:
        return f"{_describe(error)} {_digest(parser.image) if parser.image else ''}"


def _describe(error: Exception) -> str:
    return f"{type(error).__name__} {error}".partition(" at 0x")[0]


def _digest(picture: Image.Image) -> str:
    """Return the digest of the pixels decoded so far; empty if there are none."""
    picture.tile = []
    try:
        return hashlib.sha256(picture.tobytes()).hexdigest()[:16]
    except (OSError, ValueError):
        return ""
