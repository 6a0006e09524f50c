"""The directory of fastinstall inside an environment: find its transactions, and make and remove their directories.

Its layout is described in `layout`. Reading takes no lock and changes nothing. A transaction is named by its time and a
few random digits.

Making and removing survive a kill at any moment thanks to the journal itself. Before the first directory is made, and
before the first one is removed, the journal lies as `.fastinstall-<id>.jsonl` in a directory that outlives them. While
it lies there, the transaction does not exist, and `clean_up_transaction_directories` removes what its first line names.
"""

import errno
import os
import re
import secrets
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from operator import attrgetter
from pathlib import Path, PurePath

from fastinstall import __version__
from fastinstall.core import codec, files, foreign, refused_writes, signals
from fastinstall.core.errors import DocumentError, EnvironmentDamagedError, LaterDocumentError, RefusedError
from fastinstall.core.messages import quote, recover_command
from fastinstall.core.secrets import redact_text
from fastinstall.core.values import immutable
from fastinstall.journal import fingerprints
from fastinstall.journal.entries import Adding, ExternalChangeBegun, TransactionBegun
from fastinstall.journal.held_directories import identify_home
from fastinstall.journal.layout import (
    EVENTS,
    EVENTS_BEFORE,
    JOURNAL,
    LOOSE,
    RECEIPT,
    ROOT,
    SHARE,
    TRANSACTIONS,
    Title,
    find_verb,
    measure_freed_bytes,
    read_receipt,
    title_of,
)
from fastinstall.journal.log import Act, Journal, Log, TransactionState, refuse_ways_out
from fastinstall.journal.snapshot import sequence_in, unreadable
from fastinstall.model.history import Unreadable
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
    state: TransactionState
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
        """All transactions, newest first.

        Raises:
            DocumentError: a journal cannot be read; names the file, the line and the key.
        """
        found = [self.read(directory.name) for directory in self._list_directories() if (directory / JOURNAL).is_file()]
        return tuple(sorted(found, key=attrgetter("sequence"), reverse=True))

    def readable(self) -> tuple[TransactionInfo, ...]:
        """The transactions whose journals can be read, newest first."""
        found = (self._read_or_report(directory) for directory in self._list_directories())
        infos = (each for each in found if isinstance(each, TransactionInfo))
        return tuple(sorted(infos, key=attrgetter("sequence"), reverse=True))

    def unreadable(self) -> tuple[Unreadable, ...]:
        """Directories of transactions whose journal cannot be read, or is gone; an empty one holds nothing."""
        found = (self._read_or_report(directory) for directory in self._list_directories() if any(directory.iterdir()))
        return tuple(each for each in found if isinstance(each, Unreadable))

    def unfinished(self) -> TransactionInfo | None:
        """The transaction that neither committed nor was undone to its end, if there is one.

        Raises:
            DocumentError: a journal is malformed; names the file, the line and the key.
        """
        return next((info for info in self.transactions() if info.state is not TransactionState.COMMITTED), None)

    def is_before(self, identifier: str, other: TransactionInfo) -> bool:
        """Whether a transaction that cannot be read came before another: by its first line, else by its name."""
        sequence = sequence_in(self.directory(identifier) / JOURNAL)
        if sequence is not None:
            return sequence < other.sequence
        return identifier.partition("-")[0] < other.id.partition("-")[0]  # two of one second have the same

    def held_by(self, identifier: str) -> int:
        """The disk space of the directory of a transaction, in bytes, whatever lies in it."""
        return measure_freed_bytes((self.directory(identifier),))

    def directory(self, identifier: str) -> Path:
        """Where a transaction keeps its journal."""
        return self.transactions_directory / identifier

    def journal(self, identifier: str) -> Journal:
        """The journal of a transaction."""
        return Journal(self.directory(identifier) / JOURNAL)

    def relative(self, path: Path) -> str:
        """A path of this environment, relative to its prefix."""
        return path.relative_to(self.prefix).as_posix()

    def _list_directories(self) -> list[Path]:
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


@immutable
class Stamp:
    """The identity of a transaction.

    Attributes:
        id: sorts by time ("20261121T101500Z-3fa2c1").
        at: ISO 8601, UTC, to the second.
    """

    id: str
    at: str


def stamp(moment: datetime, token: str) -> Stamp:
    """The stamp of an aware moment and a token of six hexadecimal digits."""
    utc = moment.astimezone(UTC).replace(microsecond=0)
    return Stamp(id=f"{utc:%Y%m%dT%H%M%SZ}-{token}", at=utc.isoformat().replace("+00:00", "Z"))


def make_stamp() -> Stamp:
    """The stamp of now: the one place where the journal asks for the time and for randomness."""
    return stamp(datetime.now(UTC), secrets.token_hex(3))


def create_transaction_directories(
    store: JournalStore, stamp: Stamp, *, site_packages: PurePath, plan: Mapping[str, object]
) -> TransactionBegun:
    """Make the directories of a transaction, its plan and its journal: all of it, or nothing.

    Raises:
        RefusedError: site-packages, or where we keep what is ours, lies outside the environment.
        OSError: as the kernel says; what had been made is removed.
        EnvironmentDamagedError: it could not be.
    """
    for path in (SHARE, ROOT, TRANSACTIONS):
        _require_inside(store, store.prefix / path)
    if os.path.lexists(store.directory(stamp.id)):
        raise FileExistsError(errno.EEXIST, "already exists", str(store.directory(stamp.id)))
    begun = _foresee(store, stamp, _require_inside(store, site_packages), find_verb(plan))
    loose = Journal(_make_loose_path(store, begun))
    try:
        loose.append(begun)
        _build(store, begun, redact_text(codec.dump(plan)))
        files.rename(loose.file, store.journal(begun.id).file)
        _finalize_directories(loose.file.parent, store.directory(begun.id))
    except BaseException:
        _abandon(store, loose, begun)
        raise
    return begun


def remove_transaction_directories(store: JournalStore, begun: TransactionBegun) -> None:
    """Take a transaction's directories away, once nothing in them is needed any more."""
    loose = _make_loose_path(store, begun)
    log = store.journal(begun.id).read()
    files.rename(store.journal(begun.id).file, loose)
    _finalize_directories(loose.parent)
    _dismantle(store, Journal(loose), log)


def clean_up_transaction_directories(store: JournalStore) -> None:
    """Clear away what an interrupted creation or removal of transaction directories has left behind."""
    for file in tuple(_list_loose_files(store)):
        _dismantle(store, Journal(file), _read_loose_log(file))


def _require_inside(store: JournalStore, directory: PurePath) -> str:
    prefix = os.path.realpath(store.prefix)
    relative = os.path.relpath(os.path.realpath(directory), prefix)
    if PurePath(relative).parts[:1] == ("..",):
        hint = f"fastinstall doctor environment --prefix {quote(store.prefix)}"
        raise RefusedError(f"{directory}: lies outside the environment {store.prefix}", hint=hint)
    return relative


def _foresee(store: JournalStore, stamp: Stamp, site_packages: str, verb: str) -> TransactionBegun:
    own = f"{TRANSACTIONS}/{stamp.id}"
    chain = (SHARE, ROOT, TRANSACTIONS, own)
    created = tuple(path for path in chain if not (store.prefix / path).is_dir())
    parent = store.prefix / next((path for path in reversed(chain) if path not in created), ".")
    beside = f"{site_packages}/.fastinstall-{stamp.id}"
    return TransactionBegun(
        id=stamp.id,
        at=stamp.at,
        sequence=1 + max((info.sequence for info in store.transactions()), default=0),
        work=own if _is_one_mount(parent, store.prefix / site_packages) else beside,
        created=created,
        directories=fingerprints.remember(store.prefix, (".", *chain, site_packages)),
        verb=verb,
        tool_version=__version__,
        home=os.fsencode(store.prefix).hex(),
    )


def _is_one_mount(one: Path, other: Path) -> bool:
    """Whether a rename can go from one directory to another: same filesystem, same mount of it; False if unknown."""
    return _OPEN_FILES.is_dir() and _find_mount(one) == _find_mount(other)


_OPEN_FILES = Path("/proc/self/fdinfo")


def _find_mount(directory: Path) -> tuple[int, str]:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        text = (_OPEN_FILES / str(descriptor)).read_text(encoding="ascii")
        mount = next((line for line in text.splitlines() if line.startswith("mnt_id:")), "")
        return os.fstat(descriptor).st_dev, mount
    finally:
        os.close(descriptor)


def _build(store: JournalStore, begun: TransactionBegun, plan: str) -> None:
    _finalize_directories(_make_loose_path(store, begun).parent)
    made = dict.fromkeys((*begun.created, begun.work, f"{begun.work}/stage", f"{begun.work}/aside"))
    for path in made:
        (store.prefix / path).mkdir()
    files.write_text(store.directory(begun.id) / "plan.json", plan)
    _finalize_directories(*((store.prefix / path).parent for path in made))


def _finalize_directories(*paths: Path) -> None:
    for directory in dict.fromkeys(paths):
        files.sync_directory(directory)


@signals.defer_signals()
def _abandon(store: JournalStore, loose: Journal, begun: TransactionBegun) -> None:
    try:
        if store.journal(begun.id).file.exists():
            remove_transaction_directories(store, begun)
        elif loose.file.exists():  # it comes before all else: without it nothing was made
            _dismantle(store, loose, Log(entries=(begun,)))
    except OSError as error:
        raise EnvironmentDamagedError(
            f"{refused_writes.reason(error, store.prefix)}: a transaction could not begin, "
            "and its files could not be removed",
            hint=f"remove the cause, then: {recover_command(store.prefix)}",
        ) from error


def _read_loose_log(file: Path) -> Log:
    """The lines of a loose journal; none if the process died in the first one: nothing had been made yet then.

    Raises:
        DocumentError: it was damaged, or written by a later fastinstall: what it names is left alone.
    """
    try:
        return Journal(file).read()
    except DocumentError as error:
        if _has_line(file):
            away = f"mv {quote(file)} {quote(file.with_suffix('.damaged'))}"
            raise error.hinting(f"look at what it names, then put it away: {away}") from None
        return Log(entries=())


def _has_line(file: Path) -> bool:
    """Whether a first line was written, or what is there is no journal of ours at all."""
    try:
        return b"\n" in foreign.read_bytes(file)
    except OSError:
        return True


def _dismantle(store: JournalStore, loose: Journal, log: Log) -> None:
    begun = log.begun
    remembered = log.directories if log.state is not TransactionState.COMMITTED else ()
    if begun is not None:
        refuse_ways_out(store.prefix, log)
        _remove(store, begun)
        _finalize_directories(
            *fingerprints.list_changed_directories(
                store.prefix, (begun.work, *begun.created, f"{TRANSACTIONS}/{begun.id}")
            )
        )
    fingerprints.restore(store.prefix, remembered)  # all but the one that holds the journal itself
    files.discard(loose.file)
    if _is_the_last(store):
        fingerprints.remove_empty(store.prefix, (ROOT,))  # it held the journal itself
    fingerprints.restore(store.prefix, remembered)
    _finalize_directories(*(path for path in (loose.file.parent, store.root.parent) if path.is_dir()))


def _remove(store: JournalStore, begun: TransactionBegun) -> None:
    files.discard(store.prefix / begun.work)
    files.discard(store.directory(begun.id))
    fingerprints.remove_empty(store.prefix, begun.created)
    if _is_the_last(store):
        for path in (EVENTS, EVENTS_BEFORE):
            files.discard(store.prefix / path)
        fingerprints.remove_empty(store.prefix, (*begun.created, TRANSACTIONS))


def _is_the_last(store: JournalStore) -> bool:
    """Whether nothing is set up any more, and nothing can be undone: what the guard has told goes with that."""
    there = store.transactions_directory
    return not store.receipt_file.exists() and not (there.is_dir() and any(there.iterdir()))


def _make_loose_path(store: JournalStore, begun: TransactionBegun) -> Path:
    """Beside the outermost directory that is ours to remove, but never inside `tx`."""
    outermost = begun.created[0]
    return store.prefix / PurePath(min(outermost, TRANSACTIONS, key=len)).parent / f".fastinstall-{begun.id}.jsonl"


def _list_loose_files(store: JournalStore) -> Iterator[Path]:
    for path in (".", SHARE, ROOT):
        directory = store.prefix / path
        if directory.is_dir():
            yield from (path for path in directory.iterdir() if re.fullmatch(LOOSE, path.name))
