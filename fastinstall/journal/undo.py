"""Undo a transaction from its journal alone: newest move first, repeatable, and without destroying anything foreign.

If another program has replaced files during an open transaction, that program's files stay in place. The previous
content is then not restored, but kept for the user. The paths are listed once, in the journal, so that an interrupted
undo continues with the same list.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePath

from fastinstall.core import files, refused_writes, rights, signals
from fastinstall.core.errors import EnvironmentDamagedError, FailedError, FastinstallError, RefusedError
from fastinstall.core.messages import listing, quote, recover_command
from fastinstall.core.package_managers import CONDA, WORKER, names_prefix, recognise_command
from fastinstall.core.process_table import PROCESSES, commands
from fastinstall.core.values import immutable
from fastinstall.journal import conda_records, moves, transaction_directories
from fastinstall.journal.acts import (
    Batch,
    Placed,
    find_conceded_entries,
    find_files_in_the_way,
    find_lost_by_acts,
    is_metadata,
    list_previous_sources,
    locate_act,
    parents_of,
    probe_renames,
    take_back,
)
from fastinstall.journal.entries import Conceding, TransactionBegun, Undoing
from fastinstall.journal.fingerprints import KnownFiles
from fastinstall.journal.journal_file import Journal
from fastinstall.journal.layout import ROOT
from fastinstall.journal.log import Log
from fastinstall.journal.mover import Mover
from fastinstall.journal.path_rules import refuse_ways_out
from fastinstall.journal.store import JournalStore
from fastinstall.model.history import Phase
from fastinstall.model.move import MoveKind
from fastinstall.model.request import Risk

_NAMED = 20
"""Maximum number of paths that a refusal lists."""
_ENGINES = (*CONDA, WORKER)
"""Programs that a setup runs and that take the environment's path as an argument."""


@immutable
class UndoTerms:
    """Options of an undo.

    Attributes:
        reason: the reason for the undo, for the journal and the user.
        force: move foreign content out of the way instead of refusing.
        returned: foreign paths, relative to the prefix, that are moved away even without `force`: the undo of a later
            transaction has just restored them.
        conceding: leave files of another program in place, and keep the previous content for the user (see
            `entries.Conceding`).
        foreign_entries: paths, relative to the prefix, that would contradict the restored files, such as the metadata
            directory of another Pillow that was installed since.
    """

    reason: str
    force: bool = False
    returned: tuple[str, ...] = ()
    conceding: bool = False
    foreign_entries: tuple[str, ...] = ()


@immutable
class UndoResult:
    """The content that an undo could not restore in place.

    Attributes:
        kept: new paths of content that was put away: foreign content that was in the way, and previous content that
            could not return because another program's files stay at its path.
        lost: paths, relative to the prefix, of previous content that was removed since and cannot be restored.
    """

    kept: tuple[PurePath, ...] = ()
    lost: tuple[str, ...] = ()


class ForeignError(RefusedError):
    """A path that undo has to restore now holds something that fastinstall did not put there; nothing has changed."""

    tag = "Foreign"


def undo(store: JournalStore, identifier: str, terms: UndoTerms) -> UndoResult:
    """Restore an environment to its state before a transaction, and remove the transaction's directories.

    Raises:
        ForeignError: foreign content is at a path that has to be restored; nothing has changed.
        RefusedError: a package manager is still changing the environment, or a link leads out of the environment;
            nothing has changed.
        FailedError: the undo could not begin; nothing has changed.
        EnvironmentDamagedError: a step failed; the next call continues where this one stopped.
        DocumentError: the journal is malformed.
    """
    with signals.defer_signals():
        journal = store.journal(identifier)
        try:
            return _undo(store, journal, terms)
        except OSError as error:
            raise _make_incomplete_undo_error(store, identifier, error) from error


def undo_open_transaction(store: JournalStore, identifier: str, reason: str) -> FastinstallError | None:
    """Undo an open transaction whose files another program may have changed meanwhile.

    If metadata that the transaction installed is gone or replaced, another installer has taken over: the installer's
    files stay in place, and the previous content is kept for the user. Otherwise everything is undone, and files that
    another program has altered are kept below `kept/`.

    Returns:
        An error, for the caller to raise, that says what the other program did; None if no other program interfered.

    Raises:
        FastinstallError: see `undo`.
    """
    if _is_taken_over(store, identifier):
        undone = undo(store, identifier, UndoTerms(reason=reason, conceding=True))
        return RefusedError(
            f"{store.prefix}: another program replaced the same files: its files stay, and this setup was undone",
            hint=f"after it has ended, run: fastinstall doctor --prefix {quote(store.prefix)}",
            details=(*(f"what was there before: {path}" for path in undone.kept), reason),
        )
    try:
        undo(store, identifier, UndoTerms(reason=reason))
    except ForeignError:
        undone = undo(store, identifier, UndoTerms(reason=reason, force=True))
        return FailedError(
            f"{store.prefix}: another program altered what this setup had installed: "
            "the environment is as it was before",
            hint=f"find out what changes files there, then run again: fastinstall setup --prefix {quote(store.prefix)}",
            details=(*(f"what was altered: {path}" for path in undone.kept), reason),
        )
    return None


def find_intruding_records(prefix: Path, log: Log, records: Mapping[str, Path] | None = None) -> tuple[str, ...]:
    """Return later conda records that undo must move away, and the files that they claim, relative to the prefix.

    These are: 1. records of packages whose previous record is about to be restored, since two records of one package
    break every conda engine; 2. records that claim files of an external change whose end was not recorded.

    Args:
        prefix: the environment's prefix.
        log: the log of the transaction that is undone.
        records: paths of the records at the time of the undo, by file name; None for the records on disk now.
    """
    if records is None:
        records = {name: prefix / conda_records.RECORDS / name for name in conda_records.list_record_names(prefix)}
    moved = [move for batch in log.batches for move in batch.moves]
    touched = [copied.path for change in log.begun_changes for copied in change.copies]
    returning = (*(move.live for move in moved if move.kind is not MoveKind.IN), *touched)
    known = {PurePath(path).name for path in (*(move.live for move in moved), *_list_announced_paths(log))}
    found = conda_records.find_foreign_records(records, known, tuple(filter(conda_records.is_record, returning)))
    return (*found, *_list_unknown_changes(prefix, log, known))


def find_free_place(path: Path) -> Path:
    """Return `path` if nothing exists at it, otherwise the first free one of "path.2", "path.3" and so on."""
    number = 1
    candidate = path
    while os.path.lexists(candidate):
        number += 1
        candidate = path.with_name(f"{path.name}.{number}")
    return candidate


def make_foreign_refusal(store: JournalStore, foreign: Sequence[str], to: str | None = None) -> ForeignError:
    """Return an error saying that foreign content prevents an undo.

    Args:
        store: the environment's store.
        foreign: paths of the foreign content, relative to the prefix.
        to: value of `rollback --to`, for the hint; None if the option was not given.
    """
    back = f" --to {to}" if to is not None else ""
    return ForeignError(
        f"{store.prefix}: {listing(foreign, _NAMED)}: in the way: fastinstall did not put it there",
        hint=f"fastinstall rollback{back} --yes --allow {Risk.FORCE_REMOVE} --prefix {quote(store.prefix)}",
        details=(f"with --allow {Risk.FORCE_REMOVE} it is moved to {store.prefix / ROOT}/kept, not deleted",),
    )


def refuse_during_external_change(prefix: Path, processes: Path = PROCESSES) -> None:
    """Raise if a package manager is still changing an environment.

    Args:
        processes: the directory of the process table; see proc_pid_cmdline(5).

    Raises:
        RefusedError: a package manager is running for this prefix; the message gives its process number.
    """
    for number, words in commands(processes):
        command = recognise_command(words)
        if command is not None and command.tool in _ENGINES and names_prefix(words, prefix):
            raise RefusedError(
                f"{prefix}: process {number} still changes packages there, for a setup that was killed",
                hint=f"wait until it has ended, then run the same command again: ps -p {number}",
            )


def _undo(store: JournalStore, journal: Journal, terms: UndoTerms) -> UndoResult:
    log = journal.read()
    begun = log.require_begun(journal.file)
    refuse_ways_out(store.prefix, log)
    if log.dark_changes:
        refuse_during_external_change(store.prefix)
    mover = Mover(store, journal)
    mover.complete(log)
    acts = tuple(locate_act(log, act, store.prefix, store.prefix / begun.work) for act in log.acts)
    left = log.conceding or (find_conceded_entries(acts, log.known) if terms.conceding else None)
    foreign = _list_foreign(store, acts, log, terms) if left is None else ()
    strange = tuple(path for path in foreign if path not in terms.returned)
    if strange and not terms.force:
        raise make_foreign_refusal(store, strange)
    if not foreign:  # otherwise the obstacles may be the foreign files, which are moved away first
        _refuse_impossible(acts, left, log, journal)
    if left is not None and log.conceding is None:
        journal.append(left)
    _announce(journal, log, terms.reason)
    kept = tuple(_put_away(store.prefix / path, _choose_place(store, begun, path), mover) for path in foreign)
    lost = tuple(find_lost_by_acts(acts))
    if left is not None:
        sources = list_previous_sources(acts, left)
        kept = tuple(_put_away(source, _choose_place(store, begun, path), mover) for path, source in sources)
    _return_receipt(store, begun.id, log)
    for act in reversed(acts):
        take_back(act, store, mover, left)
    transaction_directories.remove_transaction_directories(store, begun)
    return UndoResult(kept=kept, lost=lost)


def _refuse_impossible(acts: Sequence[Placed], left: Conceding | None, log: Log, journal: Journal) -> None:
    """Check that all renames of an undo are possible, before the first one.

    Raises:
        FailedError: a rename is impossible; the transaction has committed, and the setup stays as it is.
        OSError: a rename is impossible; the transaction has not committed, or is already partly undone.
    """
    try:
        probe_renames(acts, left)
    except OSError as error:
        if log.state is not Phase.COMMITTED:
            raise
        raise _make_not_begun_error(error, journal) from error


def _make_not_begun_error(error: OSError, journal: Journal) -> FailedError:
    message = f"{refused_writes.reason(error, journal.file)}: could not begin to undo"
    return FailedError(message, hint=refused_writes.advice(error, journal.file), details=("nothing was changed",))


def _list_foreign(store: JournalStore, acts: Sequence[Placed], log: Log, terms: UndoTerms) -> tuple[str, ...]:
    """Return the foreign paths to move away, without those inside a directory that is itself in the result."""
    known = log.known
    in_the_way = [path for act in acts for path in find_files_in_the_way(act, known)]
    items = [item for act in acts if isinstance(act, Batch) for item in act.items]
    judged = {item.move.live for item in items}  # for these, `find_files_in_the_way` has compared the content
    intruding = [
        path for path in (*terms.foreign_entries, *find_intruding_records(store.prefix, log)) if path not in judged
    ]
    found = dict.fromkeys((*in_the_way, *intruding))
    return tuple(path for path in found if os.path.lexists(store.prefix / path) and not parents_of(path) & found.keys())


def _announce(journal: Journal, log: Log, reason: str) -> None:
    """Record in the journal that the undo begins.

    For a transaction that did not commit, the record is not essential, and a failure to write it is ignored.
    """
    if log.state is Phase.UNDOING:
        return
    try:
        journal.append(Undoing(reason=reason))
    except OSError as error:
        if log.state is Phase.OPEN:
            return
        if journal.read().state is Phase.UNDOING:
            raise  # the entry is readable but may not be durable, so we cannot say that nothing has changed
        raise _make_not_begun_error(error, journal) from error


def _put_away(source: Path, target: Path, mover: Mover) -> Path:
    rights.make_given_directories(target.parent)
    mover.move(source, target)
    files.sync_directory(target.parent)
    return target


def _choose_place(store: JournalStore, begun: TransactionBegun, path: str) -> Path:
    """Return a free path below `kept/` for content that is moved away from `path` or cannot be restored to `path`."""
    own = (store.directory(begun.id), store.root / "kept" / begun.id)
    beside = (store.prefix / begun.work, (store.prefix / begun.work).with_name(f".fastinstall-kept-{begun.id}"))
    kept = own[1] if own[0] == beside[0] else beside[1]
    return find_free_place(kept / path)


def _return_receipt(store: JournalStore, identifier: str, log: Log) -> None:
    """Undo the two renames of a commit, each only if it was done."""
    if log.committing is None:
        return
    upcoming = store.directory(identifier) / "next-receipt.json"
    previous = store.directory(identifier) / "previous-receipt.json"
    if store.receipt_file.exists() and (previous.exists() or not log.committing.replaces):
        files.rename(store.receipt_file, upcoming)
    if previous.exists():
        files.rename(previous, store.receipt_file)
    files.sync_directory(store.root)


def _make_incomplete_undo_error(store: JournalStore, identifier: str, error: OSError) -> EnvironmentDamagedError:
    return EnvironmentDamagedError(
        f"{refused_writes.reason(error, store.prefix)}: the environment is not fully restored",
        hint=f"remove the cause, then: {recover_command(store.prefix)}",
        details=(f"what was moved where is in the journal of transaction {identifier}",),
    )


def _is_taken_over(store: JournalStore, identifier: str) -> bool:
    """Return whether another installer has replaced or removed the metadata that an open transaction installed."""
    log = store.journal(identifier).read()
    if log.begun is None or log.undoing is not None:
        return False
    acts = tuple(locate_act(log, act, store.prefix, store.prefix / log.begun.work) for act in log.acts)
    certain = [item for act in acts if isinstance(act, Batch) for item in act.items if item.certain]
    replaced = any(_is_replaced(item, log.known) for item in certain)
    return replaced or any(_list_metadata_beside(certain)) or bool(find_intruding_records(store.prefix, log))


def _is_replaced(item: moves.LocatedMove, known: KnownFiles) -> bool:
    if not is_metadata(item.move.live):
        return False
    return moves.is_blocking(item, known) or (item.move.kind is not MoveKind.OUT and not os.path.lexists(item.live))


def _list_metadata_beside(certain: Sequence[moves.LocatedMove]) -> Iterator[str]:
    """Yield names of other metadata directories of the distributions that were installed.

    They show that another installer was active: conda, for example, leaves pip's metadata beside its own.
    """
    own = {item.live for item in certain if is_metadata(item.move.live) and item.live.suffix != ".json"}
    names = {_get_distribution_name(path) for path in own}
    for directory in {path.parent for path in own}:
        for path in directory.iterdir() if directory.is_dir() else ():
            if is_metadata(path.name) and _get_distribution_name(path) in names and path not in own:
                yield path.name


def _get_distribution_name(path: Path) -> str:
    return path.name.partition("-")[0].lower()


def _list_announced_paths(log: Log) -> Iterator[str]:
    for change in log.begun_changes:
        yield from change.records
        yield from change.paths
        outcome = log.outcome(change)
        yield from outcome.manifest if outcome is not None else ()


def _list_unknown_changes(prefix: Path, log: Log, known: set[str]) -> Iterator[str]:
    paths = frozenset(path for change in log.dark_changes for path in change.paths)
    if not paths:
        return
    for name in conda_records.list_record_names(prefix):
        claimed = conda_records.claims(prefix, name) if name not in known else {}
        if not paths.isdisjoint(claimed):
            yield f"{conda_records.RECORDS}/{name}"
            yield from claimed
