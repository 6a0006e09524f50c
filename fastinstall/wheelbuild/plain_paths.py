"""Provide paths that need no quoting, and compiler flags that keep paths out of the output.

Source: https://reproducible-builds.org/docs/ and GCC's manual on `-ffile-prefix-map`.
"""

import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fastinstall.core import temporary_directories


def is_plain_path(path: Path) -> bool:
    """Return whether a path needs no quoting; `configure`, makefiles and Pillow's setup.py accept only such paths."""
    return re.fullmatch(r"[\w./+-]+", str(path), re.ASCII) is not None


def plain_path(directory: Path, link: Path) -> Path:
    """Return a directory, or a symbolic link to it if its own path is not plain.

    Args:
        directory: a directory with any path.
        link: a plain path that does not exist yet, for the link.
    """
    if is_plain_path(directory):
        return directory
    link.symlink_to(directory)
    return link


@contextmanager
def plain_directory(space: Path) -> Iterator[Path]:
    """Create a temporary directory with a plain path.

    It is in `space` if that path is plain, else in one of the system's temporary directories.
    """
    places = (space, Path(tempfile.gettempdir()), Path("/tmp"), Path("/var/tmp"))  # noqa: S108 (mkdtemp makes its own in it)
    within = next((place for place in places if is_plain_path(place) and os.access(place, os.W_OK)), space)
    with temporary_directories.temporary_directory("plain", within=within) as directory:
        yield directory


def path_flags(*directories: Path) -> tuple[str, ...]:
    """Return compiler flags that keep the paths of directories out of the output and its debug information.

    If one directory contains another, the flag of the inner one comes last: GCC applies the last flag that matches.
    """
    outermost_first = sorted(directories, key=lambda directory: len(directory.parts))
    return tuple(f"-ffile-prefix-map={directory}=." for directory in outermost_first)
