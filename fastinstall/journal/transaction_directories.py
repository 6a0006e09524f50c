"""Make and remove the directories of a transaction, so that a kill at any moment leaves nothing behind.

While directories are made or removed, the journal is loose: it is named `.fastinstall-<id>.jsonl`, in a directory that
is not removed with them. A transaction with a loose journal does not count as a transaction. If a run is interrupted in
that state, `clean_up_transaction_directories` removes the directories that the journal's first line lists.
"""

import errno
import os
from collections.abc import Mapping
from pathlib import Path, PurePath

from fastinstall import __version__
from fastinstall.core import codec, files, refused_writes, rights, signals
from fastinstall.core.errors import DocumentError, EnvironmentDamagedError, RefusedError
from fastinstall.core.messages import quote, recover_command
from fastinstall.core.secrets import redact_text
from fastinstall.journal import remembered_directories
from fastinstall.journal.entries import TransactionBegun
from fastinstall.journal.layout import EVENTS, EVENTS_BEFORE, ROOT, SHARE, TRANSACTIONS
from fastinstall.journal.leftovers import find_loose_journals
from fastinstall.journal.log import Journal, Log
from fastinstall.journal.path_rules import refuse_ways_out
from fastinstall.journal.snapshot import find_verb
from fastinstall.journal.stamp import Stamp
from fastinstall.journal.store import JournalStore
from fastinstall.model.history import Phase


def create_transaction_directories(
    store: JournalStore, stamp: Stamp, *, site_packages: PurePath, plan: Mapping[str, object]
) -> TransactionBegun:
    """Make the directories of a transaction, its plan and its journal: all of them, or nothing.

    Raises:
        RefusedError: site-packages or fastinstall's directory is outside the environment.
        OSError: a file or directory could not be made; those that were made have been removed again.
        EnvironmentDamagedError: a file or directory could not be made, and others could not be removed again.
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
        files.sync_directories((loose.file.parent, store.directory(begun.id)))
    except BaseException:
        _abandon(store, loose, begun)
        raise
    return begun


def remove_transaction_directories(store: JournalStore, begun: TransactionBegun) -> None:
    """Remove the directories of a transaction that is undone or forgotten."""
    loose = _make_loose_path(store, begun)
    log = store.journal(begun.id).read()
    files.rename(store.journal(begun.id).file, loose)
    files.sync_directory(loose.parent)
    _dismantle(store, Journal(loose), log)


def clean_up_transaction_directories(store: JournalStore) -> None:
    """Remove the remains of transaction directories whose creation or removal was interrupted."""
    for file in tuple(find_loose_journals(store.prefix)):
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
        directories=remembered_directories.record(store.prefix, (".", *chain, site_packages)),
        verb=verb,
        tool_version=__version__,
        home=os.fsencode(store.prefix).hex(),
    )


def _is_one_mount(one: Path, other: Path) -> bool:
    """Return whether two directories are on the same mount, so that renames between them work; False if unknown."""
    return _OPEN_FILES.is_dir() and _find_mount(one) == _find_mount(other)


_OPEN_FILES = Path("/proc/self/fdinfo")


def _find_mount(directory: Path) -> tuple[int, str]:
    with files.opened(directory, os.O_RDONLY | os.O_DIRECTORY) as descriptor:
        text = (_OPEN_FILES / str(descriptor)).read_text(encoding="ascii")
        mount = next((line for line in text.splitlines() if line.startswith("mnt_id:")), "")
        return os.fstat(descriptor).st_dev, mount


def _build(store: JournalStore, begun: TransactionBegun, plan: str) -> None:
    files.sync_directory(_make_loose_path(store, begun).parent)
    own = f"{TRANSACTIONS}/{begun.id}"
    made = dict.fromkeys((*begun.created, begun.work, f"{begun.work}/stage", f"{begun.work}/aside"))
    for path in made:
        (store.prefix / path).mkdir()
        if path in begun.created[: begun.created.index(own)]:
            rights.give_new_directory(store.prefix / path)
    files.write_text(store.directory(begun.id) / "plan.json", plan)
    files.sync_directories((store.prefix / path).parent for path in made)


@signals.defer_signals()
def _abandon(store: JournalStore, loose: Journal, begun: TransactionBegun) -> None:
    try:
        if store.journal(begun.id).file.exists():
            remove_transaction_directories(store, begun)
        elif loose.file.exists():  # the journal is written first: if it is missing, nothing was made
            _dismantle(store, loose, Log(entries=(begun,)))
    except OSError as error:
        raise EnvironmentDamagedError(
            f"{refused_writes.reason(error, store.prefix)}: a transaction could not begin, "
            "and its files could not be removed",
            hint=f"remove the cause, then: {recover_command(store.prefix)}",
        ) from error


def _read_loose_log(file: Path) -> Log:
    """Return the log of a loose journal; empty if its first line is incomplete: then no directory was made yet.

    Raises:
        DocumentError: the journal is damaged, or a later fastinstall wrote it; nothing is removed.
    """
    try:
        return Journal(file).read()
    except DocumentError as error:
        away = f"mv {quote(file)} {quote(file.with_suffix('.damaged'))}"
        raise error.hinting(f"look at what it names, then put it away: {away}") from None


def _dismantle(store: JournalStore, loose: Journal, log: Log) -> None:
    begun = log.begun
    remembered = log.directories if log.state is not Phase.COMMITTED else ()
    if begun is not None:
        refuse_ways_out(store.prefix, log.entries)
        own = store.directory(begun.id)
        files.discard(store.prefix / begun.work)
        files.discard(own)
        remembered_directories.remove_empty(store.prefix, begun.created)
        if _is_the_last(store):
            for path in (EVENTS, EVENTS_BEFORE):
                files.discard(store.prefix / path)
            remembered_directories.remove_empty(store.prefix, (*begun.created, TRANSACTIONS))
        changed = (store.prefix / path for path in (begun.work, *begun.created))
        files.sync_directories((*(path.parent for path in changed), own.parent))
    remembered_directories.restore(store.prefix, remembered)  # the loose journal's directory is restored below
    files.discard(loose.file)
    if _is_the_last(store):
        remembered_directories.remove_empty(store.prefix, (ROOT,))  # ROOT may have contained the loose journal
    remembered_directories.restore(store.prefix, remembered)
    files.sync_directories((loose.file.parent, store.root.parent))


def _is_the_last(store: JournalStore) -> bool:
    """Return whether neither a receipt nor a transaction is left in the environment."""
    there = store.transactions_directory
    return not store.receipt_file.exists() and not (there.is_dir() and any(there.iterdir()))


def _make_loose_path(store: JournalStore, begun: TransactionBegun) -> Path:
    """Return the path of the loose journal: beside the outermost directory that the transaction makes, outside `tx`."""
    outermost = begun.created[0]
    return store.prefix / PurePath(min(outermost, TRANSACTIONS, key=len)).parent / f".fastinstall-{begun.id}.jsonl"
