"""The directory of fastinstall inside an environment: its transactions, found and read.

Its layout is described in `layout`. Reading takes no lock and changes nothing.
"""

from collections.abc import Iterable
from operator import attrgetter
from pathlib import Path

from fastinstall.core.errors import DocumentError, LaterDocumentError
from fastinstall.core.messages import quote
from fastinstall.core.values import immutable
from fastinstall.journal.disk_space import measure_freed_bytes
from fastinstall.journal.entries import Adding, ExternalChangeBegun
from fastinstall.journal.held_directories import identify_home
from fastinstall.journal.journal_file import Journal
from fastinstall.journal.layout import JOURNAL, RECEIPT, ROOT, TRANSACTIONS
from fastinstall.journal.log import Act, Log
from fastinstall.journal.receipt_file import read_receipt
from fastinstall.journal.snapshot import Title, sequence_in, title_of, unreadable
from fastinstall.journal.strays import is_stray
from fastinstall.model.history import Phase, Unreadable
from fastinstall.model.receipt import Receipt


@immutable
class TransactionInfo:
    """A transaction as its directory tells it.

    Attributes:
        id: the identifier, which sorts by time.
        at: when it began, ISO 8601, UTC.
        sequence: its number in this environment; undoing goes from the highest down.
        state: open, committed, or being undone.
        committed: whether it ever held.
        entries: what it moved, or had another program change, relative to the prefix.
        directory: holds its journal and its plan.
        work: of its stage and of what it moved aside.
    """

    id: str
    at: str
    sequence: int
    state: Phase
    committed: bool
    entries: tuple[str, ...]
    directory: Path
    work: Path

    @property
    def held_bytes(self) -> int:
        """The disk space that giving it up would free; walks its trees."""
        return measure_freed_bytes({self.directory, self.work})

    @property
    def title(self) -> Title:
        """What it was; reads its plan."""
        return title_of(self.directory)


class JournalStore:
    """What we keep in one environment.

    Args:
        prefix: of the environment, absolute.
    """

    def __init__(self, prefix: Path) -> None:
        self.prefix = prefix
        self.home = identify_home(prefix)
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
        """Return all transactions, newest first.

        Raises:
            DocumentError: a journal cannot be read; names the file, the line and the key.
        """
        found = [self.read(directory.name) for directory in self._list_directories() if (directory / JOURNAL).is_file()]
        return tuple(sorted(found, key=attrgetter("sequence"), reverse=True))

    def readable(self) -> tuple[TransactionInfo, ...]:
        """Return the transactions whose journals can be read, newest first."""
        found = (self._read_or_report(directory) for directory in self._list_directories())
        infos = (each for each in found if isinstance(each, TransactionInfo))
        return tuple(sorted(infos, key=attrgetter("sequence"), reverse=True))

    def unreadable(self) -> tuple[Unreadable, ...]:
        """Return directories of transactions whose journal cannot be read, or is gone; strays are left out."""
        found = (self._read_or_report(directory) for directory in self._list_directories() if not is_stray(directory))
        return tuple(each for each in found if isinstance(each, Unreadable))

    def unfinished(self) -> TransactionInfo | None:
        """Return the transaction that neither committed nor was undone to its end, if there is one.

        Raises:
            DocumentError: a journal is malformed; names the file, the line and the key.
        """
        return next((info for info in self.transactions() if info.state is not Phase.COMMITTED), None)

    def is_before(self, identifier: str, other: TransactionInfo) -> bool:
        """Return whether a transaction that cannot be read came before another: by its first line, else by its name."""
        sequence = sequence_in(self.directory(identifier) / JOURNAL)
        if sequence is not None:
            return sequence < other.sequence
        return identifier.partition("-")[0] < other.id.partition("-")[0]  # two of one second have the same

    def held_by(self, identifier: str) -> int:
        """Return the disk space of the directory of a transaction, in bytes, whatever lies in it."""
        return measure_freed_bytes((self.directory(identifier),))

    def directory(self, identifier: str) -> Path:
        """Return where a transaction keeps its journal."""
        return self.transactions_directory / identifier

    def journal(self, identifier: str) -> Journal:
        """Return the journal of a transaction."""
        return Journal(self.directory(identifier) / JOURNAL)

    def relative(self, path: Path) -> str:
        """Return a path of this environment, relative to its prefix."""
        return path.relative_to(self.prefix).as_posix()

    def _list_directories(self) -> list[Path]:
        if not self.transactions_directory.is_dir():
            return []
        return sorted(directory for directory in self.transactions_directory.iterdir() if directory.is_dir())

    def read(self, identifier: str) -> TransactionInfo:
        """Read one transaction.

        Raises:
            DocumentError: its journal cannot be read; names file, line and key, and the command that puts it away.
        """
        journal = self.journal(identifier)
        try:
            return self._make_info(journal.read(), journal.file)
        except LaterDocumentError:
            raise
        except DocumentError as error:
            command = f"fastinstall rollback --forget {quote(identifier)} --prefix {quote(self.prefix)}"
            raise error.hinting(f"put that transaction away (this deletes nothing): {command}") from None

    def _read_or_report(self, directory: Path) -> TransactionInfo | Unreadable:
        try:
            return self.read(directory.name)
        except DocumentError as error:
            return unreadable(error, directory / JOURNAL, directory.name)

    def _make_info(self, log: Log, file: Path) -> TransactionInfo:
        begun = log.require_begun(file)
        return TransactionInfo(
            id=begun.id,
            at=begun.at,
            sequence=begun.sequence,
            state=log.state,
            committed=log.committed,
            entries=tuple(dict.fromkeys(path for act in log.acts for path in _list_paths(act))),
            directory=file.parent,
            work=self.prefix / begun.work,
        )


def _list_paths(act: Act) -> Iterable[str]:
    if isinstance(act, ExternalChangeBegun):
        return (*(copied.path for copied in act.copies), *act.appearing)
    if isinstance(act, Adding):
        return (act.path,)
    return (move.live for move in act.moves)
