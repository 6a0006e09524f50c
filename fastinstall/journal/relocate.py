"""Move one entry from here to there, never over anything; file by file where it cannot go as a whole.

An overlay filesystem (a container's layers) renames files of a lower layer but not its directories
(EXDEV, unless mounted with redirect_dir). There a tree is spread: announced in the journal, its
directories made anew, its files renamed one by one. A spread that was cut off is always completed
before anything else is looked at.
"""

import errno
import os
import stat
from pathlib import Path

from fastinstall.journal.entries import Spread, SpreadDirectory, Spreading
from fastinstall.journal.journal import Journal
from fastinstall.journal.log import Log
from fastinstall.journal.store import Store
from fastinstall.system import files


class Mover:
    """Moves entries of one environment, with the journal at hand.

    Args:
        store: of the environment.
        journal: of the transaction.
    """

    def __init__(self, store: Store, journal: Journal) -> None:
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
            files.rename(source, target)
        except OSError as error:
            if error.errno != errno.EXDEV or not _spreadable(source):
                raise
            self._spread(source, target)

    def exchange(self, one: Path, other: Path) -> bool:
        """Swap two entries in one step; False where that cannot be done, and nothing has changed."""
        try:
            return files.exchange(one, other)
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
        spreading = Spreading(
            source=self._store.relative(source), target=self._store.relative(target), directories=_directories(source)
        )
        self._journal.append(spreading)
        self._carry_out(spreading)

    def _carry_out(self, spreading: Spreading) -> None:
        source, target = self._store.prefix / spreading.source, self._store.prefix / spreading.target
        for directory in spreading.directories:
            files.make_directories(target / directory.path)
        for directory in spreading.directories:
            _empty_into(source / directory.path, target / directory.path)
        for directory in reversed(spreading.directories):
            _finish(source / directory.path, target / directory.path, directory)
        files.sync_directory(source.parent)
        self._journal.append(Spread())


def _spreadable(source: Path) -> bool:
    return source.is_dir() and not source.is_symlink()


def _directories(tree: Path) -> tuple[SpreadDirectory, ...]:
    return tuple(_observed(Path(path), Path(path).relative_to(tree).as_posix()) for path, _, _ in os.walk(tree))


def _observed(directory: Path, path: str) -> SpreadDirectory:
    status = directory.stat()
    return SpreadDirectory(path=path, mode=stat.S_IMODE(status.st_mode), mtime_ns=status.st_mtime_ns)


def _empty_into(source: Path, target: Path) -> None:
    if not source.is_dir():
        return
    for path in sorted(source.iterdir()):
        if not _spreadable(path):
            files.rename(path, target / path.name)


def _finish(source: Path, target: Path, directory: SpreadDirectory) -> None:
    target.chmod(directory.mode)
    os.utime(target, ns=(directory.mtime_ns, directory.mtime_ns))
    files.sync_directory(target)  # what has come, before the place that it came from goes
    if source.is_dir():
        source.rmdir()
