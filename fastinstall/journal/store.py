"""Our directory inside an environment: where everything lies, and what can be read from it.

Its layout stands in `layout`. Reading takes no lock and changes nothing.
"""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from fastinstall.errors import DocumentError
from fastinstall.journal.entries import Adding, Begun
from fastinstall.journal.glance import read_receipt
from fastinstall.journal.journal import Journal
from fastinstall.journal.layout import JOURNAL, RECEIPT, ROOT, TRANSACTIONS
from fastinstall.journal.log import Act, Log, State
from fastinstall.journal.stretch import Engaging
from fastinstall.model.immutable import immutable
from fastinstall.model.receipt import Receipt


@immutable
class TransactionInfo:
    """A transaction as its directory tells it.

    Attributes:
        id: sorts by time.
        at: when it began, ISO 8601, UTC.
        sequence: its number in this environment; undoing goes from the highest down.
        state: open, committed, or being undone.
        committed: whether it ever held.
        entries: what it moved, or had another program change, relative to the prefix.
        directory: of its journal.
        work: of its stage and of what it moved aside.
    """

    id: str
    at: str
    sequence: int
    state: State
    committed: bool
    entries: tuple[str, ...]
    directory: Path
    work: Path

    @property
    def held_bytes(self) -> int:
        """Disk space of what is moved aside; walks the tree."""
        return sum(_size(self.work / name) for name in ("stage", "aside"))


class Store:
    """What we keep in one environment.

    Args:
        prefix: of the environment, absolute.
    """

    def __init__(self, prefix: Path) -> None:
        self.prefix = prefix
        self.root = prefix / ROOT
        self.receipt_file = prefix / RECEIPT
        self.transactions_directory = prefix / TRANSACTIONS

    def read_receipt(self) -> Receipt | None:
        """The receipt of the setup that holds; None where there is none.

        Raises:
            DocumentError: it is malformed; names the file and the key.
        """
        return read_receipt(self.prefix)

    def transactions(self) -> tuple[TransactionInfo, ...]:
        """All transactions, newest first.

        Raises:
            DocumentError: a journal is malformed; names the file, the line and the key.
        """
        return tuple(sorted(self._read_all(), key=lambda info: info.sequence, reverse=True))

    def unfinished(self) -> TransactionInfo | None:
        """The transaction that neither committed nor was undone to its end, if there is one.

        Raises:
            DocumentError: a journal is malformed; names the file, the line and the key.
        """
        return next((info for info in self.transactions() if info.state is not State.COMMITTED), None)

    def directory(self, identifier: str) -> Path:
        """Where a transaction keeps its journal."""
        return self.transactions_directory / identifier

    def journal(self, identifier: str) -> Journal:
        """The journal of a transaction."""
        return Journal(self.directory(identifier) / JOURNAL)

    def relative(self, path: Path) -> str:
        """A path of this environment, relative to its prefix."""
        return path.relative_to(self.prefix).as_posix()

    def _read_all(self) -> Iterator[TransactionInfo]:
        if not self.transactions_directory.is_dir():
            return
        for directory in self.transactions_directory.iterdir():
            journal = self.journal(directory.name)
            if journal.file.is_file():
                yield self._info(journal.read(), journal.file)

    def _info(self, log: Log, file: Path) -> TransactionInfo:
        begun = log.begun
        if not isinstance(begun, Begun):
            raise DocumentError(f"{file}:1", "event", "expected 'begun'")
        return TransactionInfo(
            id=begun.id,
            at=begun.at,
            sequence=begun.sequence,
            state=log.state,
            committed=log.committed,
            entries=tuple(dict.fromkeys(path for act in log.acts for path in _paths(act))),
            directory=file.parent,
            work=self.prefix / begun.work,
        )


def _paths(act: Act) -> Iterable[str]:
    if isinstance(act, Engaging):
        return (*(copied.path for copied in act.copies), *act.appearing)
    if isinstance(act, Adding):
        return (act.path,)
    return (move.live for move in act.moves)


def _size(path: Path) -> int:
    if path.is_dir() and not path.is_symlink():
        with os.scandir(path) as entries:
            return sum(_size(Path(entry.path)) for entry in entries)
    return path.lstat().st_blocks * 512 if os.path.lexists(path) else 0
