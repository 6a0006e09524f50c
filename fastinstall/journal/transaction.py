"""Change an environment in a transaction: stage files, record the moves in a journal, make them, and commit or undo.

The caller holds the environment's lock (`setup.exclusive.hold_environment_lock`) and has called `recover`. Before the
first move of a batch, all moves of the batch are checked: each must be possible, with nothing foreign in the way.
"""

import contextlib
import itertools
import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path, PurePath
from types import TracebackType
from typing import Self

from fastinstall.core import codec, files, refused_writes, rights
from fastinstall.core.errors import DocumentError, EnvironmentDamagedError, FailedError, RefusedError
from fastinstall.core.messages import quote, recover_command
from fastinstall.core.secrets import redact_text
from fastinstall.journal import additions, external_changes, moves, remembered_directories, transaction_directories
from fastinstall.journal.conda_meta import is_inside
from fastinstall.journal.entries import Committed, Committing, ExternalChange, Moved, Moving, TransactionBegun
from fastinstall.journal.fingerprints import fingerprint
from fastinstall.journal.held_directories import hold_parents
from fastinstall.journal.moves import Mover
from fastinstall.journal.path_rules import refuse_outside
from fastinstall.journal.receipt_file import receipt_data
from fastinstall.journal.stamp import Stamp
from fastinstall.journal.store import JournalStore
from fastinstall.journal.undo import undo_open_transaction
from fastinstall.model.history import Move, MoveKind
from fastinstall.model.receipt import Receipt
from fastinstall.model.stored_documents import keep_unknown_keys

_REQUIRED = {MoveKind.OUT: (True, False), MoveKind.IN: (False, True), MoveKind.EXCHANGE: (True, True)}
"""For each kind of move: whether `live` must exist before the move, and whether `kept` must."""


def begin(
    store: JournalStore, plan_document: Mapping[str, object], *, site_packages: PurePath, stamp: Stamp
) -> "Transaction":
    """Open a transaction; no file that Python searches changes yet.

    Args:
        store: the store of the environment, whose lock the caller holds.
        plan_document: the plan as JSON-ready data; kept for the user and for doctor.
        site_packages: the environment's site-packages; `stage` and `aside` are made on its filesystem.
        stamp: the transaction's identity (`make_stamp()`).

    Raises:
        RefusedError: another transaction is unfinished, or site-packages is outside the environment.
        FailedError: the transaction's directories cannot be made; nothing has changed.
        EnvironmentDamagedError: some of the directories could be made, but could not be removed after the failure.
    """
    unfinished = store.unfinished()
    if unfinished is not None:
        hint = recover_command(store.prefix)
        raise RefusedError(f"{store.prefix}: transaction {unfinished.id} was interrupted", hint=hint)
    try:
        begun = transaction_directories.create_transaction_directories(
            store, stamp, site_packages=site_packages, plan=plan_document
        )
    except OSError as error:
        message = f"{refused_writes.reason(error, store.prefix)}: a transaction could not begin"
        raise FailedError(message, hint=refused_writes.advice(error, store.prefix)) from error
    return Transaction(store, begun)


class Transaction:
    """An open transaction. Used as a context manager, it is undone if the block fails or does not commit.

    After the undo, an `OSError` from the block is raised as a `FailedError`.

    Args:
        store: the store of the environment that the transaction changes.
        begun: the entry that opened the journal.

    Attributes:
        id: the identifier, which sorts by time.
        at: time of the start, ISO 8601, UTC.
        work: the directory of `stage` and `aside`; `Move.kept` is relative to it.
        stage: the directory in which incoming files are prepared.
        aside: the directory that keeps outgoing files.
        window_ns: total duration of all moves, in nanoseconds.
    """

    def __init__(self, store: JournalStore, begun: TransactionBegun) -> None:
        self.id, self.at = begun.id, begun.at
        self.work = store.prefix / begun.work
        self.stage = self.work / "stage"
        self.aside = self.work / "aside"
        self.window_ns = 0
        self._store = store
        self._begun = begun
        self._journal = store.journal(begun.id)
        self._over = False
        self._changes = itertools.count()
        self._made: dict[Path, None] = {}

    def perform(self, planned: Sequence[Move]) -> None:
        """Make the incoming files durable, record the moves in the journal, and perform them without a pause.

        Raises:
            RefusedError: something foreign is in the way, or a link leads out of the environment; nothing was moved.
            FailedError: a move is not possible, or failed; the caller must undo.
        """
        self._give_rights(planned)
        moving = announce(planned, prefix=self._store.prefix, work=self.work, begun=self._begun)
        self._journal.append(moving)
        # The target directories must exist and be durable before existing files are moved into them.
        for path in moving.created:
            rights.make_given_directories(self._store.prefix / path)
        for place in ((self.work / move.kept).parent for move in planned):
            self._made |= dict.fromkeys((place, *(each for each in place.parents if self.work in each.parents)))
            files.make_directories(place)
        items = moves.locate_moves(moving, self._store.prefix, self.work)
        window_ns = self._move(items)
        files.sync_directories(moves.directories_of(items))
        self._journal.append(Moved(window_ns=window_ns))
        self.window_ns += window_ns

    def add(self, path: str, text: str, *, place: int = -1) -> None:
        """Insert text into a file that other programs write too; an undo removes only this text.

        Args:
            path: the file, relative to the prefix; created if it is missing.
            text: the text, which is written in UTF-8 without newline translation.
            place: byte offset of the text in the file; -1 for the end.

        Raises:
            RefusedError: the path leads out of the environment through a symbolic link.
            OSError: writing failed, and the caller must undo.
        """
        refuse_outside(self._store.prefix, (path,))
        adding = additions.describe_addition(self._store, self.id, path, text, place)
        self._journal.append(adding)
        additions.add(self._store, adding)

    def run_external_change(self, change: ExternalChange, act: Callable[[], None]) -> None:
        """Copy the files that another program is going to change, run the program, and record what it changed.

        Args:
            change: the paths that the program may remove, overwrite or create; changes of other paths cannot be undone.
            act: a function that runs the program, and returns when the program has ended.

        Raises:
            FailedError: a path of `change` is outside the environment; nothing has changed.
            Exception: any exception of `act`, after the changes are recorded; the caller must undo.
        """
        area = self.aside / f"external-change-{next(self._changes)}"
        begun = external_changes.prepare(change, self._store.prefix, area, self.work)
        self._journal.append(begun)
        try:
            act()
        except BaseException:
            with contextlib.suppress(OSError):
                self._journal.append(external_changes.outcome(begun, self._store.prefix))
            raise
        self._journal.append(external_changes.outcome(begun, self._store.prefix))

    def commit(self, receipt: Receipt) -> None:
        """Put the receipt in place; from then on only a rollback undoes this transaction.

        Raises:
            OSError: the receipt could not be written, and the caller must undo.
        """
        document = redact_text(codec.dump(self._make_receipt_document(receipt)))
        files.write_text(self._store.directory(self.id) / "next-receipt.json", document)
        self._replace_receipt(receipt.created_at)

    def retire(self, at: str) -> None:
        """Commit and remove the receipt, so that the environment no longer counts as set up.

        A rollback restores the receipt.

        Args:
            at: time of the commit, ISO 8601, UTC.

        Raises:
            OSError: the receipt could not be moved, and the caller must undo.
        """
        self._replace_receipt(at)

    def undo(self, reason: str) -> None:
        """Restore the environment to its state before the transaction, and discard the stage.

        Raises:
            RefusedError: another installer has replaced the installed files. That installer's files stay, and the
                details say where the previous files are kept.
            FailedError: another program has altered the installed files. The environment is as it was before, and the
                altered files are kept.
            EnvironmentDamagedError: the undo failed; the message says how to recover.
        """
        self._over = True
        try:
            told = undo_open_transaction(self._store, self.id, reason)
        except (RefusedError, FailedError) as error:
            recover = recover_command(self._store.prefix)
            hint = f"{error.hint}; then: {recover}" if error.hint else recover
            details = error.details if isinstance(error, RefusedError) else ()
            raise EnvironmentDamagedError(error.message, hint=hint, details=details) from error
        if told is not None:
            raise told

    def __enter__(self) -> Self:
        """Return the transaction itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Undo the transaction if the block failed or did not commit, unless the transaction is undone already."""
        undone = self._over and not self._journal.file.exists()
        if undone or (kind is None and self._over):
            return
        reason = f"{type(error).__name__}: {error}" if error is not None else "not committed"
        try:
            self.undo(reason)
        except KeyboardInterrupt:  # Ctrl-C arrived during the undo: complete the undo before raising
            if self._journal.file.exists():
                self.undo(reason)
            raise
        if isinstance(error, OSError) and not isinstance(error, BrokenPipeError):
            prefix = self._store.prefix
            message, hint = refused_writes.reason(error, prefix), refused_writes.advice(error, prefix)
            raise FailedError(message, hint=hint) from error

    def _give_rights(self, planned: Sequence[Move]) -> None:
        """Give each incoming file the rights of the file that it replaces, or else rights that suit its directory."""
        for move in planned:
            live, staged = self._store.prefix / move.live, self.work / move.kept
            if move.kind is MoveKind.OUT or not os.path.lexists(staged):
                continue
            with hold_parents(self._store.home, staged) as (held,):
                if live.is_file() and not live.is_symlink() and not staged.is_symlink():
                    files.copy_rights(live, held)
                else:
                    nearest = next(path for path in live.parents if path.is_dir())
                    rights.give_tree(held, rights.read_rights(nearest))

    def _give_away_directories(self) -> None:
        """Give the transaction's directories and its own files to the owner of the directory that contains them.

        So the environment's owner can undo what root did. The content of `stage` and `aside` keeps its rights.
        """
        own = self._store.directory(self.id)
        made = dict.fromkeys((*self._made, self.stage, self.aside, self.work, own))
        loose = (path for path in own.iterdir() if path.is_file() and not path.is_symlink())
        for path in sorted((*loose, *made), key=lambda path: -len(path.parts)):
            place = own.parent if path.is_relative_to(own) else self.work.parent
            with hold_parents(self._store.home, path) as (held,):
                rights.give_entry(held, rights.read_rights(place))

    def _replace_receipt(self, at: str) -> None:
        """Move the current receipt to the transaction's directory, and put the next receipt, if any, in its place."""
        own, current = self._store.directory(self.id), self._store.receipt_file
        upcoming = own / "next-receipt.json"
        self._give_away_directories()
        self._journal.append(Committing(replaces=current.exists()))
        if current.exists():
            files.rename(current, own / "previous-receipt.json")
        if upcoming.exists():
            files.rename(upcoming, current)
        files.sync_directory(own)
        files.sync_directory(current.parent)
        self._journal.append(Committed(at=at))
        self._over = True

    def _make_receipt_document(self, receipt: Receipt) -> dict[str, object]:
        """Return the receipt as JSON-ready data.

        If the current receipt is of the same setup, its unknown keys are kept: a later fastinstall may have written
        them.
        """
        document = codec.document("receipt", receipt)
        try:
            before = receipt_data(self._store.prefix)
        except DocumentError:
            return document
        if before is None or before.get("id") != receipt.id:
            return document
        return dict(keep_unknown_keys(before, document))

    def _move(self, items: tuple[moves.LocatedMove, ...]) -> int:
        mover = Mover(self._store, self._journal)
        start = time.perf_counter_ns()
        for item in items:
            try:
                moves.do(item, mover)
            except OSError as error:
                raise FailedError(
                    f"{item.live}: {error.strerror or error}: could not be moved ({item.move.kind})",
                    hint=f"ls -ld {quote(item.live)} {quote(item.kept)}",
                ) from error
        return time.perf_counter_ns() - start


def announce(planned: Sequence[Move], *, prefix: Path, work: Path, begun: TransactionBegun) -> Moving:
    """Check the moves, make the incoming files durable, and return the journal entry that announces the moves.

    Raises:
        RefusedError: something foreign is at the target of a move, or a link leads out of the environment.
        FailedError: the source of a move is missing, or the paths of a move do not have the required form.
    """
    _check(planned, prefix, work)
    refuse_outside(prefix, (PurePath(move.live).parent.as_posix() for move in planned))
    coming = [move for move in planned if move.kind is not MoveKind.OUT]
    with files.sync_during(work / move.kept for move in coming):
        manifest = {path: value for move in coming for path, value in fingerprint(work / move.kept, move.live).items()}
    files.sync_directories(work / path for move in coming for path in PurePath(move.kept).parents)
    remembered = {directory.path for directory in begun.directories}
    on_the_way = remembered_directories.ancestors(move.live for move in planned)
    lives = [prefix / move.live for move in planned]
    created = tuple(path for path in on_the_way if not (prefix / path).is_dir())
    changing = (PurePath(path).parent.as_posix() for path in (*(move.live for move in planned), *created))
    return Moving(
        moves=tuple(planned),
        inodes=tuple(live.lstat().st_ino if os.path.lexists(live) else 0 for live in lives),
        created=created,
        directories=remembered_directories.record(prefix, (path for path in changing if path not in remembered)),
        manifest=manifest,
    )


def _check(planned: Sequence[Move], prefix: Path, work: Path) -> None:
    """Raise if a move is impossible; the moves are simulated in order, since one move may make room for the next."""
    there: dict[Path, bool] = {}
    for move in planned:
        inner = PurePath(move.kept)
        inside = is_inside(PurePath(move.live)) and is_inside(inner)
        if not inside or inner.parts[0] not in ("stage", "aside") or len(inner.parts) == 1:
            raise FailedError(f"{move.live} <-> {move.kept}: not a move inside one environment")
        live, kept = prefix / move.live, work / move.kept
        present = {path: there.get(path, os.path.lexists(path)) for path in (live, kept)}
        for path, expected in zip((live, kept), _REQUIRED[move.kind], strict=True):
            if present[path] and not expected:
                setup = f"fastinstall setup --prefix {quote(prefix)}"
                hint = f"find its owner, then move it away: ls -ld {quote(path)}; then: {setup}"
                raise RefusedError(f"{path}: already exists, and fastinstall did not put it there", hint=hint)
            if expected and not present[path]:
                message = f"{path}: does not exist, so it cannot be moved ({move.kind})"
                raise FailedError(message, hint=f"ls -ld {quote(path)}")
        there[live], there[kept] = move.kind is not MoveKind.OUT, move.kind is not MoveKind.IN
