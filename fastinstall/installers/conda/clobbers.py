"""Files that two packages bring.

conda lets the later one have the place, and leaves the other one's record as it is. py-rattler decides by names, and
puts the other's below `__clobbers__/PACKAGE/`; what was installed for its files' sake would then be installed in vain.
"""

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from fastinstall.model.parsing import json_data
from fastinstall.system import foreign
from fastinstall.system.files import discard, write_bytes, write_text

_ASIDE = "__clobbers__"


def record_texts(prefix: Path) -> dict[str, bytes]:
    """The records of an environment as they are, by the names of their files."""
    return {path.name: foreign.read_bytes(path) for path in sorted((prefix / "conda-meta").glob("*.json"))}


def give_places(prefix: Path, linked: Iterable[str], before: Mapping[str, bytes]) -> None:
    """Let packages have their files that came last, as conda does.

    Args:
        prefix: the environment, after py-rattler's work.
        linked: the records' names of what came.
        before: every record as it was.
    """
    for name, text in before.items():
        if (prefix / "conda-meta" / name).is_file() and name not in linked:
            _stay_out(prefix, name, text)
    for name in linked:
        _take(prefix, name)
    _clear(prefix / _ASIDE)


def _stay_out(prefix: Path, name: str, text: bytes) -> None:
    """Take away what was put aside of a package that was there, and give it its record back."""
    path = prefix / "conda-meta" / name
    fresh = _asides(_document(foreign.read_bytes(path))).keys() - _asides(_document(text)).keys()
    for aside in fresh:
        discard(prefix / aside)
    if fresh:
        write_bytes(path, text, durable=False)


def _take(prefix: Path, name: str) -> None:
    """Put a package's files where they belong, and say so in its record."""
    path = prefix / "conda-meta" / name
    document = _document(foreign.read_bytes(path))
    moved = _asides(document)
    for aside, place in moved.items():
        if os.path.lexists(prefix / aside):
            (prefix / place).parent.mkdir(parents=True, exist_ok=True)
            os.replace(prefix / aside, prefix / place)
    if moved:
        for entry in document["paths_data"]["paths"]:
            entry["_path"] = entry.pop("original_path", None) or entry["_path"]
        document["files"] = [moved.get(file, file) for file in document.get("files", [])]
        write_text(path, json.dumps(document, indent=2, sort_keys=True) + "\n", durable=False)


def _asides(document: Mapping[str, Any]) -> dict[str, str]:
    """Where files of a package lie aside: their path to the place that they would have."""
    entries = document.get("paths_data", {}).get("paths", [])
    return {entry["_path"]: entry["original_path"] for entry in entries if entry.get("original_path")}


def _document(text: bytes) -> dict[str, Any]:
    try:
        found = json_data(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _clear(directory: Path) -> None:
    """Take away the directories that are empty."""
    for each in (*sorted((path for path in directory.rglob("*") if path.is_dir()), reverse=True), directory):
        try:
            each.rmdir()
        except OSError:
            continue  # files of somebody are in it, or it is not there
