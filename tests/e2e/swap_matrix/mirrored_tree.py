"""Restores a directory from a copy within milliseconds, because it leaves equal files alone."""

import os
import shutil
import stat
from pathlib import Path


def mirror(source: Path, destination: Path) -> None:
    """Make `destination` equal to `source`: paths, contents, modes, times and symbolic links.

    Files of the same size and time are considered equal.
    """
    destination.mkdir(exist_ok=True)
    wanted = {entry.name: entry for entry in os.scandir(source)}
    for entry in os.scandir(destination):
        if entry.name not in wanted or _kind(entry) != _kind(wanted[entry.name]):
            _remove(Path(entry.path))
    for name, entry in wanted.items():
        if entry.is_dir(follow_symlinks=False):
            mirror(Path(entry.path), destination / name)
        elif not _same(entry, destination / name):
            (destination / name).unlink(missing_ok=True)
            shutil.copy2(entry.path, destination / name, follow_symlinks=False)
    shutil.copystat(source, destination)


def _kind(entry: "os.DirEntry[str]") -> int:
    return stat.S_IFMT(entry.stat(follow_symlinks=False).st_mode)


def _same(entry: "os.DirEntry[str]", other: Path) -> bool:
    try:
        there = other.lstat()
    except FileNotFoundError:
        return False
    here = entry.stat(follow_symlinks=False)
    if stat.S_ISLNK(here.st_mode):
        return Path(entry.path).readlink() == other.readlink()
    return (here.st_size, here.st_mtime_ns, here.st_mode) == (there.st_size, there.st_mtime_ns, there.st_mode)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()
