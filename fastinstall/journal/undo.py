"""Undo a transaction from its journal alone: newest move first, repeatable, and without destroying anything foreign.

If another program has replaced files during an open transaction, that program's files stay in place. The previous
content of their paths is then not restored, but kept for the user. The journal lists these paths, so that an
interrupted undo continues with the same list.
"""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path, PurePath

from fastinstall.core import files, refused_writes, rights, signals
from fastinstall.core.errors import EnvironmentDamagedError, FailedError, FastinstallError, RefusedError
from fastinstall.core.messages import listing, quote, recover_command
from fastinstall.core.package_managers import CONDA, WORKER, names_prefix, recognise_command
from fastinstall.core.process_table import PROCESSES, commands
from fastinstall.core.values import immutable
from fastinstall.journal import additions, external_changes, moves, remembered_directories, transaction_directories
from fastinstall.journal.acts import (
    Act,
    find_conceded_entries,
    find_foreign_paths,
    find_lost_by_acts,
    is_taken_over,
    list_previous_sources,
    locate_acts,
    probe_renames,
)
from fastinstall.journal.entries import Adding, Conceding, TransactionBegun, Undoing
from fastinstall.journal.external_changes import LocatedExternalChange
from fastinstall.journal.layout import KEPT
from fastinstall.journal.log import Journal, Log
from fastinstall.journal.path_rules import refuse_ways_out
from fastinstall.journal.store import JournalStore
from fastinstall.model.history import MoveKind, Phase
from fastinstall.model.request import Risk

_NAMED = 20
"""Maximum number of paths that a refusal lists."""
_ENGINES = (*CONDA, WORKER)
"""Programs that a setup runs and that take the environment's path as an argument."""


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


@signals.defer_signals()
def undo(
    store: JournalStore,
    identifier: str,
    reason: str,
    *,
    force: bool = False,
    returned: tuple[str, ...] = (),
    conceding: bool = False,
    foreign_entries: tuple[str, ...] = (),
) -> UndoResult:
    """Restore an environment to its state before a transaction, and remove the transaction's directories.

    Args:
        store: the environment's store.
        identifier: the transaction.
        reason: the reason for the undo, for the journal and the user.
        force: move foreign content out of the way instead of refusing.
        returned: foreign paths, relative to the prefix, that are moved away even without `force`: the undo of a later
            transaction has just restored them.
        conceding: leave files of another program in place, and keep the previous content for the user (see
            `entries.Conceding`).
        foreign_entries: paths, relative to the prefix, that would contradict the restored files, such as the metadata
            directory of another Pillow that was installed since.

    Raises:
        ForeignError: foreign content is at a path that has to be restored; nothing has changed.
        RefusedError: a package manager is still changing the environment, or a link leads out of the environment;
            nothing has changed.
        FailedError: the undo could not begin; nothing has changed.
        EnvironmentDamagedError: a step failed; the next call continues where this one stopped.
        DocumentError: the journal is malformed.
    """
    journal = store.journal(identifier)
    try:
        log = journal.read()
        begun = log.require_begun(journal.file)
        refuse_ways_out(store.prefix, log.entries)
        if log.dark_changes:
            refuse_during_external_change(store.prefix)
        mover = moves.Mover(store, journal)
        mover.complete(log)
        acts = locate_acts(log, store.prefix)
        left = log.conceding or (find_conceded_entries(acts, log.known) if conceding else None)
        foreign = find_foreign_paths(store.prefix, acts, log, foreign_entries) if left is None else ()
        strange = tuple(path for path in foreign if path not in returned)
        if strange and not force:
            raise make_foreign_refusal(store, strange)
        if not foreign:  # foreign files may themselves be the obstacles, and are moved away first
            _refuse_impossible(acts, left, log, journal)
        if left is not None and log.conceding is None:
            journal.append(left)
        _announce(journal, log, reason)
        kept = tuple(_put_away(store.prefix / path, _choose_place(store, begun, path), mover) for path in foreign)
        lost = tuple(find_lost_by_acts(acts))
        if left is not None:
            sources = list_previous_sources(acts, left)
            kept = tuple(_put_away(source, _choose_place(store, begun, path), mover) for path, source in sources)
        _return_receipt(store, begun.id, log)
        for act in reversed(acts):
            _take_back(act, store, mover, left)
        transaction_directories.remove_transaction_directories(store, begun)
    except OSError as error:
        raise EnvironmentDamagedError(
            f"{refused_writes.reason(error, store.prefix)}: the environment is not fully restored",
            hint=f"remove the cause, then: {recover_command(store.prefix)}",
            details=(f"what was moved where is in the journal of transaction {identifier}",),
        ) from error
    return UndoResult(kept=kept, lost=lost)


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
    if is_taken_over(store.prefix, store.journal(identifier).read()):
        undone = undo(store, identifier, reason, conceding=True)
        return RefusedError(
            f"{store.prefix}: another program replaced the same files: its files stay, and this setup was undone",
            hint=f"after it has ended, run: fastinstall doctor --prefix {quote(store.prefix)}",
            details=(*(f"what was there before: {path}" for path in undone.kept), reason),
        )
    try:
        undo(store, identifier, reason)
    except ForeignError:
        undone = undo(store, identifier, reason, force=True)
        return FailedError(
            f"{store.prefix}: another program altered what this setup had installed: "
            "the environment is as it was before",
            hint=f"find out what changes files there, then run again: fastinstall setup --prefix {quote(store.prefix)}",
            details=(*(f"what was altered: {path}" for path in undone.kept), reason),
        )
    return None


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
        details=(f"with --allow {Risk.FORCE_REMOVE} it is moved to {store.prefix / KEPT}, not deleted",),
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


def _refuse_impossible(acts: Sequence[Act], left: Conceding | None, log: Log, journal: Journal) -> None:
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


def _put_away(source: Path, target: Path, mover: moves.Mover) -> Path:
    rights.make_given_directories(target.parent)
    mover.move(source, target)
    files.sync_directory(target.parent)
    return target


def _choose_place(store: JournalStore, begun: TransactionBegun, path: str) -> Path:
    """Return a free path below `kept/` for content that is moved away from `path` or cannot be restored to `path`."""
    work = store.prefix / begun.work
    if work == store.directory(begun.id):
        return find_free_place(store.prefix / KEPT / begun.id / path)
    return find_free_place(work.with_name(f".fastinstall-kept-{begun.id}") / path)


def _return_receipt(store: JournalStore, identifier: str, log: Log) -> None:
    """Undo the two renames by which a commit replaces the receipt, each only if it was done."""
    if log.committing is None:
        return
    upcoming = store.directory(identifier) / "next-receipt.json"
    previous = store.directory(identifier) / "previous-receipt.json"
    if store.receipt_file.exists() and (previous.exists() or not log.committing.replaces):
        files.rename(store.receipt_file, upcoming)
    if previous.exists():
        files.rename(previous, store.receipt_file)
    files.sync_directory(store.root)


def _take_back(act: Act, store: JournalStore, mover: moves.Mover, left: Conceding | None) -> None:
    """Undo an act, or do nothing if it is undone already.

    Args:
        act: the act to undo.
        store: the environment's store.
        mover: makes the renames.
        left: the entries that the undo leaves to another program; None if there are none.

    Raises:
        OSError: a rename failed; no previous content has been overwritten.
    """
    if isinstance(act, LocatedExternalChange):
        external_changes.undo_external_change(act, mover)
    elif isinstance(act, Adding):
        additions.withdraw(store, act)
    else:
        for item in reversed(act.items):
            if left is None or item.move.live not in (*left.paths, *left.dropped):
                moves.undo_move(item, mover)
            elif item.move.live in left.dropped:  # remove our entry, but do not restore the previous one
                moves.undo_move(replace(item, move=replace(item.move, kind=MoveKind.IN)), mover)
        remembered_directories.remove_empty(store.prefix, act.created)
        changed = ((store.prefix / path).parent for path in act.created)
        files.sync_directories((*moves.directories_of(act.items), *changed))
