"""Recover an environment from interrupted runs before a command changes it; other commands only report them.

All commands use this module. The journal finishes or undoes an interrupted run; this module reports that.
"""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from fastinstall.core.directories import expand_home
from fastinstall.core.errors import RefusedError
from fastinstall.core.events import Noted
from fastinstall.core.messages import listing, quote
from fastinstall.core.values import immutable
from fastinstall.journal import creation_note
from fastinstall.journal.rollback import recover
from fastinstall.journal.snapshot import is_at_work, read_environment_history
from fastinstall.journal.store import JournalStore
from fastinstall.model.facts import Environment
from fastinstall.model.history import (
    UnfinishedRun,
    describe_finished_interruption,
    describe_interruption,
)
from fastinstall.observe.environments import NamedTarget, find_environment, make_absolute
from fastinstall.observe.session import Session
from fastinstall.setup.exclusive import hold_environment_lock
from fastinstall.setup.late_interrupts import report_late_interruptions


@immutable
class LockedEnvironment:
    """An environment whose lock this process holds.

    Attributes:
        store: the journal of the environment.
        sentences: reports on recovered interruptions; empty if nothing had been interrupted.
    """

    store: JournalStore
    sentences: tuple[str, ...]


@contextlib.contextmanager
def lock_recovered_environment(
    session: Session, environment: Environment, *, force: bool = False
) -> Iterator[LockedEnvironment]:
    """Hold an environment's lock during the block, after recovering interrupted runs and reporting each recovery.

    Args:
        session: receives the reports as events.
        environment: the environment to lock and recover.
        force: move aside files that have replaced ours since the interruption, instead of refusing.

    Raises:
        RefusedError: another program is changing the environment, or a foreign file is in the place of a file to
            restore.
        EnvironmentDamagedError: a step of the recovery failed; the next command resumes it.
        DocumentError: a journal cannot be read.
    """
    prefix = Path(environment.prefix)
    sentences: list[str] = []

    def tell(sentence: str, *, changed: bool = True) -> None:
        if sentence not in sentences:
            sentences.append(sentence)
            session.emit(Noted(message=sentence, changed=changed))

    with _telling_what_was_recovered(prefix, tell), hold_environment_lock(prefix):
        _recover_each(JournalStore(prefix), tell, force=force)
        yield LockedEnvironment(store=JournalStore(prefix), sentences=tuple(sentences))


@contextlib.contextmanager
def change_environment(
    session: Session, environment: Environment, verb: str, *, force: bool = False
) -> Iterator[LockedEnvironment]:
    """Lock an environment like `lock_recovered_environment`; report interruptions that arrive after the work is done.

    Args:
        session: receives the reports as events.
        environment: the environment to lock and recover.
        verb: the command, for the report ("guard install").
        force: move aside files that have replaced ours since the interruption, instead of refusing.

    Raises:
        InterruptedAfterCompletion: the block was interrupted after its work was done.
        FastinstallError: the errors of `lock_recovered_environment`.
    """
    with (
        report_late_interruptions(Path(environment.prefix), verb),
        lock_recovered_environment(session, environment, force=force) as locked,
    ):
        yield locked


def recover_environment(session: Session, environment: Environment) -> bool:
    """Recover an environment from interrupted runs, and report each recovery. Return whether there was any.

    The lock is taken only if a run was interrupted. A run that is still active does not count as interrupted.

    Raises:
        FastinstallError: the errors of `lock_recovered_environment`.
    """
    if not read_environment_history(Path(environment.prefix), sized=False).interruptions:
        return False
    with lock_recovered_environment(session, environment) as result:
        return bool(result.sentences)


def clear_cut_creation(session: Session, prefix: Path) -> None:
    """Empty a directory in which a run was interrupted while creating an environment, and report that.

    Raises:
        RefusedError: another program is changing the directory, or it contains files that the run did not create; they
            are unchanged.
        FastinstallError: the errors of `lock_recovered_environment`.
    """
    interruption = creation_note.creation_interruption(prefix)
    if interruption is None or interruption.kind is not UnfinishedRun.CREATION or is_at_work(prefix):
        return
    with hold_environment_lock(prefix):
        recovered = recover(JournalStore(prefix))
        if recovered is not None:
            session.emit(Noted(message=describe_finished_interruption(recovered.interruption), changed=True))
        strange = creation_note.find_unknown_entries(prefix)
        if strange:
            raise RefusedError(
                f"{prefix}: creating it was interrupted, and now it also holds: {listing(strange)}",
                hint=f"set it up as it is: fastinstall setup --prefix {quote(prefix)}",
            )
        creation_note.clear(prefix)
    session.emit(Noted(message=describe_finished_interruption(interruption, cleared=True), changed=True))


def describe_interruptions(environment: Environment) -> tuple[str, ...]:
    """Return a sentence on each interrupted run, with the command that recovers it; nothing is recovered."""
    prefix = Path(environment.prefix)
    interruptions = read_environment_history(prefix, sized=False).interruptions
    return tuple(describe_interruption(each, prefix) for each in interruptions)


class _Tell(Protocol):
    def __call__(self, sentence: str, *, changed: bool = True) -> None: ...


@contextlib.contextmanager
def _telling_what_was_recovered(prefix: Path, tell: _Tell) -> Iterator[None]:
    """If the block ends with a KeyboardInterrupt that was deferred until after a recovery, report that recovery.

    The history is read without the lock: while another run holds the lock, no run counts as interrupted.
    """
    before = read_environment_history(prefix, sized=False).interruptions
    try:
        yield
    except KeyboardInterrupt:
        left = read_environment_history(prefix, sized=False).interruptions
        for each in before:
            if each not in left:
                tell(describe_finished_interruption(each), changed=each.kind not in _UNSEEN)
        raise


_UNSEEN = (UnfinishedRun.PREPARATION, UnfinishedRun.CLEANUP)
"""Kinds of interrupted runs that had changed only our own directories, which users do not see."""


def _recover_each(store: JournalStore, tell: _Tell, *, force: bool) -> None:
    """Recover an interrupted transaction, then an interrupted creation, and report each before the next may fail."""
    recovered = recover(store, force=force)
    if recovered is not None:
        changed = recovered.interruption.kind not in _UNSEEN
        tell(describe_finished_interruption(recovered.interruption), changed=changed)
        for path in recovered.undone.kept:
            tell(f"kept: {path}", changed=changed)
        for lost in recovered.undone.lost:
            tell(f"could not be restored, because it had been removed: {lost}", changed=changed)
    making = creation_note.creation_interruption(store.prefix)
    if making is not None:
        creation_note.finish(store.prefix)
        tell(describe_finished_interruption(making), changed=False)


def recover_first(session: Session, target: NamedTarget) -> None:
    """Recover a target from interrupted runs or, for a new environment, clear an interrupted creation; report that."""
    if target.new is None:
        recover_environment(session, find_environment(session, target))
    else:
        clear_cut_creation(session, make_absolute(expand_home(target.new)))
