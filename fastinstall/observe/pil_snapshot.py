"""Detect changes to the files that a setup replaces.

Files are compared by inode, size, modification time and mode. That is cheap, because no content is read. It is reliable
because installers never write into an existing file: pip and conda replace files, and uv puts links to other files in
their place. Other modules check the content.
"""

import os
import re
import stat
from collections.abc import Collection, Iterator
from pathlib import Path

from fastinstall.core import foreign
from fastinstall.model.recipe import PROVIDERS

_STACK = re.compile(rf"(?:{'|'.join(PROVIDERS).replace('-', '[-_.]')})(?:[-.].*)?|~.*", re.IGNORECASE)
"""Matches names in site-packages of PIL, of distributions that provide PIL, and of directories that pip moved aside."""


_BYTECODE = (".pyc", ".pyo")


_RECORD = re.compile(rf"(?:{'|'.join(PROVIDERS)})-[^-]+-[^-]+\.json")


PilSnapshot = dict[str, str]
"""Inode, size, modification time and mode of each file, as one string, by path relative to the prefix."""


def observe_pil_snapshot(prefix: Path, site_packages: Path, names: Collection[str] = ()) -> PilSnapshot:
    """Return a snapshot of PIL's files in an environment, and of conda's records about PIL, without bytecode.

    Args:
        prefix: the environment.
        site_packages: the environment's site-packages.
        names: further entries of site-packages to include, if they exist.
    """
    found = (name for name in foreign.list_names(site_packages) if name in names or _STACK.fullmatch(name))
    entries = [site_packages / name for name in found]
    meta = prefix / "conda-meta"
    records = [meta / name for name in foreign.list_names(meta) if _RECORD.fullmatch(name)]
    return {
        os.path.relpath(path, prefix): look
        for entry in (*entries, *records)
        for path, look in _list_file_states(str(entry))
    }


def installers(prefix: Path, paths: Collection[str]) -> tuple[str, ...]:
    """Return the installers ("pip", "uv") of the `.dist-info` directories among `paths`, from INSTALLER (PEP 376)."""
    files = {f"{path.partition('.dist-info')[0]}.dist-info/INSTALLER" for path in paths if ".dist-info" in path}
    return tuple(sorted({foreign.text_or_empty(prefix / file).strip() for file in files} - {""}))


def _list_file_states(path: str) -> Iterator[tuple[str, str]]:
    try:
        status = os.lstat(path)
        if not stat.S_ISDIR(status.st_mode):
            yield path, f"{status.st_ino} {status.st_size} {status.st_mtime_ns} {status.st_mode:o}"
            return
        with os.scandir(path) as entries:
            inside = [entry.path for entry in entries]
    except OSError:  # an installer is changing the path: the next snapshot will differ
        return
    for each in inside:
        if not each.endswith(_BYTECODE):
            yield from _list_file_states(each)
