"""Before another program changes the environment: copies of all that it may change. After it: what it did.

Copies, not links: such a program may write into a file in its place, as conda does with its history.
"""

import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePath

from fastinstall.errors import FailedError
from fastinstall.journal import records
from fastinstall.journal.directories import ancestors, directories_below, files_below, remember
from fastinstall.journal.fingerprint import bytecode, digest, is_bytecode
from fastinstall.journal.revisions import HISTORY
from fastinstall.journal.stretch import Copied, Engaged, Engaging, Stretch
from fastinstall.system import files

ALWAYS = (HISTORY, "conda-meta/pinned")
"""What every engine may write."""


def prepare(stretch: Stretch, prefix: Path, area: Path, work: Path) -> Engaging:
    """Copy what may change into `area`, force it to the disk, and describe all of it for the journal.

    Raises:
        FailedError: a path is not one inside the environment.
        OSError: as the kernel says.
    """
    announced = tuple(dict.fromkeys((*ALWAYS, *stretch.copies, *stretch.appearing)))
    _check((*announced, *stretch.grounds))
    on_disk = (
        *announced,
        *(path for module in announced for path in bytecode(prefix, module)),
        *(path for ground in stretch.grounds for path in files_below(prefix, ground)),
    )
    there = tuple(path for path in dict.fromkeys(on_disk) if is_file(prefix / path))
    inner = (path for ground in stretch.grounds for path in directories_below(prefix, ground))
    on_the_way = ancestors((*on_disk, *(f"{directory}/x" for directory in (*_caches(announced), *inner))))
    return Engaging(
        area=area.relative_to(work).as_posix(),
        copies=tuple(_copy_all(prefix, there, area)),
        appearing=tuple(path for path in announced if not os.path.lexists(prefix / path)),
        grounds=stretch.grounds,
        records=records.names(prefix),
        created=tuple(path for path in on_the_way if not (prefix / path).is_dir()),
        directories=remember(prefix, on_the_way),
    )


def outcome(engaging: Engaging, prefix: Path) -> Engaged:
    """What a stretch came to, with what it brought and what it took away forced to the disk."""
    untouched = tuple(
        each.path for each in engaging.copies if not is_bytecode(each.path) and is_as_before(each, prefix)
    )
    grounds = (path for ground in engaging.grounds for path in files_below(prefix, ground))
    announced = dict.fromkeys((*sorted(engaging.paths), *grounds, *records.unannounced(engaging, prefix)))
    brought = [path for path in announced if path not in untouched and is_file(prefix / path)]
    with files.syncing(prefix / path for path in brought):
        manifest = {path: digest(prefix / path) for path in brought}
    there = (prefix / path for path in (*engaging.created, *(each.path for each in engaging.directories)))
    for directory in filter(Path.is_dir, there):
        files.sync_directory(directory)
    return Engaged(
        manifest=manifest,
        untouched=tuple(untouched),
        removed=tuple(each.path for each in engaging.directories if not (prefix / each.path).is_dir()),
    )


def is_as_before(copied: Copied, prefix: Path) -> bool:
    """Whether content, mode and modification time are those that were noted."""
    path = prefix / copied.path
    if not is_file(path):
        return False
    status = path.lstat()
    looks = (stat.S_IMODE(status.st_mode), status.st_mtime_ns)
    return looks == (copied.mode, copied.mtime_ns) and digest(path) == copied.digest


def is_file(path: Path) -> bool:
    """Whether something stands there that is not a directory."""
    return os.path.lexists(path) and (path.is_symlink() or not path.is_dir())


def _copy_all(prefix: Path, paths: Iterable[str], area: Path) -> Iterator[Copied]:
    (area / "copies").mkdir(parents=True)
    (area / "gone").mkdir()
    for number, path in enumerate(paths):
        copy = area / "copies" / str(number)
        files.copy(prefix / path, copy)
        status = copy.lstat()
        yield Copied(path=path, digest=digest(copy), mode=stat.S_IMODE(status.st_mode), mtime_ns=status.st_mtime_ns)
    files.sync_tree(area)
    files.sync_directory(area.parent)


def _caches(paths: Iterable[str]) -> Iterator[str]:
    """Where Python puts the bytecode of modules."""
    return ((PurePath(path).parent / "__pycache__").as_posix() for path in paths if path.endswith(".py"))


def _check(paths: Iterable[str]) -> None:
    for path in paths:
        pure = PurePath(path)
        if not pure.parts or pure.is_absolute() or ".." in pure.parts:
            raise FailedError(f"{path}: not a path inside one environment")
