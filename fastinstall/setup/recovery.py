"""Recover an environment from interrupted runs before a command changes it, or only report such runs.

The journal finishes or undoes an interrupted run. This module takes the lock, calls the journal and reports the result.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path, PurePath

from fastinstall.core.directories import expand_home
from fastinstall.core.errors import InterruptedAfterCompletion, RefusedError
from fastinstall.core.events import Noted
from fastinstall.core.messages import listing, quote
from fastinstall.core.values import immutable
from fastinstall.journal import creation_note
from fastinstall.journal.rollback import recover
from fastinstall.journal.snapshot import is_at_work, read_environment_history
from fastinstall.journal.store import JournalStore
from fastinstall.model.facts import Environment
from fastinstall.model.history import Interruption, UnfinishedRun, describe_finished_interruption, describe_interruption
from fastinstall.observe.environments import NamedTarget, find_environment, make_absolute
from fastinstall.observe.session import Session
from fastinstall.setup.exclusive import hold_environment_lock


@immutable
class LockedEnvironment:
    """An environment whose lock this process holds.

    Attributes:
        store: the journal of the environment.
        sentences: reports on recovered interruptions; empty if nothing had been interrupted.
    """

    store: JournalStore
    sentences: tuple[str, ...]


@contextmanager
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
    prefix, sentences = environment.prefix, list[str]()

    def report(interruption: Interruption, *consequences: str) -> None:
        for sentence in (describe_finished_interruption(interruption), *consequences):
            if sentence not in sentences:
                sentences.append(sentence)
                session.emit(Noted(message=sentence, changed=interruption.kind not in _UNSEEN))

    # No lock is needed to read the history: while another run holds the lock, no run counts as interrupted.
    before = read_environment_history(prefix, sized=False).interruptions
    try:
        with hold_environment_lock(prefix):
            recovered = recover(JournalStore(prefix), force=force)
            if recovered is not None:
                kept = (f"kept: {path}" for path in recovered.undone.kept)
                lost = (f"could not be restored, because it had been removed: {path}" for path in recovered.undone.lost)
                report(recovered.interruption, *kept, *lost)
            creation = creation_note.creation_interruption(prefix)
            if creation is not None:
                creation_note.finish(prefix)
                report(creation)
            yield LockedEnvironment(store=JournalStore(prefix), sentences=tuple(sentences))
    except KeyboardInterrupt:
        # The interruption may have been deferred until a recovery was done; that recovery must still be reported.
        left = read_environment_history(prefix, sized=False).interruptions
        for interruption in before:
            if interruption not in left:
                report(interruption)
        raise


_UNSEEN = (UnfinishedRun.PREPARATION, UnfinishedRun.CLEANUP, UnfinishedRun.CREATION)
"""Kinds of interrupted runs of which a recovery changes only our own files, which users do not see."""


@contextmanager
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
        report_late_interruptions(environment.prefix, verb),
        lock_recovered_environment(session, environment, force=force) as locked,
    ):
        yield locked


def recover_environment(session: Session, environment: Environment) -> bool:
    """Recover an environment from interrupted runs, and report each recovery. Return whether there was any.

    The lock is taken only if a run was interrupted. A run that is still active does not count as interrupted.

    Raises:
        FastinstallError: the errors of `lock_recovered_environment`.
    """
    if not read_environment_history(environment.prefix, sized=False).interruptions:
        return False
    with lock_recovered_environment(session, environment) as result:
        return bool(result.sentences)


def clear_cut_creation(session: Session, prefix: Path) -> None:
    """Empty a directory in which a run was interrupted while creating an environment, and report that.

    Raises:
        RefusedError: another program is changing the directory, or it contains files that the run did not create,
            which are kept.
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
    prefix = environment.prefix
    interruptions = read_environment_history(prefix, sized=False).interruptions
    return tuple(describe_interruption(each, prefix) for each in interruptions)


def recover_first(session: Session, target: NamedTarget) -> None:
    """Recover a target from interrupted runs, or clear the interrupted creation of a new environment; report it."""
    if target.new is None:
        recover_environment(session, find_environment(session, target))
    else:
        clear_cut_creation(session, make_absolute(expand_home(target.new)))


def report_late_interruptions(prefix: Path, verb: str) -> AbstractContextManager[None]:
    """Return a context that raises if its block is interrupted after it has committed or undone a transaction.

    Args:
        prefix: root of the environment that the block works on.
        verb: the command ("setup").

    Raises:
        InterruptedAfterCompletion: instead of the KeyboardInterrupt.
    """
    before = read_environment_history(prefix, sized=False).setups
    return _report_where(prefix, verb, lambda: read_environment_history(prefix, sized=False).setups != before)


def report_interruption_after_recovery(prefix: Path) -> AbstractContextManager[None]:
    """Return a context that raises if its block, which only recovers, is interrupted after the recovery.

    Args:
        prefix: root of the environment that the block recovers.

    Raises:
        InterruptedAfterCompletion: instead of the KeyboardInterrupt.
    """
    if not read_environment_history(prefix, sized=False).interruptions:
        return nullcontext()
    return _report_where(prefix, "recovery", lambda: not read_environment_history(prefix, sized=False).interruptions)


def report_interruption_after_completion(prefix: PurePath, verb: str) -> AbstractContextManager[None]:
    """Return a context that raises if its block, which only reports on completed work, is interrupted.

    Args:
        prefix: root of the environment that was changed.
        verb: the command ("setup").

    Raises:
        InterruptedAfterCompletion: instead of the KeyboardInterrupt.
    """
    return _report_where(prefix, verb, lambda: True)


@contextmanager
def _report_where(prefix: PurePath, verb: str, is_done: Callable[[], bool]) -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt as interruption:
        if not is_done():
            raise
        raise InterruptedAfterCompletion(
            f"interrupted after the {verb} was done: the environment is complete; "
            f"check: fastinstall doctor --prefix {quote(prefix)}"
        ) from interruption
