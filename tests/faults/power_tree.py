"""Writes a modelled disk to a real directory, so that the real recovery can run on it."""

import hashlib
import os
import re
from collections.abc import Mapping
from pathlib import Path

from faults.power_disk import TOP, Disk, Inode, Kind
from faults.power_record import paths_of

_INODES = re.compile(rb'"inodes":\[([0-9, ]+)\]')


def materialise(disk: Disk, top: Path) -> None:
    """Write the files of a modelled disk to a real directory.

    Journals list the kernel's inode numbers, which are replaced by the inode numbers of the files written here.

    Args:
        disk: the modelled disk.
        top: a directory that does not exist yet.
    """
    made: dict[int, Path] = {TOP: top}
    top.mkdir(parents=True)
    for path, node in paths_of(disk):
        _make(disk.inodes[node], top / path, made.get(node))
        made.setdefault(node, top / path)
    _translate(disk, made)
    for node, place in reversed(made.items()):
        inode = disk.inodes[node]
        if inode.kind is not Kind.LINK:
            place.chmod(inode.mode)
        os.utime(place, ns=(inode.mtime_ns, inode.mtime_ns), follow_symlinks=False)


def identity(disk: Disk) -> str:
    """Return a digest of everything that recovery could see, so that equal disks have equal digests."""
    seen = hashlib.sha256()
    for path, node in paths_of(disk):
        inode = disk.inodes[node]
        time = inode.mtime_ns if inode.kind is not Kind.DIRECTORY else 0
        looks = f"{path}\0{node}\0{inode.kind}\0{inode.mode}\0{time}\0{len(inode.content)}\0"
        seen.update(looks.encode(errors="surrogateescape"))
        seen.update(inode.content)
    return seen.hexdigest()


def _make(inode: Inode, path: Path, first: Path | None) -> None:
    if first is not None:
        os.link(first, path, follow_symlinks=False)
    elif inode.kind is Kind.DIRECTORY:
        path.mkdir()
    elif inode.kind is Kind.LINK:
        path.symlink_to(os.fsdecode(inode.content))
    else:
        path.write_bytes(inode.content)


def _translate(disk: Disk, made: Mapping[int, Path]) -> None:
    journals = [path for path in made.values() if path.name.endswith(".jsonl")]
    if not journals:
        return
    here = {disk.inodes[node].number: path.lstat().st_ino for node, path in made.items()}
    for journal in journals:
        journal.write_bytes(_INODES.sub(lambda found: _renumbered(found[1], here), journal.read_bytes()))


def _renumbered(listed: bytes, here: Mapping[int, int]) -> bytes:
    """Replace inode numbers in a journal; numbers of lost inodes become numbers that no file here has."""
    numbers = (int(each) for each in listed.split(b","))
    return b'"inodes":[%s]' % b",".join(b"%d" % (here.get(each, each << 40) if each else 0) for each in numbers)
