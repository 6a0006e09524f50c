"""Record a change that another program makes, and undo it, even if the change or an earlier undo was interrupted.

Files that the program may change are copied before it runs; afterwards the journal records what the program did. The
files are copied, not linked, because a program may write into a file in place, as conda does with its history.

Undo keeps no progress record: the files on disk are the record. Each copy is swapped with the program's file; after the
last swap, the directory of the copies moves to the transaction's `stage` directory. So an undo can be interrupted and
repeated.
"""

import errno
import itertools
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path, PurePath

from fastinstall.core import files
from fastinstall.core.errors import FailedError
from fastinstall.core.values import immutable
from fastinstall.journal.conda_meta import (
    HISTORY,
    RECORDS,
    claims,
    is_inside,
    keep_later_revisions,
    list_later_revisions,
    list_record_names,
)
from fastinstall.journal.entries import Copied, ExternalChange, ExternalChangeBegun, ExternalChangeEnded
from fastinstall.journal.fingerprints import KnownFiles, bytecode, digest_entry, is_bytecode, is_known_tree
from fastinstall.journal.moves import Mover
from fastinstall.journal.remembered_directories import (
    ancestors,
    directories_below,
    files_below,
    record,
    remake,
    remove_empty,
)

ALWAYS = (HISTORY, "conda-meta/pinned")
"""Files that every conda engine may write."""


@immutable
class LocatedExternalChange:
    """An external change, with the directories to which its paths are relative.

    Attributes:
        begun: the journal entry written before the change.
        ended: the journal entry written after the change, or None if it was not written, as after a kill.
        prefix: the environment's prefix, to which the paths of files are relative.
        work: the directory of the transaction's `stage` and `aside`.
    """

    begun: ExternalChangeBegun
    ended: ExternalChangeEnded | None
    prefix: Path
    work: Path

    @property
    def area(self) -> Path:
        """Directory of the copies until the change is undone."""
        return self.work / self.begun.area

    @property
    def is_over(self) -> bool:
        """Whether the change is undone.

        If no files were copied, a missing `area` proves nothing: a copied environment may lack empty directories. So
        `undone` must exist too.
        """
        return not self.area.is_dir() and (bool(self.begun.copies) or self.undone.is_dir())

    @property
    def manifest(self) -> dict[str, str]:
        """Digests of the files that the program created or changed, by path; empty if they were not recorded."""
        return self.ended.manifest if self.ended is not None else {}

    def stands(self, path: str) -> bool:
        """Return whether a path, relative to the prefix, exists now."""
        return os.path.lexists(self.prefix / path)

    @property
    def undone(self) -> Path:
        """Path to which `area` moves once the change is undone."""
        return self.work / "stage" / f"{self.area.name}.undone"


def prepare(change: ExternalChange, prefix: Path, area: Path, work: Path) -> ExternalChangeBegun:
    """Copy to `area` the files that may change, sync the copies, and return the entry that announces the change.

    Raises:
        FailedError: a path is outside the environment.
        OSError: a file cannot be copied.
    """
    announced = tuple(dict.fromkeys((*ALWAYS, *change.copies, *change.appearing)))
    for path in (*announced, *change.own_places):
        if not is_inside(PurePath(path)):
            raise FailedError(f"{path}: not a path inside one environment")
    on_disk = (
        *announced,
        *(path for module in announced for path in bytecode(prefix, module)),
        *files_below(prefix, change.own_places),
    )
    there = tuple(path for path in dict.fromkeys(on_disk) if is_file(prefix / path))
    inner = (f"{path}/x" for path in directories_below(prefix, change.own_places))
    compiled = ((PurePath(path).parent / "__pycache__/x").as_posix() for path in announced if path.endswith(".py"))
    on_the_way = ancestors((*on_disk, *compiled, *inner))
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
    """Sync the files and directories that an external change wrote; return the entry that records its end."""
    untouched = tuple(each.path for each in begun.copies if not is_bytecode(each.path) and is_as_before(each, prefix))
    own_places = files_below(prefix, begun.own_places)
    announced = dict.fromkeys((*sorted(begun.paths), *own_places, *_find_unannounced_records(begun, prefix)))
    brought = [path for path in announced if path not in untouched and is_file(prefix / path)]
    with files.sync_during(prefix / path for path in brought):
        manifest = {path: digest_entry(prefix / path) for path in brought}
    changed = (*begun.created, *(each.path for each in begun.directories))
    files.sync_directories(prefix / path for path in changed)
    return ExternalChangeEnded(
        manifest=manifest,
        untouched=tuple(untouched),
        removed=tuple(each.path for each in begun.directories if not (prefix / each.path).is_dir()),
    )


def is_as_before(copied: Copied, prefix: Path) -> bool:
    """Return whether a file's content, mode and modification time are those recorded when it was copied."""
    path = prefix / copied.path
    if not is_file(path):
        return False
    status = path.lstat()
    looks = (stat.S_IMODE(status.st_mode), status.st_mtime_ns)
    return looks == (copied.mode, copied.mtime_ns) and digest_entry(path) == copied.digest


def is_file(path: Path) -> bool:
    """Return whether a path exists and is not a directory; a symbolic link counts as a file."""
    return os.path.lexists(path) and (path.is_symlink() or not path.is_dir())


def foreign(item: LocatedExternalChange, known: KnownFiles) -> Iterator[str]:
    """Yield the paths with foreign content among those that undo has to restore or clear.

    Content is foreign if it is neither the previous content nor the program's. If the program's files were not
    recorded, as after a kill during the change, any file counts as the program's.
    """
    if item.is_over:
        return
    for path in dict.fromkeys((*list_returning(item), *_list_arrivals(item))):
        live = item.prefix / path
        if not os.path.lexists(live) or is_bytecode(path):
            continue
        if not is_file(live) or (item.ended is not None and not is_known_tree(live, path, known)):
            yield path


def find_unrestorable(item: LocatedExternalChange) -> Iterator[str]:
    """Yield the paths of files that cannot be restored, because neither the file nor its copy exists any more."""
    if not item.is_over:
        for path, copy in list_returning(item).items():
            if not os.path.lexists(copy) and not item.stands(path):
                yield path


def list_returning(item: LocatedExternalChange, stands: Callable[[str], bool] | None = None) -> dict[str, Path]:
    """Return the paths that undo restores, each with the path of its copy.

    A file that the program left untouched stays, even if it was changed later. It is restored only if it is missing now
    and is not in `ALWAYS`. Bytecode is always restored, since Python may have written it again.

    Args:
        item: an external change that is not undone yet.
        stands: a function that returns whether a path will exist when the change is undone; None to look on the disk.
    """
    untouched = frozenset(item.ended.untouched if item.ended is not None else ())
    copies = ((copied.path, item.area / "copies" / str(n)) for n, copied in enumerate(item.begun.copies))
    there = stands or item.stands
    return {path: copy for path, copy in copies if path not in untouched or (path not in ALWAYS and not there(path))}


def list_brought_files(item: LocatedExternalChange) -> tuple[str, ...]:
    """Return the paths of the files that an external change created; empty if the change's end was not recorded."""
    before = {copied.path for copied in item.begun.copies}
    return tuple(path for path in item.manifest if path not in before)


def undo_external_change(item: LocatedExternalChange, mover: Mover) -> None:
    """Undo an external change: move away the files that it created, and restore the copies.

    Raises:
        OSError: a step failed; no copy has been overwritten.
    """
    if item.is_over:
        return
    gone = item.area / "gone"
    files.make_directories(gone)
    taken = max((int(path.name) for path in gone.iterdir()), default=-1)
    places = (gone / str(number) for number in itertools.count(taken + 1))
    needed = None if item.ended is None else {*item.ended.removed, *ancestors(list_returning(item))}
    remake(item.prefix, (each for each in item.begun.directories if needed is None or each.path in needed))
    for path in _list_arrivals(item):
        _take_away(item.prefix / path, next(places), mover)
    before = {copied.path: copied for copied in item.begun.copies}
    for path, copy in list_returning(item).items():
        copied = before[path]
        if os.path.lexists(copy) and not _is_back(item, copy, copied):
            if path == HISTORY:
                keep_later_revisions(item.prefix / path, copy, (item.manifest.get(HISTORY),))
            _bring_back(copy, item.prefix / copied.path, next(places), mover)
    recorded = tuple(each.path for each in item.begun.directories)
    made = (path for path in directories_below(item.prefix, item.begun.own_places) if path not in recorded)
    remove_empty(item.prefix, (*item.begun.created, *made))
    changed = (*item.begun.created, *recorded)
    files.sync_directories(item.prefix / path for path in changed)
    mover.move(item.area, item.undone)
    files.sync_directory(item.area.parent)


def _find_unannounced_records(begun: ExternalChangeBegun, prefix: Path) -> Iterator[str]:
    """Yield the paths of conda records that an external change added unexpectedly, and of the files that they claim.

    A file is included only if its content matches the record and no earlier record claims the file.
    """
    names = list_record_names(prefix)
    known = {*begun.records, *(PurePath(path).name for path in begun.paths)}
    owned = {path for name in names if name in begun.records for path in claims(prefix / RECORDS / name)}
    for name in names:
        if name not in known:
            for path, digest in claims(prefix / RECORDS / name).items():
                file = prefix / path
                if path not in owned and file.is_file() and not file.is_symlink() and digest == digest_entry(file):
                    yield path
            yield f"{RECORDS}/{name}"


def _copy_all(prefix: Path, paths: Iterable[str], area: Path) -> Iterator[Copied]:
    (area / "copies").mkdir(parents=True)
    (area / "gone").mkdir()
    for number, path in enumerate(paths):
        copy = area / "copies" / str(number)
        files.copy_file(prefix / path, copy)
        status = copy.lstat()
        mode, digest = stat.S_IMODE(status.st_mode), digest_entry(copy)
        yield Copied(path=path, digest=digest, mode=mode, mtime_ns=status.st_mtime_ns)
    files.sync_tree(area)
    files.sync_directory(area.parent)


def _list_arrivals(item: LocatedExternalChange) -> tuple[str, ...]:
    """Return the paths of files that undo removes: new files of the program, and bytecode that Python has written."""
    before = {copied.path for copied in item.begun.copies}
    brought = tuple(item.manifest)
    if item.ended is None:
        brought = (*item.begun.appearing, *files_below(item.prefix, item.begun.own_places))
    sources = (*brought, *list_returning(item))
    compiled = (path for source in sources for path in bytecode(item.prefix, source))
    came = dict.fromkeys((*brought, *compiled))
    return tuple(path for path in came if path not in before and is_file(item.prefix / path))


def _take_away(live: Path, gone: Path, mover: Mover) -> None:
    try:
        mover.move(live, gone)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        live.unlink()


def _is_back(item: LocatedExternalChange, copy: Path, copied: Copied) -> bool:
    if is_as_before(copied, item.prefix):
        return True
    if copied.path != HISTORY:  # compare content, not times: the time of a link cannot be synced
        return digest_entry(copy) != copied.digest
    if item.ended is None or not os.path.lexists(item.prefix / HISTORY):
        return False
    # If the file does not start with the history as conda left it, the copy is already restored.
    return list_later_revisions(item.prefix / HISTORY, (item.manifest.get(HISTORY),)) is None


def _bring_back(copy: Path, live: Path, gone: Path, mover: Mover) -> None:
    try:
        if not os.path.lexists(live):
            mover.move(copy, live)
        elif not mover.exchange(copy, live):
            mover.move(live, gone)
            mover.move(copy, live)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        _replace(copy, live)


def _replace(copy: Path, live: Path) -> None:
    """Replace `live` by `copy` across filesystems: copy it to a path beside `live`, then rename that to `live`."""
    beside = live.with_name(f".{live.name}.fastinstall")
    files.discard(beside)
    files.copy_file(copy, beside)
    files.sync_tree(beside)
    beside.replace(live)
