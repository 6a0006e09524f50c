"""Rename inside one environment without overwriting anything; record moves of trees in the journal if needed.

An overlay filesystem (a container's layers) renames files of a lower layer but not its directories (EXDEV, unless
mounted with redirect_dir). Such a directory is moved file by file: the move is recorded in the journal, the directories
are created, and the files are renamed one by one. An interrupted move is completed before any other work.
"""

import errno
import os
import stat
from pathlib import Path

from fastinstall.core import files, rights
from fastinstall.journal.entries import MovedTree, MovingTree, TreeDirectory
from fastinstall.journal.held_directories import hold_parents
from fastinstall.journal.journal_file import Journal
from fastinstall.journal.log import Log
from fastinstall.journal.store import JournalStore


class Mover:
    """Moves files and directories of one environment.

    Args:
        store: the environment's store.
        journal: the transaction's journal, which records trees that are moved file by file.
    """

    def __init__(self, store: JournalStore, journal: Journal) -> None:
        self._store = store
        self._journal = journal

    def move(self, source: Path, target: Path) -> None:
        """Rename `source` to `target`.

        The parent directory of `target` is made if it is missing: a copied environment often lacks empty directories.

        Raises:
            FileExistsError: the target exists.
            OSError: the rename failed.
        """
        if not target.parent.is_dir():
            rights.make_given_directories(target.parent)
        try:
            with hold_parents(self._store.home, source, target) as (held_source, held_target):
                files.rename(held_source, held_target)
        except OSError as error:
            if error.errno != errno.EXDEV or not _is_tree(source):
                raise
            self._move_tree(source, target)

    def exchange(self, one: Path, other: Path) -> bool:
        """Swap two entries in one step and return True.

        If the kernel or the filesystem cannot do that, nothing changes and the result is False.
        """
        try:
            with hold_parents(self._store.home, one, other) as held:
                return files.exchange(*held)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            return False

    def complete(self, log: Log) -> None:
        """Complete the file-by-file move of a tree if the log has an interrupted one."""
        if log.unfinished_tree_move is not None:
            self._carry_out(log.unfinished_tree_move)

    def _move_tree(self, source: Path, target: Path) -> None:
        if os.path.lexists(target):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target))
        found = ((Path(path), Path(path).stat()) for path, _, _ in os.walk(source))
        moving = MovingTree(
            source=self._store.relative(source),
            target=self._store.relative(target),
            directories=tuple(
                TreeDirectory(
                    path=path.relative_to(source).as_posix(),
                    mode=stat.S_IMODE(status.st_mode),
                    mtime_ns=status.st_mtime_ns,
                )
                for path, status in found
            ),
        )
        self._journal.append(moving)
        self._carry_out(moving)

    def _carry_out(self, moving: MovingTree) -> None:
        source, target = self._store.prefix / moving.source, self._store.prefix / moving.target
        for directory in moving.directories:
            files.make_directories(target / directory.path)
        there = [each.path for each in moving.directories if (source / each.path).is_dir()]
        for path in there:
            for entry in sorted((source / path).iterdir()):
                if not _is_tree(entry):
                    files.rename(entry, target / path / entry.name)
        for directory in reversed(moving.directories):
            place = target / directory.path
            if directory.path in there:
                files.copy_rights(source / directory.path, place)
            place.chmod(directory.mode)
            os.utime(place, ns=(directory.mtime_ns, directory.mtime_ns))
            files.sync_directory(place)  # the new directory is durable before the old one is removed
            if directory.path in there:
                (source / directory.path).rmdir()
        files.sync_directory(source.parent)
        self._journal.append(MovedTree())


def _is_tree(source: Path) -> bool:
    return source.is_dir() and not source.is_symlink()
