"""Keep the revisions that conda appended to an environment's history after a change that is undone.

Source: conda/history.py; a revision begins with a line "==> date <==".
"""

import hashlib
import os
from collections.abc import Collection, Iterator
from pathlib import Path

from fastinstall.core import files, foreign

HISTORY = "conda-meta/history"
"""Path of the history, relative to the prefix."""

_BEGINNING = b"==> "


def list_later_revisions(file: Path | bytes, digests: Collection[str]) -> bytes | None:
    """Return the revisions that follow a known state of the history, or None if it does not start with a known state.

    Args:
        file: path or content of the history.
        digests: digests of the known states ("sha256:..."). If several match, the longest state counts.
    """
    if isinstance(file, Path) and (file.is_symlink() or not file.is_file()):
        return None
    content = foreign.read_bytes(file) if isinstance(file, Path) else file
    ends = (
        end for end in _list_revision_ends(content) if f"sha256:{hashlib.sha256(content[:end]).hexdigest()}" in digests
    )
    end = next(ends, None)
    return None if end is None else content[end:]


def carry(revisions: bytes, kept: Path, like: Path) -> None:
    """Append revisions to a kept history, unless it already ends with them.

    Args:
        revisions: the bytes to append.
        kept: the history that will be restored.
        like: the live history, whose access and modification times are given to the kept one.
    """
    content = foreign.read_bytes(kept)
    if content.endswith(revisions):
        return
    files.write_bytes(kept, content + revisions, like=kept)
    os.utime(kept, ns=(like.stat().st_atime_ns, like.stat().st_mtime_ns))


def _list_revision_ends(content: bytes) -> Iterator[int]:
    """Yield the byte offsets at which a revision may end, largest first."""
    end = len(content)
    while end > 0:
        yield end
        end = content.rfind(b"\n" + _BEGINNING, 0, end - 1) + 1
    yield 0
