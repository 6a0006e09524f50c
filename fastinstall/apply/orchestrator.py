"""Carry out a plan: build, observe, stage, swap, verify, commit; undo where anything fails.

The order is the promise: the environment is never without a working PIL, and whatever fails before
or after the swap leaves it as it was.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from fastinstall.actions.alone import Watch, alone
from fastinstall.actions.build import bring_headers, make_wheel
from fastinstall.actions.conda_changes import change_conda_packages
from fastinstall.actions.conda_history import record_pin, record_revision
from fastinstall.actions.conda_swap import claimed_entries, conda_moves
from fastinstall.actions.create_environment import (
    begin_creation,
    create_environment,
    end_creation,
    leave_place,
    make_place,
    undo_creation,
)
from fastinstall.actions.pip_pin import put_pip_pin
from fastinstall.actions.pip_trap import tried_pin
from fastinstall.actions.proven import Ground, make_proven
from fastinstall.actions.receipt import loaded_jpeg, receipt_for
from fastinstall.actions.staging import Staged, StagedTree, stage_stack
from fastinstall.actions.steps import required_step, step_of
from fastinstall.actions.swap import Exchange, swap_moves
from fastinstall.actions.verify import refuse_errors
from fastinstall.actions.workshop import Workshop
from fastinstall.build.request import BuildResult
from fastinstall.errors import FailedError, RefusedError
from fastinstall.guard.install import GUARD_ENTRIES
from fastinstall.journal.stamp import Stamp, fresh_stamp
from fastinstall.journal.store import Store
from fastinstall.journal.transaction import Transaction, begin
from fastinstall.model.codec import document
from fastinstall.model.conda import Conda
from fastinstall.model.event import Started
from fastinstall.model.facts import Facts, Interpreter
from fastinstall.model.finding import Report
from fastinstall.model.immutable import immutable
from fastinstall.model.plan import Plan
from fastinstall.model.receipt import Move, Receipt
from fastinstall.model.steps import Build, ChangeCondaPackages, CreateEnvironment, Pin, Prove, Swap, Verify
from fastinstall.probes.interpreter import observe_interpreter
from fastinstall.rules.messages import listing
from fastinstall.system import signals, trouble

_AGAIN = "make it again: fastinstall plan"


@immutable
class Observers:
    """How to look at the target, and how to judge it; handed in from above.

    Attributes:
        before: observes the target as it is before the swap: files, and PIL in use. Its interpreter has been asked.
        after: observes all that doctor looks at, once it is swapped.
        judge: runs doctor's checks by name on facts, against a receipt.
        finish: does what has to be done outside of the target, once it is verified; a failure undoes all.
    """

    before: Callable[[Interpreter], Facts]
    after: Callable[[Interpreter], Facts]
    judge: Callable[[Facts, Receipt, tuple[str, ...]], Report]
    finish: Callable[[Transaction, Receipt], None]


@immutable
class Done:
    """What a carried-out plan left.

    Attributes:
        receipt: as written.
        after: the target as it was verified, with its transaction still open.
        window_ns: how long the renames took, nanoseconds.
    """

    receipt: Receipt
    after: Facts
    window_ns: int


@immutable
class _Work:
    """What is at hand while a plan is carried out.

    Attributes:
        plan: the plan.
        workshop: tools and places.
        observers: eyes.
        watch: notices others.
        interpreter: the target's Python.
        before: what the target was.
    """

    plan: Plan
    workshop: Workshop
    observers: Observers
    watch: Watch
    interpreter: Interpreter
    before: Facts

    @property
    def prefix(self) -> Path:
        """Of the environment."""
        return Path(self.plan.environment.prefix)


def execute(plan: Plan, workshop: Workshop, observers: Observers) -> Done:
    """Carry out a plan that was consented to.

    Args:
        plan: its steps.
        workshop: tools and places.
        observers: eyes.

    Raises:
        FailedError: something failed; the environment is as it was.
        RefusedError: locked by a running one, or something foreign is in the way; as it was.
        DamagedError: something failed, and could not be undone.
    """
    prefix = Path(plan.environment.prefix)
    with _explained(prefix), _placed(plan), alone(prefix), _created(plan):
        interpreter = observe_interpreter(Path(plan.environment.python))
        watch = _watch(plan, interpreter)
        built = _built(plan, interpreter, workshop) if not _builds_upon_changes(plan) else None
        work = _observed(plan, workshop, observers, watch, interpreter)
        pin = tried_pin(plan, built.wheel, work.before, workshop) if built is not None else None
        stamp, store = fresh_stamp(), Store(prefix)
        with begin(store, document("plan", plan), site_packages=interpreter.site_packages, stamp=stamp) as transaction:
            staged = _staged(work, built, transaction)
            _swap(work, staged.tree, transaction)
            with watch.holding_on(workshop.emit):
                _write_down(plan, staged.tree, transaction, work.before.conda, workshop)
                if pin is not None:
                    put_pip_pin(pin, transaction)
                receipt, after = _verified(work, staged, stamp)
                observers.finish(transaction, receipt)
            transaction.commit(receipt)
        watch.warn(workshop.emit)
        return Done(receipt=receipt, after=after, window_ns=transaction.window_ns)


def _observed(plan: Plan, workshop: Workshop, observers: Observers, watch: Watch, interpreter: Interpreter) -> _Work:
    """Look at what will be replaced, after the build: it may have taken minutes, in which others could change it."""
    before = observers.before(interpreter)
    watch.refuse_changes()
    _refuse_other_owners(plan, before)
    return _Work(plan=plan, workshop=workshop, observers=observers, watch=watch, interpreter=interpreter, before=before)


def _staged(work: _Work, built: BuildResult | None, transaction: Transaction) -> Staged:
    """What comes in; where nothing is built yet, after others have changed that it is built upon."""
    if built is None:
        _change_others(work, transaction)
        built = _built(work.plan, work.interpreter, work.workshop)
        return stage_stack(work.plan, built, transaction, work.before, work.workshop)
    staged = stage_stack(work.plan, built, transaction, work.before, work.workshop)
    _change_others(work, transaction)
    return staged


def _swap(work: _Work, tree: StagedTree, transaction: Transaction) -> None:
    """The renames, unless what they replace is not what was observed."""
    work.workshop.emit(Started(stage="swap", message="swapping it in"))
    moves = _moves(work.plan, tree, work.prefix, work.before)
    work.watch.refuse_changes()
    transaction.perform(moves)
    work.watch.look_again()


def _verified(work: _Work, staged: Staged, stamp: Stamp) -> tuple[Receipt, Facts]:
    """The receipt, where doctor's checks find no error, and what they looked at."""
    work.workshop.emit(Started(stage="verify", message="running doctor's checks on it"))
    after = work.observers.after(work.interpreter)
    receipt = replace(receipt_for(work.plan, staged, work.before, stamp), jpeg=loaded_jpeg(after))
    checks = required_step(work.plan, Verify).checks
    refuse_errors(work.observers.judge(after, receipt, checks).findings)
    return receipt, after


def _watch(plan: Plan, interpreter: Interpreter) -> Watch:
    swap = required_step(plan, Swap)
    names = (*swap.entries, swap.installs, *GUARD_ENTRIES)
    return Watch(Path(plan.environment.prefix), Path(interpreter.site_packages), names)


def _refuse_other_owners(plan: Plan, before: Facts) -> None:
    """Consent was given to replace what the plan names, and nothing else."""
    planned = set(required_step(plan, Swap).removes)
    found = {owner.distribution.metadata for owner in before.stack.owners}
    if planned != found:
        there, then = (listing(sorted(names)) or "no Pillow" for names in (found, planned))
        message = f"{plan.environment.prefix}: {there} is there now, and the plan was made for {then}"
        raise RefusedError(message, hint=_AGAIN)


def _moves(plan: Plan, tree: StagedTree, prefix: Path, before: Facts) -> tuple[Move, ...]:
    """Every rename of the swap, those that Python notices first."""
    swap, site_packages = required_step(plan, Swap), Path(before.interpreter.site_packages)
    site = site_packages.relative_to(prefix)
    if tree.linked is None or before.conda is None:
        return swap_moves(Exchange(prefix=prefix, site_packages=site_packages, staged=tree.site_packages), before.stack)
    exchange = Exchange(
        prefix=prefix,
        site_packages=site_packages,
        staged=tree.site_packages,
        kept=f"stage/prefix/{site}",
        leaving=claimed_entries(site, before.conda, swap),
    )
    beside = conda_moves(prefix, site_packages, tree.linked.root, before.conda, swap)
    return (*swap_moves(exchange, before.stack), *beside)


def _builds_upon_changes(plan: Plan) -> bool:
    """Whether other packages come first, because the build links them (`--link env`)."""
    kinds = [type(step) for step in plan.steps]
    changes = ChangeCondaPackages in kinds and Build in kinds
    return changes and kinds.index(ChangeCondaPackages) < kinds.index(Build)


def _change_others(work: _Work, transaction: Transaction) -> None:
    """Have other packages changed, step by step: the order decides who has a file that several claim."""
    workshop = work.workshop
    for step in work.plan.steps:
        if isinstance(step, ChangeCondaPackages):
            if workshop.engine is None:
                raise FailedError("the plan names no engine for conda packages", hint=_AGAIN)
            work.watch.refuse_changes()
            change_conda_packages(step, workshop.engine, transaction, work.prefix, workshop.emit)
            work.watch.look_again()


def _write_down(
    plan: Plan, tree: StagedTree, transaction: Transaction, conda: Conda | None, workshop: Workshop
) -> None:
    """Tell conda's history what came and went, and pin it where that is wished."""
    if tree.linked is not None and conda is not None:
        record_revision(tree.linked.stack, required_step(plan, Swap), conda, workshop.now, transaction)
    pin = step_of(plan, Pin)
    if pin is not None:
        record_pin(pin, Path(plan.environment.prefix), transaction)


def _built(plan: Plan, interpreter: Interpreter, workshop: Workshop) -> BuildResult:
    brought = bring_headers(plan, workshop)
    ground = Ground(interpreter=interpreter, cpu=workshop.cpu, reference=required_step(plan, Prove).reference)
    return make_proven(
        required_step(plan, Build), lambda step: make_wheel(step, interpreter, brought, workshop), ground, workshop
    )


@contextmanager
def _explained(prefix: Path) -> Iterator[None]:
    """What the system refuses (a full disk, a quota) is a failure like others: all is undone by then."""
    try:
        yield
    except BrokenPipeError:  # nobody listens any more: not a matter of disks
        raise
    except OSError as error:
        raise FailedError(trouble.reason(error, prefix), hint=trouble.advice(error, prefix)) from error


@contextmanager
def _placed(plan: Plan) -> Iterator[None]:
    """The directory of an environment that is to be made, for its lock."""
    step = step_of(plan, CreateEnvironment)
    made = None
    try:
        with signals.deferred():
            made = make_place(step) if step is not None else None
        yield
    except BaseException:
        if made is not None:
            leave_place(made)
        raise


@contextmanager
def _created(plan: Plan) -> Iterator[None]:
    step = step_of(plan, CreateEnvironment)
    if step is None:
        yield
        return
    begun = False
    try:
        with signals.deferred():
            begin_creation(step, fresh_stamp().at)
            begun = True
        create_environment(step)
        yield
    except BaseException:
        if begun:
            undo_creation(step)
        raise
    end_creation(step)
