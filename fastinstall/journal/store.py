"""Find and read the transactions in fastinstall's directory inside an environment.

`layout` describes that directory. Reading takes no lock and changes nothing.
"""

from collections.abc import Iterable
from operator import attrgetter
from pathlib import Path

from fastinstall.core.errors import DocumentError, LaterDocumentError
from fastinstall.core.messages import quote
from fastinstall.core.values import immutable
from fastinstall.journal.events import read_sequence
from fastinstall.journal.held_directories import identify_home
from fastinstall.journal.layout import JOURNAL, RECEIPT, ROOT, TRANSACTIONS, list_transaction_directories
from fastinstall.journal.leftovers import is_stray
from fastinstall.journal.log import Journal
from fastinstall.journal.receipt_file import read_receipt
from fastinstall.journal.snapshot import Title, describe_unreadable, measure_freed_bytes, title_of
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
        directory: directory of the journal and the plan.
        work: directory of `stage` and `aside`.
    """

    id: str
    at: str
    sequence: int
    state: Phase
    committed: bool
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
        directories = list_transaction_directories(self.prefix)
        return _sort_newest_first(self.read(path.name) for path in directories if (path / JOURNAL).is_file())

    def readable(self) -> tuple[TransactionInfo, ...]:
        """Return the transactions whose journals can be read, newest first."""
        return _sort_newest_first(each for each in self._read_all() if isinstance(each, TransactionInfo))

    def unreadable(self) -> tuple[Unreadable, ...]:
        """Return the transactions whose journal is unreadable or missing, except strays (`is_stray`)."""
        found = (each for each in self._read_all() if isinstance(each, Unreadable))
        return tuple(each for each in found if not is_stray(self.directory(each.transaction)))

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
        sequence = read_sequence(self.directory(identifier) / JOURNAL)
        if sequence is not None:
            return sequence < other.sequence
        return identifier.partition("-")[0] < other.id.partition("-")[0]  # False if both began in the same second

    def directory(self, identifier: str) -> Path:
        """Return the directory of a transaction's journal and plan."""
        return self.transactions_directory / identifier

    def journal(self, identifier: str) -> Journal:
        """Return the journal of a transaction."""
        return Journal(self.directory(identifier) / JOURNAL)

    def relative(self, path: Path) -> str:
        """Convert an absolute path inside this environment to a path relative to the prefix."""
        return path.relative_to(self.prefix).as_posix()

    def read(self, identifier: str) -> TransactionInfo:
        """Read one transaction.

        Raises:
            DocumentError: the journal cannot be read; the message names file, line and key, and the hint is a command
                that moves the transaction out of the way.
        """
        journal = self.journal(identifier)
        try:
            log = journal.read()
            begun = log.require_begun(journal.file)
        except LaterDocumentError:
            raise
        except DocumentError as error:
            command = f"fastinstall rollback --forget {quote(identifier)} --prefix {quote(self.prefix)}"
            raise error.hinting(f"put that transaction away (this deletes nothing): {command}") from None
        return TransactionInfo(
            id=begun.id,
            at=begun.at,
            sequence=begun.sequence,
            state=log.state,
            committed=log.committed,
            directory=self.directory(identifier),
            work=self.prefix / begun.work,
        )

    def _read_all(self) -> Iterable[TransactionInfo | Unreadable]:
        for directory in list_transaction_directories(self.prefix):
            try:
                yield self.read(directory.name)
            except DocumentError as error:
                yield describe_unreadable(error, directory / JOURNAL, directory.name)


def _sort_newest_first(infos: Iterable[TransactionInfo]) -> tuple[TransactionInfo, ...]:
    return tuple(sorted(infos, key=attrgetter("sequence"), reverse=True))
