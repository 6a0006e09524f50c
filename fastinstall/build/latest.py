"""What was fetched last, on record beside its files in the cache; it counts only while all of them are whole."""

import time
from pathlib import Path
from typing import Protocol, TypeVar

from fastinstall.errors import DocumentError
from fastinstall.model import codec
from fastinstall.model.parsing import json_data
from fastinstall.system import files, foreign


class Fetched(Protocol):
    """A record of files that were fetched together."""

    @property
    def directory(self) -> str:
        """Where they lie, beside the record."""
        ...

    @property
    def files(self) -> dict[str, str]:
        """Their sha256, by name."""
        ...


T = TypeVar("T", bound=Fetched)


def latest_whole(kind: type[T], name: str, path: Path) -> tuple[T | None, float]:
    """Read a record.

    Args:
        kind: of the record.
        name: of its document.
        path: of the record.

    Returns:
        The record and its age in seconds; None and 0 where it cannot be read or a file is not as it says.
    """
    try:
        record = codec.open_document(kind, name, json_data(foreign.read_text(path)), file=path)
        kept = path.parent / record.directory
        whole = all(files.sha256(kept / each) == digest for each, digest in record.files.items())
        return (record, time.time() - path.stat().st_mtime) if whole else (None, 0.0)
    except (OSError, ValueError, DocumentError):
        return None, 0.0
