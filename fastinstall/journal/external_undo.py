"""Undo what another program did in an external change, from whatever state it is found in.

Progress is what lies where: a copy that has come back has changed places with what the program had put there, and once
all is back the area of the copies goes to the stage, so undoing can be cut off and begun again any number of times.
"""

import errno
import itertools
import os
from collections.abc import Callable, Iterator
from pathlib import Path

from fastinstall.core import files
from fastinstall.core.values import immutable
from fastinstall.journal.conda_revisions import HISTORY, carry, list_later_revisions
from fastinstall.journal.entries import Copied, ExternalChangeBegun, ExternalChangeEnded
from fastinstall.journal.external_changes import ALWAYS, is_as_before, is_file
from fastinstall.journal.fingerprints import KnownFiles, bytecode, digest_entry, is_bytecode, is_known_tree
from fastinstall.journal.mover import Mover
from fastinstall.journal.remembered_directories import ancestors, directories_below, files_below, remake, remove_empty


@immutable
class LocatedExternalChange:
    """An external change and where it lies.

    Attributes:
        begun: the entry that announced it.
        ended: the entry that ends it, or None if the process died first.
        prefix: the environment to which its paths are relative.
        work: the directory with the transaction's stage and aside.
    """

    begun: ExternalChangeBegun
    ended: ExternalChangeEnded | None
    prefix: Path
    work: Path

    @property
    def area(self) -> Path:
        """Where the copies lie, until all is undone."""
        return self.work / self.begun.area

    @property
    def is_over(self) -> bool:
        """Whether it is undone already; where there is nothing to bring back, a copy may lack the area, too."""
        return not self.area.is_dir() and (bool(self.begun.copies) or self.undone.is_dir())

    def stands(self, path: str) -> bool:
        """Return whether something stands at a path now."""
        return os.path.lexists(self.prefix / path)

    @property
    def undone(self) -> Path:
        """Where the area goes then."""
        return self.work / "stage" / f"{self.area.name}.undone"


def foreign(item: LocatedExternalChange, known: KnownFiles) -> Iterator[str]:
    """Yield what stands where something has to return or to go, and was neither there before nor the program's.

    Where the process died in the external change nobody knows what the program had put there; then files count as its.
    """
    if item.is_over:
        return
    for path in dict.fromkeys((*list_returning(item), *_list_arrivals(item))):
        live = item.prefix / path
        if os.path.lexists(live) and not is_bytecode(path) and not _is_known(item, path, known):
            yield path


def find_unrestorable(item: LocatedExternalChange) -> Iterator[str]:
    """Yield what cannot come back: somebody has removed it, and our copy too."""
    if not item.is_over:
        yield from (
            path
            for path, copy in list_returning(item).items()
            if not os.path.lexists(copy) and not os.path.lexists(item.prefix / path)
        )


def list_returning(item: LocatedExternalChange, stands: Callable[[str], bool] | None = None) -> dict[str, Path]:
    """Return what has to come back, with its copy.

    What the program left as it was is somebody else's to change since, unless it is gone: then its package, whose
    record comes back, would lack it. Bytecode comes back always, since Python may have written it again.

    Args:
        item: located, and not undone yet.
        stands: whether something stands at a path by then; None for what stands there now.
    """
    untouched = frozenset(item.ended.untouched if item.ended is not None else ())
    copies = ((copied.path, item.area / "copies" / str(n)) for n, copied in enumerate(item.begun.copies))
    there = stands or item.stands
    return {path: copy for path, copy in copies if path not in untouched or (path not in ALWAYS and not there(path))}


def list_brought_files(item: LocatedExternalChange) -> tuple[str, ...]:
    """Return what an external change that came to its end brought, and what was not there before."""
    before = {copied.path for copied in item.begun.copies}
    return tuple(path for path in (item.ended.manifest if item.ended is not None else ()) if path not in before)


def undo_external_change(item: LocatedExternalChange, mover: Mover) -> None:
    """Take away what came, and bring back what was there.

    Raises:
        OSError: as the kernel says; nothing of before has been overwritten.
    """
    if item.is_over:
        return
    files.make_directories(item.area / "gone")
    needed = _list_needed_directories(item)
    remake(item.prefix, (each for each in item.begun.directories if each.path in needed))
    places = _list_free_places(item)
    for path in _list_arrivals(item):
        _take_away(item.prefix / path, next(places), mover)
    before = {copied.path: copied for copied in item.begun.copies}
    for path, copy in list_returning(item).items():
        copied = before[path]
        if os.path.lexists(copy) and not _is_back(item, copy, copied):
            _keep_later_revisions(item, copy, copied)
            _bring_back(copy, item.prefix / copied.path, next(places), mover)
    remove_empty(item.prefix, (*item.begun.created, *_list_made_directories(item)))
    for path in (*item.begun.created, *(each.path for each in item.begun.directories)):
        if (item.prefix / path).is_dir():
            files.sync_directory(item.prefix / path)
    mover.move(item.area, item.undone)
    files.sync_directory(item.area.parent)


def _is_known(item: LocatedExternalChange, path: str, known: KnownFiles) -> bool:
    live = item.prefix / path
    return is_file(live) and (item.ended is None or is_known_tree(live, path, known))


def _list_arrivals(item: LocatedExternalChange) -> tuple[str, ...]:
    """Return what was not there before, and is there by the program's doing or by Python's."""
    begun, ended = item.begun, item.ended
    before = {copied.path for copied in begun.copies}
    if ended is not None:
        brought: tuple[str, ...] = tuple(ended.manifest)
    else:
        own_places = (path for pattern in begun.own_places for path in files_below(item.prefix, pattern))
        brought = (*begun.appearing, *own_places)
    sources = (*brought, *list_returning(item))
    compiled = (path for source in sources for path in bytecode(item.prefix, source))
    came = dict.fromkeys((*brought, *compiled))
    return tuple(path for path in came if path not in before and is_file(item.prefix / path))


def _list_needed_directories(item: LocatedExternalChange) -> frozenset[str]:
    """Return the directories that have to be there: all, where nobody knows which the program took away."""
    if item.ended is None:
        return frozenset(directory.path for directory in item.begun.directories)
    return frozenset((*item.ended.removed, *ancestors(list_returning(item))))


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
    if copied.path != HISTORY:  # by the time alone a link may look changed: nothing can force that to the disk
        return digest_entry(copy) != copied.digest
    if item.ended is None or not os.path.lexists(item.prefix / HISTORY):
        return False
    # else it is conda's, of this copy
    return list_later_revisions(item.prefix / HISTORY, _list_later_histories(item.ended)) is None


def _keep_later_revisions(item: LocatedExternalChange, copy: Path, copied: Copied) -> None:
    """Carry over what has been noted in the history since, which is not the program's."""
    live = item.prefix / HISTORY
    if copied.path == HISTORY and item.ended is not None:
        carry(list_later_revisions(live, _list_later_histories(item.ended)) or b"", copy, like=live)


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


def _list_later_histories(ended: ExternalChangeEnded) -> tuple[str, ...]:
    """Return the history as the program left it."""
    return tuple(filter(None, (ended.manifest.get(HISTORY),)))


def _replace(copy: Path, live: Path) -> None:
    """Replace across filesystems: by a second copy beside its place, over what the program had put there."""
    beside = live.with_name(f".{live.name}.fastinstall")
    files.discard(beside)
    files.copy_file(copy, beside)
    files.sync_tree(beside)
    beside.replace(live)


def _list_free_places(item: LocatedExternalChange) -> Iterator[Path]:
    """Free places for what goes."""
    gone = item.area / "gone"
    taken = max((int(path.name) for path in gone.iterdir()), default=-1)
    return (gone / str(number) for number in itertools.count(taken + 1))


def _list_made_directories(item: LocatedExternalChange) -> Iterator[str]:
    """Yield directories that the program made where all is its own."""
    there = {directory.path for directory in item.begun.directories}
    paths = (path for pattern in item.begun.own_places for path in directories_below(item.prefix, pattern))
    return (path for path in paths if path not in there)
