"""Runs inside a target: decodes images once with its PIL and reports which can be measured. Standard library only, 3.8.

    python -I -B _survey.py [SITE...]

The first output line is `{"ready": true}`, or `{"missing": MODULE}`, `{"error": TEXT}`. Then, for each line with a
path as JSON, one line: `{"format": F, "mode": M, "width": W, "height": H, "size_bytes": B, "reason": R}`. A path
without an answer killed or hung the process.

Nothing here applies the EXIF orientation, and neither does any measured loader.
"""

from __future__ import annotations

import json
import os
import resource
import stat
import sys
import warnings
from typing import Any, BinaryIO, Dict, List

MOST_BYTES = 300_000_000
"""Limits of a file, and of the decoded picture."""
MOST_MEMORY = 1_000_000_000
"""Of this process: the kernel refuses a decoder more memory."""
SIGNATURES = (b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n", b"GIF8", b"RIFF", b"II*\0", b"MM\0*", b"\0\0\0\x0cjP  ")
HEIC_BRANDS = frozenset((b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1"))
"""Source: ISO/IEC 23008-12, annex B; phones mark their photos with it."""
ANIMATIONS = frozenset(("GIF", "PNG", "WEBP", "AVIF"))
VECTORS = frozenset(("EPS", "WMF"))
"""Formats that another program renders when they are loaded."""
DEEP_MODES = frozenset(("I", "F"))
OTHER_COLOURS = frozenset(("CMYK", "LAB"))
FROM_PHONES = "MPO"
"""A JPEG with more pictures after the first."""


def main(site: List[str]) -> None:
    """Answer each path on stdin with a line of JSON."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # a codec's output is not our answer
    sys.path[:0] = site
    greeting = prepared()
    say(answers, greeting)
    if "ready" in greeting:
        for line in sys.stdin:
            say(answers, judged(json.loads(line)))


def prepared() -> Dict[str, Any]:
    """Import PIL and limit the memory; return the first line of the answers."""
    try:
        from PIL import Image
    except ModuleNotFoundError as error:
        return {"missing": error.name}
    except Exception as error:  # noqa: BLE001 (whatever a broken PIL raises is an answer)
        return {"error": text_of(error)}
    warnings.simplefilter("ignore")
    warnings.simplefilter("error", Image.DecompressionBombWarning)
    hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
    soft = MOST_MEMORY if hard == resource.RLIM_INFINITY else min(MOST_MEMORY, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))
    return {"ready": True}


def judged(path: str) -> Dict[str, Any]:
    """Describe an image, and why it is not measured; an empty reason if it is."""
    found: Dict[str, Any] = {"format": "", "mode": "", "width": 0, "height": 0, "size_bytes": 0}
    try:
        with regular_file(path) as stream:
            found["size_bytes"] = os.fstat(stream.fileno()).st_size
            reason = reason_against(stream, found)
    except Unfit as unfit:
        reason = str(unfit)
    except OSError:
        reason = "unreadable"
    return {**found, "reason": reason}


class Unfit(Exception):
    """Not measurable, for this reason."""


def regular_file(path: str) -> BinaryIO:
    """Return the open file; never wait for or read from anything else."""
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise Unfit("not a file")
    stream = os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY), "rb")
    if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):  # it was replaced just now
        stream.close()
        raise Unfit("not a file")
    return stream


def reason_against(stream: BinaryIO, found: Dict[str, Any]) -> str:
    """Return why a file cannot be measured, empty if it can; note its format, mode and size in `found`."""
    if found["size_bytes"] == 0:
        return "empty"
    if found["size_bytes"] > MOST_BYTES:
        return "too large"
    try:
        return reason_of(opened(stream), found)
    except MemoryError:
        return "too large"


def opened(stream: BinaryIO) -> Any:
    """Open an image. Raises Unfit, with the reason, if it is none or too large."""
    from PIL import Image

    start = stream.read(16)
    stream.seek(0)
    try:
        return Image.open(stream)
    except (Image.DecompressionBombWarning, Image.DecompressionBombError):
        raise Unfit("too large") from None
    except Image.UnidentifiedImageError:
        if start[4:8] == b"ftyp" and start[8:12] in HEIC_BRANDS:
            raise Unfit("HEIC: Pillow reads it only with pillow-heif") from None
        raise Unfit("corrupt" if start.startswith(SIGNATURES) else "not an image") from None
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 (damaged files raise anything)
        raise Unfit(damage(error)) from None


def reason_of(image: Any, found: Dict[str, Any]) -> str:
    """Decode an image; return why it cannot be measured, empty if it can."""
    kind = "JPEG" if image.format == FROM_PHONES else image.format
    found.update(format=kind, mode=image.mode, width=image.width, height=image.height)
    with image:
        try:
            reason = reason_by_header(image, kind)
            if not reason:
                image.load()
        except MemoryError:
            raise
        except Exception as error:  # noqa: BLE001 (likewise)
            reason = damage(error)
    return reason


def reason_by_header(image: Any, kind: str) -> str:
    """Return why an image cannot be measured, from its header alone; empty if nothing speaks against it."""
    reasons = (
        (kind in VECTORS, "vector graphics"),
        (min(image.size) < 1, "too small"),
        (decoded_bytes(image) > MOST_BYTES, "too large"),
        (image.mode in OTHER_COLOURS, str(image.mode)),
        (image.mode in DEEP_MODES or is_deep(image), "16 bits per channel"),
        (has_more(image, kind), "animated" if kind in ANIMATIONS else "several pages"),
    )
    return next((reason for applies, reason in reasons if applies), "")


def has_more(image: Any, kind: str) -> bool:
    """Return whether more pictures follow the first; not in a JPEG, where every decoder takes the first."""
    return kind != "JPEG" and bool(getattr(image, "is_animated", False))


def decoded_bytes(image: Any) -> int:
    """Return the picture's size in memory, with a progressive JPEG's coefficients."""
    pixel = 4 + 6 * ("progressive" in image.info)
    return int(image.width * image.height * pixel)


def is_deep(image: Any) -> bool:
    """Return whether a file has 16 bits per channel, even if Pillow returns only the upper eight."""
    layouts = [image.mode, *(str(each[3]) for each in getattr(image, "tile", ()) if len(each) > 3)]  # noqa: PLR2004
    return any(";16" in each for each in layouts)


def damage(error: Exception) -> str:
    """Name the damage that an error tells of: "unreadable", "truncated" or "corrupt"."""
    if isinstance(error, OSError) and error.errno:  # of the disk, not of the codec
        return "unreadable"
    text = str(error).lower()
    short = any(each in text for each in ("truncated", "unexpected end", "not enough data", "eof"))
    return "truncated" if short else "corrupt"


def say(answers: Any, value: Dict[str, Any]) -> None:
    """Write a value as a line of JSON, at once."""
    answers.write(json.dumps(value) + "\n")
    answers.flush()


def text_of(error: BaseException) -> str:
    """Describe an error by class and text."""
    return "%s: %s" % (type(error).__name__, error)


if __name__ == "__main__":
    main(sys.argv[1:])
