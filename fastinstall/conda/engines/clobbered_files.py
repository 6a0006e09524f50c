"""Give files that two packages bring to the package that came later, after py-rattler's work.

conda gives the place to the later one, and leaves the other's record as it is. py-rattler decides by names, and puts
the other's file below `__clobbers__/PACKAGE/`; a package installed for those files would then be installed in vain.
"""

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from fastinstall.conda.engines.linked_records import parse_record, read_linked_record, write_record
from fastinstall.core.files import discard, write_bytes


def give_files_to_later(prefix: Path, linked: Sequence[str], before: Mapping[str, bytes]) -> None:
    """Let packages have their files that came last, as conda does.

    Args:
        prefix: the environment, after py-rattler's work.
        linked: the records' names of what came.
        before: every record as it was.
    """
    for name, text in before.items():
        path = prefix / "conda-meta" / name
        if path.is_file() and name not in linked:
            # What was put aside of a package that was there goes, and it has its record back.
            fresh = _find_asides(read_linked_record(path)).keys() - _find_asides(parse_record(text)).keys()
            for aside in fresh:
                discard(prefix / aside)
            if fresh:
                write_bytes(path, text, durable=False)
    for name in linked:
        _take_places(prefix, prefix / "conda-meta" / name)
    directory = prefix / "__clobbers__"
    for each in (*sorted((path for path in directory.rglob("*") if path.is_dir()), reverse=True), directory):
        with suppress(OSError):  # files of somebody are in it, or it is not there
            each.rmdir()


def _take_places(prefix: Path, path: Path) -> None:
    """Put a package's files where they belong, and say so in its record."""
    document = read_linked_record(path)
    moved = _find_asides(document)
    for aside, place in moved.items():
        if os.path.lexists(prefix / aside):
            (prefix / place).parent.mkdir(parents=True, exist_ok=True)
            os.replace(prefix / aside, prefix / place)
    if moved:
        for entry in document["paths_data"]["paths"]:
            entry["_path"] = entry.pop("original_path", None) or entry["_path"]
        document["files"] = [moved.get(file, file) for file in document.get("files", [])]
        write_record(path, document)


def _find_asides(document: Mapping[str, Any]) -> dict[str, str]:
    """Map the paths of files that lie aside to the places that their package wants for them."""
    entries = document.get("paths_data", {}).get("paths", [])
    return {entry["_path"]: entry["original_path"] for entry in entries if entry.get("original_path")}
