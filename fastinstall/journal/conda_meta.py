"""Read from conda-meta what undo needs: installed packages, the files that their records claim, and the history.

Undo keeps the revisions that conda appended to the history after the change that is undone. Source: conda/history.py; a
revision begins with a line "==> date <==".
"""

import hashlib
import os
from collections.abc import Collection, Iterator
from pathlib import Path, PurePath
from typing import Any

from fastinstall.core import files, foreign

RECORDS = "conda-meta"
HISTORY = "conda-meta/history"
"""Path of the history, relative to the prefix."""


def list_record_names(prefix: Path) -> tuple[str, ...]:
    """Return the file names of the records in conda-meta, sorted."""
    return tuple(sorted(path.name for path in (prefix / RECORDS).glob("*.json")))


def is_record(path: str) -> bool:
    """Return whether a path, relative to the prefix, is a conda package's record."""
    return PurePath(path).parent == PurePath(RECORDS) and path.endswith(".json")


def package(path: str) -> str:
    """Return the package name in a record's file name.

    >>> package("conda-meta/libjpeg-turbo-3.1.0-hb9d3cd8_0.json")
    'libjpeg-turbo'
    """
    return PurePath(path).name.rsplit("-", 2)[0]


def claims(record: Path) -> dict[str, str]:
    """Return the digests of the files that a record claims, by path; a digest is empty if the record has none.

    The result is empty if the record cannot be read. Source: conda's PrefixRecord (`files`, `paths_data`).
    """
    data = _read(record)
    paths = {entry["_path"]: entry for entry in _list_described(data)}
    claimed = (*paths, *(path for path in data.get("files") or () if isinstance(path, str)))
    return {path: _format_digest(paths.get(path, {})) for path in claimed if is_inside(PurePath(path))}


def is_readable(record: Path) -> bool:
    """Return whether a record exists and is a JSON object of the form that conda reads."""
    return bool(_read(record))


def is_inside(path: PurePath) -> bool:
    """Return whether a path, relative to a prefix, stays inside it."""
    return bool(path.parts) and not path.is_absolute() and ".." not in path.parts


def list_later_revisions(file: Path | bytes, digests: Collection[str | None]) -> bytes | None:
    """Return the part of a history that follows a known state; None if the history does not start with a known state.

    Args:
        file: path or content of the history.
        digests: digests of the known states ("sha256:..."). If several match, the longest state counts.
    """
    if isinstance(file, Path) and (file.is_symlink() or not file.is_file()):
        return None
    content = foreign.read_bytes(file) if isinstance(file, Path) else file
    for end in _list_revision_ends(content):
        if f"sha256:{hashlib.sha256(content[:end]).hexdigest()}" in digests:
            return content[end:]
    return None


def keep_later_revisions(live: Path, kept: Path, digests: Collection[str | None]) -> None:
    """Append the later revisions of the live history to the kept history, unless the kept one already ends with them.

    Args:
        live: the live history; its access and modification times are copied to the kept one.
        kept: the history that will be restored.
        digests: digests of the known states of the live history; see `list_later_revisions`.
    """
    revisions, content = list_later_revisions(live, digests) or b"", foreign.read_bytes(kept)
    if content.endswith(revisions):
        return
    files.write_bytes(kept, content + revisions, like=kept)
    os.utime(kept, ns=(live.stat().st_atime_ns, live.stat().st_mtime_ns))


def _read(record: Path) -> dict[str, Any]:
    data = foreign.read_object(record)
    return data if isinstance(data.get("files") or [], list) else {}


def _list_described(data: dict[str, Any]) -> Iterator[dict[str, Any]]:
    described = data.get("paths_data")
    entries = described.get("paths") if isinstance(described, dict) else ()
    return (entry for entry in entries or () if isinstance(entry, dict) and isinstance(entry.get("_path"), str))


def _format_digest(entry: dict[str, Any]) -> str:
    found = entry.get("sha256_in_prefix") or entry.get("sha256")
    return f"sha256:{found}" if found else ""


def _list_revision_ends(content: bytes) -> Iterator[int]:
    """Yield the byte offsets at which a revision may end, largest first."""
    end = len(content)
    while end > 0:
        yield end
        end = content.rfind(b"\n==> ", 0, end - 1) + 1
    yield 0
