"""Our directory inside an environment: where everything lies, and what can be read from it.

Its layout stands in `layout`. Reading takes no lock and changes nothing.
"""

from collections.abc import Iterable
from pathlib import Path

from fastinstall.errors import DocumentError, LaterDocumentError
from fastinstall.journal.entries import Adding, Begun
from fastinstall.journal.glance import sequence_in, unreadable
from fastinstall.journal.journal import Journal
from fastinstall.journal.layout import JOURNAL, RECEIPT, ROOT, TRANSACTIONS
from fastinstall.journal.log import Act, Log, State
from fastinstall.journal.receipts import read_receipt
from fastinstall.journal.sizes import freed_by
from fastinstall.journal.stamp import moment_in
from fastinstall.journal.stretch import Engaging
from fastinstall.journal.titles import Title, title_of
from fastinstall.model.history import Unreadable
from fastinstall.model.immutable import immutable
from fastinstall.model.receipt import Receipt
from fastinstall.rules.messages import quote


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
        """The disk space that giving it up would free; walks its trees."""
        return freed_by({self.directory, self.work})

    @property
    def title(self) -> Title:
        """What it was; reads its plan."""
        return title_of(self.directory)


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
        """Return the receipt of the current setup, or None if there is none.

        Raises:
            DocumentError: it is malformed; names the file and the key.
        """
        return read_receipt(self.prefix)

    def transactions(self) -> tuple[TransactionInfo, ...]:
        """All transactions, newest first.

        Raises:
            DocumentError: a journal cannot be read; names the file, the line and the key.
        """
        found = [self.read(directory.name) for directory in self._directories() if (directory / JOURNAL).is_file()]
        return _newest_first(found)

    def readable(self) -> tuple[TransactionInfo, ...]:
        """The transactions whose journals can be read, newest first."""
        found = (self._tried(directory) for directory in self._directories())
        return _newest_first(each for each in found if isinstance(each, TransactionInfo))

    def unreadable(self) -> tuple[Unreadable, ...]:
        """Directories of transactions whose journal cannot be read, or is gone; an empty one holds nothing."""
        found = (self._tried(directory) for directory in self._directories() if any(directory.iterdir()))
        return tuple(each for each in found if isinstance(each, Unreadable))

    def unfinished(self) -> TransactionInfo | None:
        """The transaction that neither committed nor was undone to its end, if there is one.

        Raises:
            DocumentError: a journal is malformed; names the file, the line and the key.
        """
        return next((info for info in self.transactions() if info.state is not State.COMMITTED), None)

    def is_before(self, identifier: str, other: TransactionInfo) -> bool:
        """Whether a transaction that cannot be read came before another: by its first line, else by its name."""
        sequence = sequence_in(self.directory(identifier) / JOURNAL)
        if sequence is not None:
            return sequence < other.sequence
        return moment_in(identifier) < moment_in(other.id)

    def held_by(self, identifier: str) -> int:
        """The disk space of the directory of a transaction, in bytes, whatever lies in it."""
        return freed_by((self.directory(identifier),))

    def directory(self, identifier: str) -> Path:
        """Where a transaction keeps its journal."""
        return self.transactions_directory / identifier

    def journal(self, identifier: str) -> Journal:
        """The journal of a transaction."""
        return Journal(self.directory(identifier) / JOURNAL)

    def relative(self, path: Path) -> str:
        """A path of this environment, relative to its prefix."""
        return path.relative_to(self.prefix).as_posix()

    def _directories(self) -> list[Path]:
        if not self.transactions_directory.is_dir():
            return []
        return sorted(directory for directory in self.transactions_directory.iterdir() if directory.is_dir())

    def read(self, identifier: str) -> TransactionInfo:
        """One transaction.

        Raises:
            DocumentError: its journal cannot be read; names the file, the line and the key, and the way out.
        """
        journal = self.journal(identifier)
        try:
            return self._info(journal.read(), journal.file)
        except LaterDocumentError:
            raise
        except DocumentError as error:
            command = f"fastinstall rollback --forget {quote(identifier)} --prefix {quote(self.prefix)}"
            raise error.hinting(f"put that transaction away, which deletes nothing: {command}") from None

    def _tried(self, directory: Path) -> TransactionInfo | Unreadable:
        try:
            return self.read(directory.name)
        except DocumentError as error:
            return unreadable(error, directory / JOURNAL, directory.name)

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


def _newest_first(found: Iterable[TransactionInfo]) -> tuple[TransactionInfo, ...]:
    return tuple(sorted(found, key=lambda info: info.sequence, reverse=True))


def _paths(act: Act) -> Iterable[str]:
    if isinstance(act, Engaging):
        return (*(copied.path for copied in act.copies), *act.appearing)
    if isinstance(act, Adding):
        return (act.path,)
    return (move.live for move in act.moves)
