"""What stands where a setup will put its own: every file by inode, size and time, to notice that another changed it.

Cheap, since no content is read, and exact, since installers never write into a file that is there: pip and conda
put another one in its place, uv links one. Not for judging what is there; that is what the other probes are for.
"""

import os
import re
import stat
from collections.abc import Collection, Iterator
from pathlib import Path

from fastinstall.model.recipe import PROVIDERS
from fastinstall.system import foreign

_STACK = re.compile(rf"(?:{'|'.join(PROVIDERS).replace('-', '[-_.]')})(?:[-.].*)?|~.*", re.IGNORECASE)
"""Top-level names of PIL and its distributions, and what pip moves aside."""

_BYTECODE = (".pyc", ".pyo")
_RECORD = re.compile(rf"(?:{'|'.join(PROVIDERS)})-[^-]+-[^-]+\.json")
_INSTALLER = "INSTALLER"

Standing = dict[str, str]
"""Paths, relative to the prefix, with what tells a file from another one in its place."""


def observe_standing(prefix: Path, site_packages: Path, names: Collection[str] = ()) -> Standing:
    """Everything of PIL in an environment, and of further entries of its site-packages; bytecode aside.

    Args:
        prefix: of the environment.
        site_packages: of the environment.
        names: top-level names there that matter too; those that are not there are left out.
    """
    found = (name for name in _names(site_packages) if name in names or _STACK.fullmatch(name))
    entries = [site_packages / name for name in found]
    records = [prefix / "conda-meta" / name for name in _names(prefix / "conda-meta") if _RECORD.fullmatch(name)]
    return {os.path.relpath(path, prefix): look for entry in (*entries, *records) for path, look in _looks(str(entry))}


def installers(prefix: Path, paths: Collection[str]) -> tuple[str, ...]:
    """Who wrote the metadata directories among paths, by their own word (INSTALLER, PEP 376): "pip", "uv"."""
    files = {f"{path.partition('.dist-info')[0]}.dist-info/{_INSTALLER}" for path in paths if ".dist-info" in path}
    return tuple(sorted({word for word in (_word(prefix / file) for file in files) if word}))


def _names(directory: Path) -> list[str]:
    try:
        return sorted(os.listdir(directory))  # noqa: PTH208 (a path object each is dear)
    except OSError:
        return []


def _looks(path: str) -> Iterator[tuple[str, str]]:
    try:
        status = os.lstat(path)
        if not stat.S_ISDIR(status.st_mode):
            yield path, f"{status.st_ino} {status.st_size} {status.st_mtime_ns} {status.st_mode:o}"
            return
        with os.scandir(path) as entries:
            inside = [entry.path for entry in entries]
    except OSError:  # it is being changed at this moment: what is found next time will differ
        return
    for each in inside:
        if not each.endswith(_BYTECODE):
            yield from _looks(each)


def _word(file: Path) -> str:
    try:
        return foreign.read_text(file, "utf-8", "replace").strip()
    except OSError:
        return ""
