"""Decode an image once with the target's PIL, to see whether it can be measured; called by `_loading.py`.

Runs on Python 3.8 or later. If no answer about an image arrives, decoding the image has killed this process or takes
too long. The EXIF orientation is not applied, except to TIFF, where Pillow itself applies it.
"""

import os
import resource
import stat
import warnings
from typing import Any, BinaryIO, Dict

MOST_BYTES = 300_000_000
"""Maximum size of a file, and of the decoded picture, in bytes."""
MOST_MEMORY = 1_000_000_000
"""Memory limit of this process, in bytes; beyond it, a decoder's allocation fails."""
VECTORS = ("EPS", "WMF")
"""Formats for which Pillow starts another program."""
MODES = ("1", "L", "LA", "P", "PA", "RGB", "RGBA", "YCbCr")
"""Modes that every decoder converts to 8-bit RGB in the same way."""


def prepare() -> None:
    """Import PIL, and limit the memory of the process."""
    from PIL import Image

    warnings.simplefilter("ignore")
    warnings.simplefilter("error", Image.DecompressionBombWarning)
    hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
    soft = MOST_MEMORY if hard == resource.RLIM_INFINITY else min(MOST_MEMORY, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def judge(path: str) -> Dict[str, Any]:
    """Return the format and size of an image, with the `reason` why it cannot be measured, or "" if it can."""
    from PIL import Image

    facts: Dict[str, Any] = {"format": "", "width": 0, "height": 0, "size_bytes": 0}
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
        with os.fdopen(descriptor, "rb") as stream:  # raises if the path is a directory
            reason = decode(stream, facts)
    except (MemoryError, Image.DecompressionBombWarning, Image.DecompressionBombError):
        reason = "too large"
    except Image.UnidentifiedImageError:
        reason = "not an image that Pillow knows"
    except Exception as error:  # noqa: BLE001 (damaged files raise anything)
        reason = name_damage(error)
    return {**facts, "reason": reason}


def decode(stream: BinaryIO, facts: Dict[str, Any]) -> str:
    """Decode a file, and store its format and size in `facts`; return why it cannot be measured, or "" if it can."""
    from PIL import Image

    status = os.fstat(stream.fileno())
    if not stat.S_ISREG(status.st_mode):
        return "not a file"
    facts["size_bytes"] = status.st_size
    if not 0 < status.st_size <= MOST_BYTES:
        return "too large" if status.st_size else "empty"
    image = Image.open(stream)
    with image:
        kind = "JPEG" if image.format == "MPO" else image.format  # a phone's MPO is a JPEG followed by more pictures
        facts.update(format=kind, width=image.width, height=image.height)
        reason = judge_header(image, kind)
        if not reason:
            image.load()
        return reason


def judge_header(image: Any, kind: str) -> str:
    """Return why an image cannot be measured, as far as its header shows; empty if the header shows no reason."""
    pixel_bytes = 4 + 6 * ("progressive" in image.info)  # decoding a progressive JPEG keeps its coefficients in memory
    reasons = (
        (kind in VECTORS, "vector graphics"),
        (image.width * image.height * pixel_bytes > MOST_BYTES, "too large"),
        (image.mode not in MODES, str(image.mode)),
        # ";16" means 16 bits per channel, of which Pillow keeps only the upper 8
        (any(";16" in str(each) for each in getattr(image, "tile", ())), "16 bits per channel"),
        (kind != "JPEG" and getattr(image, "is_animated", False), "several pictures"),
    )
    return next((reason for applies, reason in reasons if applies), "")


def name_damage(error: Exception) -> str:
    """Classify a decoding error as "unreadable", "truncated" or "corrupt"."""
    if isinstance(error, OSError) and error.errno:  # an error of the disk, not of the codec
        return "unreadable"
    text = str(error).lower()
    signs = ("truncated", "unexpected end", "not enough data", "eof")
    return "truncated" if any(sign in text for sign in signs) else "corrupt"
