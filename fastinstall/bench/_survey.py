"""Runs inside a target, called by `_loading.py`: decodes an image once with its PIL and judges whether to measure it.

Standard library only, Python 3.8. A path without an answer killed or hung the process. Nothing here applies the EXIF
orientation, except of TIFF, which Pillow turns on its own.
"""

import os
import resource
import stat
import warnings
from typing import Any, BinaryIO, Dict, Optional

MOST_BYTES = 300_000_000
"""Limits of a file, and of the decoded picture."""
MOST_MEMORY = 1_000_000_000
"""Of this process: the kernel refuses a decoder more memory."""
VECTORS = ("EPS", "WMF")
"""Formats that another program renders when they are loaded."""
MODES = ("1", "L", "LA", "P", "PA", "RGB", "RGBA", "YCbCr")
"""What every decoder turns into RGB of 8 bits alike."""


def prepare() -> None:
    """Import PIL, and limit the memory."""
    from PIL import Image

    warnings.simplefilter("ignore")
    warnings.simplefilter("error", Image.DecompressionBombWarning)
    hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
    soft = MOST_MEMORY if hard == resource.RLIM_INFINITY else min(MOST_MEMORY, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def judge(path: str) -> Dict[str, Any]:
    """Describe an image, and why it is not measured; an empty reason if it is."""
    facts: Dict[str, Any] = {"format": "", "width": 0, "height": 0, "size_bytes": 0}
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
        with os.fdopen(descriptor, "rb") as stream:  # a directory is refused here
            reason = decode(stream, facts)
    except MemoryError:
        reason = "too large"
    except Exception as error:  # noqa: BLE001 (damaged files raise anything)
        reason = name_damage(error)
    return {**facts, "reason": reason}


def decode(stream: BinaryIO, facts: Dict[str, Any]) -> str:
    """Decode a file, and note its format and size in `facts`; return why not to measure it."""
    from PIL import Image

    status = os.fstat(stream.fileno())
    if not stat.S_ISREG(status.st_mode):
        return "not a file"
    facts["size_bytes"] = status.st_size
    if not 0 < status.st_size <= MOST_BYTES:
        return "too large" if status.st_size else "empty"
    try:
        image = Image.open(stream)
    except (Image.DecompressionBombWarning, Image.DecompressionBombError):
        return "too large"
    except Image.UnidentifiedImageError:
        return "not an image that Pillow knows"
    with image:
        kind = "JPEG" if image.format == "MPO" else image.format  # phones add pictures after the first
        facts.update(format=kind, width=image.width, height=image.height)
        reason = judge_header(image, kind)
        if not reason:
            image.load()
        return reason or ""


def judge_header(image: Any, kind: str) -> Optional[str]:
    """Return why an image cannot be measured, by its header alone; None if it can."""
    pixel_bytes = 4 + 6 * ("progressive" in image.info)  # a progressive JPEG has coefficients in memory, too
    reasons = (
        (kind in VECTORS, "vector graphics"),
        (image.width * image.height * pixel_bytes > MOST_BYTES, "too large"),
        (image.mode not in MODES, str(image.mode)),
        # Pillow returns the upper eight bits of such a file
        (any(";16" in str(each) for each in getattr(image, "tile", ())), "16 bits per channel"),
        (kind != "JPEG" and getattr(image, "is_animated", False), "several pictures"),
    )
    return next((reason for applies, reason in reasons if applies), None)


def name_damage(error: Exception) -> str:
    """Name the damage that an error tells of: "unreadable", "truncated" or "corrupt"."""
    if isinstance(error, OSError) and error.errno:  # of the disk, not of the codec
        return "unreadable"
    text = str(error).lower()
    signs = ("truncated", "unexpected end", "not enough data", "eof")
    return "truncated" if any(sign in text for sign in signs) else "corrupt"
