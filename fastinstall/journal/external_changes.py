"""Record a change that another program makes: copy what it may change before it runs, then note what it did.

Copies, not links: such a program may write into a file in place, as conda does with its history.
"""

import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePath

from fastinstall.core import files
from fastinstall.core.errors import FailedError
from fastinstall.journal.conda_records import find_unannounced_records, is_inside, list_record_names
from fastinstall.journal.conda_revisions import HISTORY
from fastinstall.journal.entries import Copied, ExternalChange, ExternalChangeBegun, ExternalChangeEnded
from fastinstall.journal.fingerprints import bytecode, digest_entry, is_bytecode
from fastinstall.journal.remembered_directories import ancestors, directories_below, files_below, record

ALWAYS = (HISTORY, "conda-meta/pinned")
"""What every engine may write."""


def prepare(change: ExternalChange, prefix: Path, area: Path, work: Path) -> ExternalChangeBegun:
    """Copy what may change into `area`, force it to the disk, and describe all of it for the journal.

    Raises:
        FailedError: a path is not one inside the environment.
        OSError: as the kernel says.
    """
    announced = tuple(dict.fromkeys((*ALWAYS, *change.copies, *change.appearing)))
    _check((*announced, *change.own_places))
    on_disk = (
        *announced,
        *(path for module in announced for path in bytecode(prefix, module)),
        *(path for pattern in change.own_places for path in files_below(prefix, pattern)),
    )
    there = tuple(path for path in dict.fromkeys(on_disk) if is_file(prefix / path))
    inner = (path for pattern in change.own_places for path in directories_below(prefix, pattern))
    on_the_way = ancestors(
        (*on_disk, *(f"{directory}/x" for directory in (*_list_bytecode_directories(announced), *inner)))
    )
    return ExternalChangeBegun(
        area=area.relative_to(work).as_posix(),
        copies=tuple(_copy_all(prefix, there, area)),
        appearing=tuple(path for path in announced if not os.path.lexists(prefix / path)),
        own_places=change.own_places,
        records=list_record_names(prefix),
        created=tuple(path for path in on_the_way if not (prefix / path).is_dir()),
        directories=record(prefix, on_the_way),
    )


def outcome(begun: ExternalChangeBegun, prefix: Path) -> ExternalChangeEnded:
    """Describe what an external change came to; what it brought and what it took away is forced to the disk."""
    untouched = tuple(each.path for each in begun.copies if not is_bytecode(each.path) and is_as_before(each, prefix))
    own_places = (path for pattern in begun.own_places for path in files_below(prefix, pattern))
    announced = dict.fromkeys((*sorted(begun.paths), *own_places, *find_unannounced_records(begun, prefix)))
    brought = [path for path in announced if path not in untouched and is_file(prefix / path)]
    with files.sync_during(prefix / path for path in brought):
        manifest = {path: digest_entry(prefix / path) for path in brought}
    there = (prefix / path for path in (*begun.created, *(each.path for each in begun.directories)))
    for directory in filter(Path.is_dir, there):
        files.sync_directory(directory)
    return ExternalChangeEnded(
        manifest=manifest,
        untouched=tuple(untouched),
        removed=tuple(each.path for each in begun.directories if not (prefix / each.path).is_dir()),
    )


def is_as_before(copied: Copied, prefix: Path) -> bool:
    """Return whether content, mode and modification time are those that were noted."""
    path = prefix / copied.path
    if not is_file(path):
        return False
    status = path.lstat()
    looks = (stat.S_IMODE(status.st_mode), status.st_mtime_ns)
    return looks == (copied.mode, copied.mtime_ns) and digest_entry(path) == copied.digest


def is_file(path: Path) -> bool:
    """Return whether something stands there that is not a directory."""
    return os.path.lexists(path) and (path.is_symlink() or not path.is_dir())


def _copy_all(prefix: Path, paths: Iterable[str], area: Path) -> Iterator[Copied]:
    (area / "copies").mkdir(parents=True)
    (area / "gone").mkdir()
    for number, path in enumerate(paths):
        copy = area / "copies" / str(number)
        files.copy_file(prefix / path, copy)
        status = copy.lstat()
        yield Copied(
            path=path, digest=digest_entry(copy), mode=stat.S_IMODE(status.st_mode), mtime_ns=status.st_mtime_ns
        )
    files.sync_tree(area)
    files.sync_directory(area.parent)


def _list_bytecode_directories(paths: Iterable[str]) -> Iterator[str]:
    """Yield where Python puts the bytecode of modules."""
    return ((PurePath(path).parent / "__pycache__").as_posix() for path in paths if path.endswith(".py"))


def _check(paths: Iterable[str]) -> None:
    for path in paths:
        if not is_inside(PurePath(path)):
            raise FailedError(f"{path}: not a path inside one environment")
