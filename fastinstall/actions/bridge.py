"""Libraries that are let in beside those which are there, so that for the moment between two renames both PILs work.

PIL and the directory of its libraries are two entries, which no kernel exchanges in one step. What comes is therefore
put beside what is there first, file by file; then PIL changes place; then the directory does, with its guests.
"""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from fastinstall.system import files


def bridge(coming: Path, there: Path, space: Path) -> Iterator[str]:
    """Lay out what comes and is not there, each entry ready to be renamed into its place.

    The files are links to those that come, or copies where links cannot be made.

    Args:
        coming: a directory.
        there: the one that it will take the place of.
        space: a directory for the entries, on the same filesystem; made where it is needed.

    Yields:
        Their paths, relative to all three.

    Raises:
        OSError: as the kernel says.
    """
    for path in sorted(coming.iterdir()):
        stands = there / path.name
        if not os.path.lexists(stands):
            space.mkdir(parents=True, exist_ok=True)
            _link(path, space / path.name)
            yield path.name
        elif _is_directory(path) and _is_directory(stands):
            yield from (f"{path.name}/{inner}" for inner in bridge(path, stands, space / path.name))


def _link(source: Path, target: Path) -> None:
    if _is_directory(source):
        target.mkdir()
        for path in sorted(source.iterdir()):
            _link(path, target / path.name)
        target.chmod(stat.S_IMODE(source.stat().st_mode))
        return
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:  # no filesystem has to know links
        files.copy(source, target)


def _is_directory(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()
