"""Handwritten conda environments: records in the forms of conda, mamba and py-rattler, with or without the files."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

Record = dict[str, Any]
SITE = "lib/python3.11/site-packages"
CHANNEL = "https://conda.example/conda-forge"

WRITERS: dict[str, Callable[[Record], str]] = {
    "conda, sorted": lambda record: json.dumps(record, indent=2, sort_keys=True),
    "conda": lambda record: json.dumps(record, indent=2),
    "mamba": lambda record: json.dumps(record, indent=4, sort_keys=True),
    "on one line": json.dumps,
    "paths first": lambda record: json.dumps({"paths_data": record["paths_data"], **record}, indent=2),
}
"""Functions that serialise a record, with various orders of keys and indentations."""


def record(
    name: str, version: str = "1.0", build: str = "h0_0", *, paths: Sequence[Record] = (), **more: Any
) -> Record:
    """Return a record, with keys in py-rattler's order."""
    dist = f"{name}-{version}-{build}"
    return {
        "build": build,
        "build_number": 0,
        "depends": [],
        "name": name,
        "sha256": hashlib.sha256(dist.encode()).hexdigest(),
        "subdir": "linux-64",
        "version": version,
        "fn": f"{dist}.conda",
        "url": f"{CHANNEL}/linux-64/{dist}.conda",
        "channel": CHANNEL,
        "files": [path["_path"] for path in paths],
        "paths_data": {"paths_version": 1, "paths": list(paths)},
        "link": {"source": f"/opt/conda/pkgs/{dist}", "type": 1},
        **more,
    }


def add_record(prefix: Path, made: Record, writer: str = "conda") -> Path:
    """Write a record into conda-meta."""
    path = prefix / f"conda-meta/{made['name']}-{made['version']}-{made['build']}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(WRITERS[writer](made))
    return path


def file_path(path: str, content: bytes, **more: Any) -> Record:
    """Return a record's entry for a file."""
    digest = hashlib.sha256(content).hexdigest()
    return {"_path": path, "path_type": "hardlink", "sha256": digest, "size_in_bytes": len(content), **more}


def link_path(path: str, content: bytes = b"", **more: Any) -> Record:
    """Return a record's entry for a symbolic link; `content` is its target's content when the package was built."""
    return {**file_path(path, content, **more), "path_type": "softlink"}


def add_package(prefix: Path, name: str, files: Mapping[str, bytes], version: str = "1.0") -> str:
    """Write a package's files and its record, overwriting existing files, as conda does.

    Returns:
        The package's name, version and build.
    """
    for path, content in files.items():
        (prefix / path).parent.mkdir(parents=True, exist_ok=True)
        (prefix / path).unlink(missing_ok=True)
        (prefix / path).write_bytes(content)
    made = record(name, version, paths=[file_path(path, content) for path, content in files.items()])
    return add_record(prefix, made).stem
