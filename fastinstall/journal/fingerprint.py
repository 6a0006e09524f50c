"""What is ours: the content of what we brought in, file by file.

Inodes and times prove nothing after a copy, a restored backup or a reused number; content does.
Bytecode is nobody's: Python derives it again, so it neither makes a tree foreign nor ours.
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from fastinstall.system import files


def fingerprint(tree: Path, live: str) -> dict[str, str]:
    """The digest of every file of `tree`, by the path that it has when `tree` stands at `live`."""
    return {key: _digest(path) for key, path in _files(tree, live)}


def foreign(tree: Path, live: str, manifest: Mapping[str, str]) -> tuple[str, ...]:
    """Files of a tree at `live` that the manifest does not know, or knows with another content."""
    return tuple(key for key, path in _files(tree, live) if manifest.get(key) != _digest(path))


def is_ours(tree: Path, live: str, manifest: Mapping[str, str]) -> bool:
    """Whether every file of the tree is one that we brought in, unaltered; missing ones do not matter."""
    return all(manifest.get(key) == _digest(path) for key, path in _files(tree, live))


def _files(tree: Path, live: str) -> Iterator[tuple[str, Path]]:
    if tree.is_symlink() or not tree.is_dir():
        yield live, tree
        return
    with os.scandir(tree) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            if not _is_bytecode(tree, entry.name):
                yield from _files(tree / entry.name, f"{live}/{entry.name}")


def _is_bytecode(directory: Path, name: str) -> bool:
    return name.endswith(".pyc") and directory.name == "__pycache__"


def _digest(path: Path) -> str:
    if path.is_symlink():
        return f"link:{path.readlink()}"
    return f"sha256:{files.sha256(path)}" if path.is_file() else "special"
