"""Find and read the transactions in fastinstall's directory inside an environment.

`layout` describes that directory. Reading takes no lock and changes nothing.
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
    """Facts of a transaction, read from its directory.

    Attributes:
        id: the identifier, which sorts by time.
        at: time of the start, ISO 8601, UTC.
        sequence: number of the transaction in this environment; transactions are undone in descending order.
        state: open, committed, or being undone.
        committed: whether the transaction has committed, even if it is being undone now.
        entries: paths, relative to the prefix, that were moved or announced for another program's change.
        directory: directory of the journal and the plan.
        work: directory of `stage` and `aside`.
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
        """Bytes of disk space that forgetting the transaction would free; walks its directories."""
        return measure_freed_bytes({self.directory, self.work})

    @property
    def title(self) -> Title:
        """Short description of the transaction, read from its plan."""
        return title_of(self.directory)


class JournalStore:
    """fastinstall's directory in one environment, with its receipt and transactions.

    Args:
        prefix: absolute prefix of the environment.
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
            DocumentError: the receipt is malformed; the message names the file and the key.
        """
        return read_receipt(self.prefix)

    def transactions(self) -> tuple[TransactionInfo, ...]:
        """Return all transactions, newest first.

        Raises:
            DocumentError: a journal cannot be read; the message names the file, the line and the key.
        """
        found = [self.read(directory.name) for directory in self._list_directories() if (directory / JOURNAL).is_file()]
        return tuple(sorted(found, key=attrgetter("sequence"), reverse=True))

    def readable(self) -> tuple[TransactionInfo, ...]:
        """Return the transactions whose journals can be read, newest first."""
        found = (self._read_or_report(directory) for directory in self._list_directories())
        infos = (each for each in found if isinstance(each, TransactionInfo))
        return tuple(sorted(infos, key=attrgetter("sequence"), reverse=True))

    def unreadable(self) -> tuple[Unreadable, ...]:
        """Return the transactions whose journal is unreadable or missing, except strays (`is_stray`)."""
        found = (self._read_or_report(directory) for directory in self._list_directories() if not is_stray(directory))
        return tuple(each for each in found if isinstance(each, Unreadable))

    def unfinished(self) -> TransactionInfo | None:
        """Return the newest transaction that is open or only partly undone, or None if there is none.

        Raises:
            DocumentError: a journal is malformed; the message names the file, the line and the key.
        """
        return next((info for info in self.transactions() if info.state is not Phase.COMMITTED), None)

    def is_before(self, identifier: str, other: TransactionInfo) -> bool:
        """Return whether an unreadable transaction is older than another one.

        If the first line of its journal can be read, the sequence numbers decide; otherwise the identifiers' times do.
        """
        sequence = sequence_in(self.directory(identifier) / JOURNAL)
        if sequence is not None:
            return sequence < other.sequence
        return identifier.partition("-")[0] < other.id.partition("-")[0]  # False if both are of the same second

    def held_by(self, identifier: str) -> int:
        """Return the disk space of a transaction's directory, in bytes, even if its journal is unreadable."""
        return measure_freed_bytes((self.directory(identifier),))

    def directory(self, identifier: str) -> Path:
        """Return the directory of a transaction's journal and plan."""
        return self.transactions_directory / identifier

    def journal(self, identifier: str) -> Journal:
        """Return the journal of a transaction."""
        return Journal(self.directory(identifier) / JOURNAL)

    def relative(self, path: Path) -> str:
        """Return an absolute path of this environment relative to the prefix."""
        return path.relative_to(self.prefix).as_posix()

    def _list_directories(self) -> list[Path]:
        if not self.transactions_directory.is_dir():
            return []
        return sorted(directory for directory in self.transactions_directory.iterdir() if directory.is_dir())

    def read(self, identifier: str) -> TransactionInfo:
        """Read one transaction.

        Raises:
            DocumentError: the journal cannot be read; the message names file, line and key, and the hint is a command
                that moves the transaction out of the way.
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
