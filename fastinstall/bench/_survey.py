"""Runs inside a target: decodes images once with its PIL and reports which can be measured. Standard library only, 3.8.

    python -I -B _survey.py [SITE...]

The first output line is `{"ready": true}`, or `{"missing": MODULE}`, `{"error": TEXT}`. Then, for each line with a
path as JSON, one line: `{"format": F, "mode": M, "width": W, "height": H, "size_bytes": B, "reason": R}`. A path
without an answer killed or hung the process.

Nothing here applies the EXIF orientation, and neither does any measured loader.
"""

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
VECTORS = frozenset(("EPS", "WMF"))
"""Formats that another program renders when they are loaded."""
MODES = frozenset(("1", "L", "LA", "P", "PA", "RGB", "RGBA", "YCbCr"))
"""What every decoder turns into RGB of 8 bits alike."""
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
        return {"error": "%s: %s" % (type(error).__name__, error)}
    warnings.simplefilter("ignore")
    warnings.simplefilter("error", Image.DecompressionBombWarning)
    hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
    soft = MOST_MEMORY if hard == resource.RLIM_INFINITY else min(MOST_MEMORY, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))
    return {"ready": True}


def judged(path: str) -> Dict[str, Any]:
    """Describe an image, and why it is not measured; an empty reason if it is."""
    found: Dict[str, Any] = {"format": "", "mode": "", "width": 0, "height": 0, "size_bytes": 0, "reason": ""}
    try:
        with regular_file(path) as stream:
            found["size_bytes"] = os.fstat(stream.fileno()).st_size
            decode(stream, found)
    except Unfit as unfit:
        found["reason"] = str(unfit)
    except MemoryError:
        found["reason"] = "too large"
    except Exception as error:  # noqa: BLE001 (damaged files raise anything)
        found["reason"] = damage(error)
    return found


class Unfit(Exception):
    """Not measurable, for this reason."""


def regular_file(path: str) -> BinaryIO:
    """Return the open file; never wait for or read from anything else."""
    stream = os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY), "rb")
    if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
        stream.close()
        raise Unfit("not a file")
    return stream


def decode(stream: BinaryIO, found: Dict[str, Any]) -> None:
    """Decode a file, and note its format, mode and size in `found`. Raises Unfit if it is not to be measured."""
    from PIL import Image

    if not 0 < found["size_bytes"] <= MOST_BYTES:
        raise Unfit("too large" if found["size_bytes"] else "empty")
    try:
        image = Image.open(stream)
    except (Image.DecompressionBombWarning, Image.DecompressionBombError):
        raise Unfit("too large") from None
    except Image.UnidentifiedImageError:
        raise Unfit("not an image that Pillow knows") from None
    kind = "JPEG" if image.format == FROM_PHONES else image.format
    found.update(format=kind, mode=image.mode, width=image.width, height=image.height)
    with image:
        refuse_by_header(image, kind)
        image.load()


def refuse_by_header(image: Any, kind: str) -> None:
    """Raise Unfit if an image cannot be measured, by its header alone."""
    reasons = (
        (kind in VECTORS, "vector graphics"),
        (decoded_bytes(image) > MOST_BYTES, "too large"),
        (image.mode not in MODES, str(image.mode)),
        (is_deep(image), "16 bits per channel"),
        (kind != "JPEG" and getattr(image, "is_animated", False), "several pictures"),
    )
    for applies, reason in reasons:
        if applies:
            raise Unfit(reason)


def decoded_bytes(image: Any) -> int:
    """Return the picture's size in memory, with a progressive JPEG's coefficients."""
    pixel = 4 + 6 * ("progressive" in image.info)
    return int(image.width * image.height * pixel)


def is_deep(image: Any) -> bool:
    """Return whether a file has 16 bits per channel, even if Pillow returns only the upper eight."""
    return any(";16" in str(each) for each in getattr(image, "tile", ()))


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


if __name__ == "__main__":
    main(sys.argv[1:])
