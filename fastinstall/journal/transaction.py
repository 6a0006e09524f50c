"""A transaction: stage beside the target, record what will move, move it, and commit or undo.

The caller holds the environment's lock (`setup.exclusive.hold_environment_lock`) and has called `recover` before. Each
batch of moves is checked before its first one: possible, and nothing foreign in the way.
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
from fastinstall.journal.entries import Committed, Committing, ExternalChange, Moved, Moving, TransactionBegun
from fastinstall.journal.fingerprints import fingerprint
from fastinstall.journal.held_directories import hold_parents
from fastinstall.journal.mover import Mover
from fastinstall.journal.path_rules import refuse_outside
from fastinstall.journal.receipt_file import receipt_data
from fastinstall.journal.stamp import Stamp
from fastinstall.journal.store import JournalStore
from fastinstall.journal.undo import undo_open_transaction
from fastinstall.model.move import Move, MoveKind
from fastinstall.model.receipt import Receipt
from fastinstall.model.stored_documents import keep_unknown_keys

_REQUIRED = {MoveKind.OUT: (True, False), MoveKind.IN: (False, True), MoveKind.EXCHANGE: (True, True)}
"""Whether something must stand at `live` and at `kept` before a move."""


def begin(
    store: JournalStore, plan_document: Mapping[str, object], *, site_packages: PurePath, stamp: Stamp
) -> "Transaction":
    """Open a transaction; nothing that Python looks at has changed yet.

    Args:
        store: of the environment, whose lock is held.
        plan_document: what will be done, as JSON-ready data; kept for people and for doctor.
        site_packages: where the moves will happen; stage and aside lie on its filesystem.
        stamp: the transaction's identity (`make_stamp()`).

    Raises:
        RefusedError: another one is unfinished, or site-packages lies outside of the environment.
        FailedError: its directories cannot be made; nothing has changed.
        EnvironmentDamagedError: nor can those that had been made be removed.
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
    """An open transaction. As a context manager it is undone where the block fails or does not commit.

    What the kernel refuses to the block leaves it as a `FailedError`: all is as before by then.

    Args:
        store: of the environment that it changes.
        begun: the entry that opened its journal.

    Attributes:
        id: the identifier, which sorts by time.
        work: holds `stage` and `aside`; `Move.kept` is relative to it.
        stage: where what comes in is prepared.
        aside: where what goes out is kept.
        window_ns: how long the moves have taken in all, nanoseconds.
    """

    def __init__(self, store: JournalStore, begun: TransactionBegun) -> None:
        self.id = begun.id
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
        """Announce the moves, make what comes in durable, then move, one right after the other.

        Raises:
            RefusedError: something foreign stands in the way, or lies behind a link out of the environment; nothing of
                this call has happened.
            FailedError: a move failed; the caller undoes.
        """
        self._give_rights(planned)
        moving = announce(planned, prefix=self._store.prefix, work=self.work, begun=self._begun)
        self._journal.append(moving)
        # These have to be there, and to outlive a power failure, before something of before goes there.
        for path in moving.created:
            rights.make_given_directories(self._store.prefix / path)
        for place in ((self.work / move.kept).parent for move in planned):
            self._made |= dict.fromkeys((place, *(each for each in place.parents if self.work in each.parents)))
            files.make_directories(place)
        items = moves.locate_moves(moving, self._store.prefix, self.work)
        window_ns = self._move(items)
        for directory in moves.directories_of(items):
            files.sync_directory(directory)
        self._journal.append(Moved(window_ns=window_ns))
        self.window_ns += window_ns

    def add(self, path: str, text: str, *, place: int = -1) -> None:
        """Put text into a file that others write to as well; undoing takes out this text alone.

        Args:
            path: of the file, relative to the prefix; made where it is missing.
            text: what is added, byte for byte in UTF-8.
            place: where it goes, in bytes from the start of the file; -1 for the end.

        Raises:
            RefusedError: the file is a link out of the environment, or lies behind one.
            OSError: as the kernel says; the caller undoes.
        """
        refuse_outside(self._store.prefix, (path,))
        adding = additions.describe_addition(self._store, self.id, path, text, place)
        self._journal.append(adding)
        additions.add(self._store, adding)

    def run_external_change(self, change: ExternalChange, act: Callable[[], None]) -> None:
        """Copy and announce what another program is going to change, have it do so, and note what it did.

        Args:
            change: what it may take away, overwrite and bring; all else that it does is not undone.
            act: calls it, and returns when it has ended.

        Raises:
            FailedError: a path of the external change lies outside of the environment; nothing has changed.
            Exception: whatever `act` raises, once what it did is noted; the caller undoes.
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
        """Put the receipt in place; from here on only a rollback undoes this transaction.

        Raises:
            OSError: as the kernel says; the caller undoes.
        """
        document = redact_text(codec.dump(self._make_receipt_document(receipt)))
        files.write_text(self._store.directory(self.id) / "next-receipt.json", document)
        self._replace_receipt(receipt.created_at)

    def retire(self, at: str) -> None:
        """Take the receipt away, which is kept here for a rollback: from here on nothing is set up.

        Args:
            at: when, ISO 8601, UTC.

        Raises:
            OSError: as the kernel says; the caller undoes.
        """
        self._replace_receipt(at)

    def undo(self, reason: str) -> None:
        """Bring everything back to what it was, and discard the stage.

        Raises:
            RefusedError: an installer has replaced what was brought in: what it put there stays, and what was there
                before is kept; says where.
            FailedError: another program has altered it: everything is as before, and what was altered is kept.
            EnvironmentDamagedError: it could not be; says what is where and what to do.
        """
        self._over = True
        try:
            told = undo_open_transaction(self._store, self.id, reason)
        except (RefusedError, FailedError) as error:
            raise _make_undoing_error(self._store, error) from error
        if told is not None:
            raise told

    def __enter__(self) -> Self:
        """Return the transaction itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Undo what failed or did not commit; a block that fails after its commit too: it ended with an error."""
        undone = self._over and not self._journal.file.exists()
        if undone or (kind is None and self._over):
            return
        self._undo_surely(f"{type(error).__name__}: {error}" if error is not None else "not committed")
        if isinstance(error, OSError) and not isinstance(error, BrokenPipeError):
            prefix = self._store.prefix
            raise FailedError(
                refused_writes.reason(error, prefix), hint=refused_writes.advice(error, prefix)
            ) from error

    def _undo_surely(self, reason: str) -> None:
        """Undo, and finish it if an interruption arrived before signals were deferred."""
        try:
            self.undo(reason)
        except KeyboardInterrupt:
            if self._journal.file.exists():
                self.undo(reason)
            raise

    def _give_rights(self, planned: Sequence[Move]) -> None:
        """Give incoming files owner and mode of the file that they replace, or else of their directory."""
        for move in planned:
            live, staged = self._store.prefix / move.live, self.work / move.kept
            if move.kind is MoveKind.OUT or not os.path.lexists(staged):
                continue
            with hold_parents(self._store.home, staged) as (held,):
                if live.is_file() and not live.is_symlink() and not staged.is_symlink():
                    files.copy_rights(live, held)
                else:
                    rights.give_tree(held, rights.read_rights(_find_directory(live.parent)))

    def _give_away_directories(self) -> None:
        """Give the transaction's directories, made by root, to the environment's owner, who can then undo it.

        The content of `stage` and `aside` keeps its own rights.
        """
        own = self._store.directory(self.id)
        made = dict.fromkeys((*self._made, self.stage, self.aside, self.work, own))
        loose = (path for path in own.iterdir() if path.is_file() and not path.is_symlink())
        for path in sorted((*loose, *made), key=lambda path: -len(path.parts)):
            place = own.parent if path.is_relative_to(own) else self.work.parent
            with hold_parents(self._store.home, path) as (held,):
                rights.give_entry(held, rights.read_rights(place))

    def _replace_receipt(self, at: str) -> None:
        """Keep the current receipt here, and put the next one in its place, if there is one."""
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
        """Return the receipt as JSON; a receipt of the current setup keeps what a later fastinstall has noted of it."""
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
    """Check the moves, make what comes in durable, and describe all of it for the journal.

    Raises:
        RefusedError: something foreign stands where a move would put something, or a link leads out of the environment.
        FailedError: what a move would take is not there, or its paths are not of the agreed form.
    """
    _check(planned, prefix, work)
    refuse_outside(prefix, (PurePath(move.live).parent.as_posix() for move in planned))
    coming = [move for move in planned if move.kind is not MoveKind.OUT]
    with files.sync_during(work / move.kept for move in coming):
        manifest = {path: value for move in coming for path, value in fingerprint(work / move.kept, move.live).items()}
    for path in dict.fromkeys(parent for move in coming for parent in PurePath(move.kept).parents):
        files.sync_directory(work / path)
    remembered = {directory.path for directory in begun.directories}
    on_the_way = remembered_directories.ancestors(move.live for move in planned)
    created = tuple(path for path in on_the_way if not (prefix / path).is_dir())
    changing = (PurePath(path).parent.as_posix() for path in (*(move.live for move in planned), *created))
    return Moving(
        moves=tuple(planned),
        inodes=tuple(_read_inode(prefix / move.live) for move in planned),
        created=created,
        directories=remembered_directories.record(prefix, (path for path in changing if path not in remembered)),
        manifest=manifest,
    )


def _find_directory(path: Path) -> Path:
    """Return a directory, or the nearest one above it that is there."""
    return next(each for each in (path, *path.parents) if each.is_dir())


def _make_undoing_error(store: JournalStore, error: RefusedError | FailedError) -> EnvironmentDamagedError:
    """Make the error of an undoing that could not begin; its own words are meant for a rollback."""
    recover = recover_command(store.prefix)
    hint = f"{error.hint}; then: {recover}" if error.hint else recover
    details = error.details if isinstance(error, RefusedError) else ()
    return EnvironmentDamagedError(error.message, hint=hint, details=details)


def _check(planned: Sequence[Move], prefix: Path, work: Path) -> None:
    """Simulate the moves in order, since one may make room for the next."""
    there: dict[Path, bool] = {}
    for move in planned:
        _check_form(move)
        live, kept = prefix / move.live, work / move.kept
        present = {path: there.get(path, os.path.lexists(path)) for path in (live, kept)}
        for path, expected in zip((live, kept), _REQUIRED[move.kind], strict=True):
            if present[path] and not expected:
                raise _make_obstacle_error(path, prefix)
            if expected and not present[path]:
                raise FailedError(
                    f"{path}: does not exist, so it cannot be moved ({move.kind})", hint=f"ls -ld {quote(path)}"
                )
        there[live], there[kept] = move.kind is not MoveKind.OUT, move.kind is not MoveKind.IN


def _check_form(move: Move) -> None:
    live, kept = PurePath(move.live), PurePath(move.kept)
    inside = live.parts and not live.is_absolute() and ".." not in (*live.parts, *kept.parts)
    if not inside or kept.parts[:1] not in (("stage",), ("aside",)) or len(kept.parts) == 1:
        raise FailedError(f"{move.live} <-> {move.kept}: not a move inside one environment")


def _make_obstacle_error(path: Path, prefix: Path) -> RefusedError:
    hint = f"find its owner, then move it away: ls -ld {quote(path)}; then: fastinstall setup --prefix {quote(prefix)}"
    return RefusedError(f"{path}: already exists, and fastinstall did not put it there", hint=hint)


def _read_inode(path: Path) -> int:
    return path.lstat().st_ino if os.path.lexists(path) else 0
