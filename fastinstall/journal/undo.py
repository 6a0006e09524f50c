"""Undo a transaction from its journal alone: newest move first, repeatable, and without destroying anything foreign.

If another program has taken a place, it keeps it, and what was there before is kept for the user instead of being
restored. Which places those are is decided once and recorded in the journal, so that an interrupted undo continues with
the same decision.
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
"""The most paths that a refusal lists."""
_ENGINES = (*CONDA, WORKER)
"""What a setup calls; each gets the environment as a path."""


@immutable
class UndoTerms:
    """On what terms to undo.

    Attributes:
        reason: why, for the journal and for people.
        force: move foreign content out of the way instead of refusing.
        returned: foreign content that is put away without that, relative to the prefix: it stands there only because a
            later transaction was undone just before.
        conceding: leave what another program has put in our place, and keep what was there before (see `conceding`).
        foreign_entries: entries, relative to the prefix, of what has taken our place meanwhile (the metadata
            directory of another Pillow) and would contradict what comes back.
    """

    reason: str
    force: bool = False
    returned: tuple[str, ...] = ()
    conceding: bool = False
    foreign_entries: tuple[str, ...] = ()


@immutable
class UndoResult:
    """What undoing could not simply put back.

    Attributes:
        kept: where foreign content lies now; where the place is left to another program, what was there before.
        lost: what stood there before and had been removed by somebody since, relative to the prefix.
    """

    kept: tuple[PurePath, ...] = ()
    lost: tuple[str, ...] = ()


class ForeignError(RefusedError):
    """A path that undo has to restore now holds something that fastinstall did not put there; nothing has changed."""

    tag = "Foreign"


def undo(store: JournalStore, identifier: str, terms: UndoTerms) -> UndoResult:
    """Bring an environment back to what it was before a transaction, and take its directories away.

    Raises:
        ForeignError: foreign content stands where something has to return; nothing has changed.
        RefusedError: an engine still works there, or a link leads out of the environment; nothing has changed.
        FailedError: undoing could not begin; nothing has changed.
        EnvironmentDamagedError: a step failed; the next call goes on where this one stopped.
        DocumentError: the journal is malformed.
    """
    with signals.defer_signals():
        journal = store.journal(identifier)
        try:
            return _undo(store, journal, terms)
        except OSError as error:
            raise _make_incomplete_undo_error(store, identifier, error) from error


def undo_open_transaction(store: JournalStore, identifier: str, reason: str) -> FastinstallError | None:
    """Undo a transaction that another program may have overrun: either its work stays, or ours is undone whole.

    If the metadata that we brought in is gone or replaced, an installer has taken over: it replaced or removed our
    files by its own rules and continues from there. Then nothing is restored under its hands, and the former content is
    kept for the user. Any other alteration is not an installer's: everything is undone, and foreign content is kept.

    Returns:
        What has to be told where another program was at work.

    Raises:
        FastinstallError: as `undo` says.
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
    """Find records that arrived since, with the files that they claim, relative to the prefix.

    Two records of one package would make every engine stumble, and files of an abandoned external change are
    claimed by a stranger only if somebody has installed something over the wreck.

    Args:
        prefix: of the environment that they lie in.
        log: of the transaction that is undone.
        records: the records that there are then, by their names; None for those that are there.
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
    """Find a free path: this one, or one beside it with a number, since something may have been kept here already."""
    number = 1
    candidate = path
    while os.path.lexists(candidate):
        number += 1
        candidate = path.with_name(f"{path.name}.{number}")
    return candidate


def make_foreign_refusal(store: JournalStore, foreign: Sequence[str], to: str | None = None) -> ForeignError:
    """Make the refusal where foreign content stands in the way of undoing.

    Args:
        store: of the environment, which the message names.
        foreign: paths, relative to the prefix.
        to: what rollback was asked for, if it was.
    """
    back = f" --to {to}" if to is not None else ""
    return ForeignError(
        f"{store.prefix}: {listing(foreign, _NAMED)}: in the way: fastinstall did not put it there",
        hint=f"fastinstall rollback{back} --yes --allow {Risk.FORCE_REMOVE} --prefix {quote(store.prefix)}",
        details=(f"with --allow {Risk.FORCE_REMOVE} it is moved to {store.prefix / ROOT}/kept, not deleted",),
    )


def refuse_during_external_change(prefix: Path, processes: Path = PROCESSES) -> None:
    """Refuse where a process still changes an environment.

    Args:
        processes: where the kernel lists them; see proc_pid_cmdline(5).

    Raises:
        RefusedError: one does; named by its number.
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
    if not foreign:  # what is foreign is put away first, and may be what is in the way
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
    """Raise before the first rename if one of them cannot be done.

    Raises:
        FailedError: a finished setup cannot be undone, and stays as it is.
        OSError: an unfinished setup cannot be undone, and stays half done.
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
    """Return what would have to be put away; nothing that lies in a directory which is named itself."""
    known = log.known
    in_the_way = [path for act in acts for path in find_files_in_the_way(act, known)]
    items = [item for act in acts if isinstance(act, Batch) for item in act.items]
    judged = {item.move.live for item in items}  # what the journal knows of is judged by its content alone
    intruding = [
        path for path in (*terms.foreign_entries, *find_intruding_records(store.prefix, log)) if path not in judged
    ]
    found = dict.fromkeys((*in_the_way, *intruding))
    return tuple(path for path in found if os.path.lexists(store.prefix / path) and not parents_of(path) & found.keys())


def _announce(journal: Journal, log: Log, reason: str) -> None:
    """Record that undoing begins; after an unfinished setup, a full disk must not keep us from undoing."""
    if log.state is Phase.UNDOING:
        return
    try:
        journal.append(Undoing(reason=reason))
    except OSError as error:
        if log.state is Phase.OPEN:
            return
        if journal.read().state is Phase.UNDOING:
            raise  # it may be read as if undoing had begun, or not
        raise _make_not_begun_error(error, journal) from error


def _put_away(source: Path, target: Path, mover: Mover) -> Path:
    rights.make_given_directories(target.parent)
    mover.move(source, target)
    files.sync_directory(target.parent)
    return target


def _choose_place(store: JournalStore, begun: TransactionBegun, path: str) -> Path:
    """Choose a free place below `kept/` for content that is moved away from a path, or cannot return to it."""
    own = (store.directory(begun.id), store.root / "kept" / begun.id)
    beside = (store.prefix / begun.work, (store.prefix / begun.work).with_name(f".fastinstall-kept-{begun.id}"))
    kept = own[1] if own[0] == beside[0] else beside[1]
    return find_free_place(kept / path)


def _return_receipt(store: JournalStore, identifier: str, log: Log) -> None:
    """Undo the two renames of a commit, each only if it had happened."""
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
    """Return whether an installer has replaced or removed what a transaction that made all its moves brought in."""
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
    """Yield metadata of the same distributions that has come beside ours, as conda leaves pip's where it is."""
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
