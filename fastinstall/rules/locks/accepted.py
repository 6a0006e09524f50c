"""The comment by which a file accepts stock Pillow. Pure."""

import re
from collections.abc import Callable

from fastinstall.model.locks import LockEntry

_COMMENT = re.compile(r"(?P<before>.*?)(?:^|\s)#\s*fastinstall:\s*stock\b")


def accepted_by(text: str) -> Callable[[LockEntry], bool]:
    """Whether a comment accepts an entry: on one of its lines, or alone on the line before.

    Args:
        text: of the file.
    """
    found = {number: each for number, line in enumerate(text.splitlines(), start=1) if (each := _COMMENT.match(line))}

    def accepted(entry: LockEntry) -> bool:
        alone = entry.first - 1 in found and not found[entry.first - 1]["before"].strip()
        return alone or any(number in found for number in range(entry.first, entry.last + 1))

    return accepted
