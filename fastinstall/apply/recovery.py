"""Recover an environment from an interrupted run: commands that change it finish the recovery, others only report it.

This is the only place where verbs deal with recovery. The journal does the finishing and undoing; here it is put into
words. The pin of a project, which earlier versions wrote, is only told: no project is changed.

What is on disk also tells whether an interruption came in time or after the work was done.
"""

import contextlib
from collections.abc import Iterator
from pathlib import Path, PurePath
from typing import Protocol

from fastinstall.apply.exclusive import hold_environment_lock
from fastinstall.core.errors import InterruptedAfterCompletion, RefusedError
from fastinstall.core.events import Noted
from fastinstall.core.home import expand_home
from fastinstall.core.messages import listing, quote
from fastinstall.core.values import immutable
from fastinstall.journal import snapshot
from fastinstall.journal.recover import Recovered, receipt_if_readable, recover
from fastinstall.journal.snapshot import is_at_work, read_environment_history
from fastinstall.journal.store import JournalStore
from fastinstall.model.history import (
    Interruption,
    UnfinishedRun,
    describe_finished_interruption,
    describe_interruption,
    unpinning_command,
)
from fastinstall.model.request import Environment
from fastinstall.observe.active_environment import NamedTarget, find
from fastinstall.observe.installed_pins import pin_interruptions
from fastinstall.observe.session import Session
from fastinstall.pins import earlier_pins
from fastinstall.pins.recognition import read_noted_project


@immutable
class LockedEnvironment:
    """An environment whose lock is held.

    Attributes:
        store: of it.
        sentences: what had been interrupted, and how things are now; empty if nothing was.
    """

    store: JournalStore
    sentences: tuple[str, ...]


@contextlib.contextmanager
def lock_recovered_environment(
    session: Session, environment: Environment, *, force: bool = False
) -> Iterator[LockedEnvironment]:
    """Work alone on an environment, with everything at its end that an earlier run left unfinished; says so.

    Args:
        session: the outside world.
        environment: the target.
        force: move aside what has replaced ours since, instead of refusing.

    Raises:
        RefusedError: another program works there, or something foreign is where what was there has to return.
        EnvironmentDamagedError: a step failed; the next command goes on with it.
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
        for each in pin_interruptions(prefix):
            session.emit(Noted(message=describe_interruption(each, prefix), warning=True))
        yield LockedEnvironment(store=JournalStore(prefix), sentences=tuple(sentences))


@contextlib.contextmanager
def change_environment(
    session: Session, environment: Environment, verb: str, *, force: bool = False
) -> Iterator[LockedEnvironment]:
    """Work alone on an environment, as above; an interruption that comes too late says so (`verb`: "guard install")."""
    with (
        report_late_interruptions(Path(environment.prefix), verb),
        lock_recovered_environment(session, environment, force=force) as locked,
    ):
        yield locked


def recover_environment(session: Session, environment: Environment) -> bool:
    """Recover everything that an earlier run left unfinished, and say so; whether there was anything.

    An unfinished pin of a project is told, and left as it is. The lock is taken only where there is something, so that
    a run at work is told by whoever goes on.

    Raises:
        FastinstallError: as `lock_recovered_environment` says.
    """
    prefix = Path(environment.prefix)
    for notice in list_unrecoverable(environment):
        session.emit(Noted(message=notice, warning=True))
    if not read_environment_history(prefix, sized=False).interruptions:
        return False
    with lock_recovered_environment(session, environment) as result:
        return bool(result.sentences)


def clear_cut_creation(session: Session, prefix: Path) -> None:
    """Empty a directory in which a dead run was making an environment, so that it can be made again; says so.

    Raises:
        RefusedError: another program works there, or there is more than such a run leaves; nothing of that has changed.
        FastinstallError: as `lock_recovered_environment` says.
    """
    cut = snapshot.creation_interruption(prefix)
    if cut is None or cut.cut is not UnfinishedRun.CREATION or is_at_work(prefix):
        return
    with hold_environment_lock(prefix):
        recovered = recover(JournalStore(prefix))
        if recovered is not None:
            session.emit(
                Noted(message=describe_finished_interruption(_convert_to_interruption(recovered)), changed=True)
            )
        strange = snapshot.find_unknown_entries(prefix)
        if strange:
            raise RefusedError(
                f"{prefix}: creating it was interrupted, and now it also holds: {listing(strange)}",
                hint=f"set it up as it is: fastinstall setup --prefix {quote(prefix)}",
            )
        snapshot.clear(prefix)
    session.emit(Noted(message=describe_finished_interruption(cut, cleared=True), changed=True))


def find_interruptions(prefix: Path) -> tuple[Interruption, ...]:
    """What a dead run left, of the environment and of the pin of its project. Changes nothing."""
    return (*read_environment_history(prefix, sized=False).interruptions, *pin_interruptions(prefix))


def describe_interruptions(environment: Environment) -> tuple[str, ...]:
    """What those have to tell who only look: one sentence for each thing, with the command that mends it."""
    prefix = Path(environment.prefix)
    return tuple(describe_interruption(each, prefix) for each in find_interruptions(prefix))


def list_unrecoverable(environment: Environment) -> tuple[str, ...]:
    """Describe what nobody brings to its end by itself, because it lies in a project; likewise."""
    prefix = Path(environment.prefix)
    return tuple(describe_interruption(each, prefix) for each in pin_interruptions(prefix))


def find_pin_left_behind(store: JournalStore, noted: Path | None) -> Iterator[str]:
    """Yield a sentence if a project is still pinned to a stack that has just been undone.

    Args:
        store: of the environment, as it is now.
        noted: the project that an earlier fastinstall had noted in it before.
    """
    if noted is None or not earlier_pins.is_pinned_for(noted, store.prefix):
        return
    record, receipt = earlier_pins.read_record(noted), receipt_if_readable(store)
    installed = f"{receipt.distribution}=={receipt.version}" if receipt is not None else "no build of fastinstall"
    if record is not None and record.requirement != installed:
        command = unpinning_command(noted, store.prefix)
        yield f"{noted} is still pinned to {record.requirement}, but {installed} is installed; to unpin it: {command}"


class _Tell(Protocol):
    def __call__(self, sentence: str, *, changed: bool = True) -> None: ...


@contextlib.contextmanager
def _telling_what_was_recovered(prefix: Path, tell: _Tell) -> Iterator[None]:
    """Tell what has come to its end in the block, although an interruption, which waited for that, kept it silent.

    Asked without the lock: whoever holds it is at work, and nothing of his is interrupted.
    """
    before = read_environment_history(prefix, sized=False).interruptions
    try:
        yield
    except KeyboardInterrupt:
        left = read_environment_history(prefix, sized=False).interruptions
        for each in before:
            if each not in left:
                tell(describe_finished_interruption(each), changed=each.cut not in _UNSEEN)
        raise


_UNSEEN = (UnfinishedRun.BEGINNING, UnfinishedRun.END)
"""Only directories of ours were there: nobody looks into them."""


def _recover_each(store: JournalStore, tell: _Tell, *, force: bool) -> None:
    """Each thing is told when it has happened, since the next one may fail."""
    noted = read_noted_project(store.prefix)
    recovered = recover(store, force=force)
    if recovered is not None:
        changed = recovered.cut not in _UNSEEN
        tell(describe_finished_interruption(_convert_to_interruption(recovered)), changed=changed)
        for path in recovered.undone.kept:
            tell(f"kept: {path}", changed=changed)
        for lost in recovered.undone.lost:
            tell(f"could not be restored, because it had been removed: {lost}", changed=changed)
    making = snapshot.creation_interruption(store.prefix)
    if making is not None:
        snapshot.finish(store.prefix)
        tell(describe_finished_interruption(making), changed=False)
    for sentence in find_pin_left_behind(store, noted) if recovered is not None else ():
        tell(sentence, changed=False)


def _convert_to_interruption(recovered: Recovered) -> Interruption:
    return Interruption(cut=recovered.cut, verb=recovered.verb, at=recovered.at, file=Path(), id=recovered.id)


@contextlib.contextmanager
def report_late_interruptions(prefix: Path, verb: str) -> Iterator[None]:
    """Raise `InterruptedAfterCompletion` if the block is interrupted after it has changed which transactions hold.

    Args:
        prefix: of the environment that the block works on.
        verb: what is being done ("setup").

    Raises:
        InterruptedAfterCompletion: instead of the KeyboardInterrupt.
    """
    before = _list_held_setups(prefix)
    try:
        yield
    except KeyboardInterrupt as interruption:
        if _list_held_setups(prefix) == before:
            raise
        raise _make_late_interruption(prefix, verb) from interruption


@contextlib.contextmanager
def report_interruption_after_recovery(prefix: Path) -> Iterator[None]:
    """Raise `InterruptedAfterCompletion` where the block, which only recovers, is interrupted when that was done.

    Args:
        prefix: of the environment that the block recovers.

    Raises:
        InterruptedAfterCompletion: instead of the KeyboardInterrupt.
    """
    before = read_environment_history(prefix, sized=False).interruptions
    try:
        yield
    except KeyboardInterrupt as interruption:
        if not before or read_environment_history(prefix, sized=False).interruptions:
            raise
        raise _make_late_interruption(prefix, "recovery") from interruption


@contextlib.contextmanager
def report_interruption_after_completion(prefix: PurePath, verb: str) -> Iterator[None]:
    """Raise `InterruptedAfterCompletion` where the block is interrupted: it tells of work that is done.

    Args:
        prefix: of the environment that was worked on.
        verb: what was done ("setup").

    Raises:
        InterruptedAfterCompletion: instead of the KeyboardInterrupt.
    """
    try:
        yield
    except KeyboardInterrupt as interruption:
        raise _make_late_interruption(prefix, verb) from interruption


def _make_late_interruption(prefix: PurePath, verb: str) -> InterruptedAfterCompletion:
    look = f"fastinstall doctor --prefix {quote(prefix)}"
    return InterruptedAfterCompletion(
        f"interrupted after the {verb} was done: the environment is complete; check: {look}"
    )


def _list_held_setups(prefix: Path) -> tuple[str, ...]:
    return read_environment_history(prefix, sized=False).setups


def recover_first(session: Session, target: NamedTarget) -> None:
    """Bring to its end what an earlier run left unfinished in an existing target, and say so."""
    if target.new is None:
        recover_environment(session, find(session, target))
    else:
        clear_cut_creation(session, expand_home(target.new).absolute())
