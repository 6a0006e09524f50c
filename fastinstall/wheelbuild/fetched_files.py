"""A record of files that were fetched together, valid only while all of them are intact."""

import time
from pathlib import Path
from typing import Protocol, TypeVar

from fastinstall.core import codec, foreign, sealed_trees
from fastinstall.core.errors import DocumentError
from fastinstall.core.parsing import json_data


class FetchedFiles(Protocol):
    """A record of files that were fetched together."""

    @property
    def directory(self) -> str:
        """Their directory, beside the record."""
        ...

    @property
    def files(self) -> dict[str, str]:
        """Their sha256, by name."""
        ...


T = TypeVar("T", bound=FetchedFiles)


def read_latest_record(kind: type[T], name: str, path: Path, cache: Path) -> tuple[T | None, float]:
    """Read a record.

    Args:
        kind: the class of the record.
        name: the name of the record's document.
        cache: our cache directory, in which it lies.

    Returns:
        The record and its age in seconds; None and 0 if it cannot be read or its files are not what was fetched.
    """
    try:
        record = codec.open_document(kind, name, json_data(foreign.read_text(path)), file=path)
        kept = path.parent / record.directory
        whole = sealed_trees.is_intact(kept, cache=cache) and record.files.keys() == set(foreign.list_names(kept))
        return (record, time.time() - path.stat().st_mtime) if whole else (None, 0.0)
    except (OSError, ValueError, DocumentError):
        return None, 0.0
