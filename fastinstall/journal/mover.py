"""Renames inside one environment, with the journal at hand; a move never overwrites anything.

An overlay filesystem (a container's layers) renames files of a lower layer but not its directories (EXDEV, unless
mounted with redirect_dir). There a tree is spread: announced in the journal, its directories created, its files renamed
one by one. An interrupted spread is always completed before anything else is looked at.
"""

import errno
import os
import stat
from pathlib import Path

from fastinstall.core import files
from fastinstall.journal.entries import Spread, SpreadDirectory, Spreading
from fastinstall.journal.held_directories import hold_parents
from fastinstall.journal.journal_file import Journal
from fastinstall.journal.log import Log
from fastinstall.journal.store import JournalStore


class Mover:
    """Moves entries of one environment, with the journal at hand.

    Args:
        store: of the environment, whose paths the journal is relative to.
        journal: of the transaction, which notes trees that are spread.
    """

    def __init__(self, store: JournalStore, journal: Journal) -> None:
        self._store = store
        self._journal = journal

    def move(self, source: Path, target: Path) -> None:
        """Rename; an existing target is an error, and the directory of the target is made where it is missing.

        A copy of an environment has often no empty directories.

        Raises:
            FileExistsError: the target is there.
            OSError: as the kernel says.
        """
        if not target.parent.is_dir():
            files.make_directories(target.parent)
        try:
            with hold_parents(self._store.home, source, target) as (held_source, held_target):
                files.rename(held_source, held_target)
        except OSError as error:
            if error.errno != errno.EXDEV or not _is_spreadable(source):
                raise
            self._spread(source, target)

    def exchange(self, one: Path, other: Path) -> bool:
        """Swap two entries in one step; False if that cannot be done, and nothing has changed."""
        try:
            with hold_parents(self._store.home, one, other) as held:
                return files.exchange(*held)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            return False

    def complete(self, log: Log) -> None:
        """Bring a spread to its end that a death cut off."""
        if log.unfinished_spread is not None:
            self._carry_out(log.unfinished_spread)

    def _spread(self, source: Path, target: Path) -> None:
        if os.path.lexists(target):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target))
        found = ((Path(path), Path(path).stat()) for path, _, _ in os.walk(source))
        spreading = Spreading(
            source=self._store.relative(source),
            target=self._store.relative(target),
            directories=tuple(
                SpreadDirectory(
                    path=path.relative_to(source).as_posix(),
                    mode=stat.S_IMODE(status.st_mode),
                    mtime_ns=status.st_mtime_ns,
                )
                for path, status in found
            ),
        )
        self._journal.append(spreading)
        self._carry_out(spreading)

    def _carry_out(self, spreading: Spreading) -> None:
        source, target = self._store.prefix / spreading.source, self._store.prefix / spreading.target
        for directory in spreading.directories:
            files.make_directories(target / directory.path)
        there = [each.path for each in spreading.directories if (source / each.path).is_dir()]
        for path in there:
            for entry in sorted((source / path).iterdir()):
                if not _is_spreadable(entry):
                    files.rename(entry, target / path / entry.name)
        for directory in reversed(spreading.directories):
            place = target / directory.path
            place.chmod(directory.mode)
            os.utime(place, ns=(directory.mtime_ns, directory.mtime_ns))
            files.sync_directory(place)  # what has come, before the place that it came from goes
            if directory.path in there:
                (source / directory.path).rmdir()
        files.sync_directory(source.parent)
        self._journal.append(Spread())


def _is_spreadable(source: Path) -> bool:
    return source.is_dir() and not source.is_symlink()
