"""conda's history of an environment, which only grows: revisions that others appended since are theirs, and stay.

Source: conda/history.py; a revision begins with a line "==> date <==".
"""

import hashlib
import os
from collections.abc import Collection, Iterator
from pathlib import Path

from fastinstall.core import files, foreign

HISTORY = "conda-meta/history"
"""Relative to the prefix."""

_BEGINNING = b"==> "


def list_later_revisions(file: Path | bytes, digests: Collection[str]) -> bytes | None:
    """Return the history after the longest of these prefixes, or None if it starts with none of them."""
    if isinstance(file, Path) and (file.is_symlink() or not file.is_file()):
        return None
    content = foreign.read_bytes(file) if isinstance(file, Path) else file
    ends = (
        end for end in _list_revision_ends(content) if f"sha256:{hashlib.sha256(content[:end]).hexdigest()}" in digests
    )
    end = next(ends, None)
    return None if end is None else content[end:]


def carry(revisions: bytes, kept: Path, like: Path) -> None:
    """Add revisions to a kept history, as late as the live one; done already is fine."""
    content = foreign.read_bytes(kept)
    if content.endswith(revisions):
        return
    files.write_bytes(kept, content + revisions, like=kept)
    os.utime(kept, ns=(like.stat().st_atime_ns, like.stat().st_mtime_ns))


def _list_revision_ends(content: bytes) -> Iterator[int]:
    """Yield where a revision may end, the last one first."""
    end = len(content)
    while end > 0:
        yield end
        end = content.rfind(b"\n" + _BEGINNING, 0, end - 1) + 1
    yield 0
