"""Carry out a plan: prepare everything, then touch; verify; hold or undo.

The order is the promise: the environment is never without a working PIL, and whatever fails before
or after the swap leaves it as it was.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from fastinstall.actions.build import bring_headers, make_wheel
from fastinstall.actions.conda_changes import change_conda_packages
from fastinstall.actions.conda_history import record_pin, record_revision
from fastinstall.actions.conda_swap import claimed_entries, conda_moves
from fastinstall.actions.create_environment import create_environment, undo_creation
from fastinstall.actions.pip_pin import put_pip_pin
from fastinstall.actions.pip_trap import tried_pin
from fastinstall.actions.proven import Ground, make_proven
from fastinstall.actions.receipt import loaded_jpeg, receipt_for
from fastinstall.actions.staging import StagedTree, stage_stack
from fastinstall.actions.steps import required_step, step_of
from fastinstall.actions.swap import Exchange, swap_moves
from fastinstall.actions.verify import refuse_errors
from fastinstall.actions.workshop import Workshop
from fastinstall.build.request import BuildResult
from fastinstall.errors import FailedError
from fastinstall.journal.stamp import fresh_stamp
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
from fastinstall.rules.messages import quote
from fastinstall.system.lock import locked

_AGAIN = "make it again: fastinstall plan"


@immutable
class Observers:
    """How to look at the target, and how to judge it; handed in from above.

    Attributes:
        facts: observes the target as it is now.
        judge: runs doctor's checks by name on facts, against a receipt.
        conclude: does what has to be done outside of the target, once it is verified; a failure undoes all.
    """

    facts: Callable[[], Facts]
    judge: Callable[[Facts, Receipt, tuple[str, ...]], Report]
    conclude: Callable[[Transaction, Receipt], None]


@immutable
class Done:
    """What a carried-out plan left.

    Attributes:
        receipt: as written.
        window_ns: how long the renames took, nanoseconds.
    """

    receipt: Receipt
    window_ns: int


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
    with _explained(prefix), _created(plan), locked(prefix):
        return _execute(plan, workshop, observers)


def _execute(plan: Plan, workshop: Workshop, observers: Observers) -> Done:
    interpreter = observe_interpreter(Path(plan.environment.python))
    built = _built(plan, interpreter, workshop) if not _builds_upon_changes(plan) else None
    store, stamp = Store(Path(plan.environment.prefix)), fresh_stamp()
    before = observers.facts()
    pin = tried_pin(plan, built.wheel, before, workshop) if built is not None else None
    with begin(store, document("plan", plan), site_packages=interpreter.site_packages, stamp=stamp) as transaction:
        if built is None:
            _change_others(plan, transaction, workshop)
            built = _built(plan, interpreter, workshop)
            staged = stage_stack(plan, built, transaction, before, workshop)
        else:
            staged = stage_stack(plan, built, transaction, before, workshop)
            _change_others(plan, transaction, workshop)
        workshop.emit(Started(stage="swap", message="swapping it in"))
        transaction.perform(_moves(plan, staged.tree, store.prefix, before))
        _write_down(plan, staged.tree, transaction, before.conda, workshop)
        if pin is not None:
            put_pip_pin(pin, transaction)
        workshop.emit(Started(stage="verify", message="running doctor's checks on it"))
        after = observers.facts()
        receipt = replace(receipt_for(plan, staged, before, stamp), jpeg=loaded_jpeg(after))
        refuse_errors(observers.judge(after, receipt, required_step(plan, Verify).checks).findings)
        observers.conclude(transaction, receipt)
        transaction.commit(receipt)
    return Done(receipt=receipt, window_ns=transaction.window_ns)


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


def _change_others(plan: Plan, transaction: Transaction, workshop: Workshop) -> None:
    """Have other packages changed, step by step: the order decides who has a file that several claim."""
    for step in plan.steps:
        if isinstance(step, ChangeCondaPackages):
            if workshop.engine is None:
                raise FailedError("the plan names no engine for conda packages", hint=_AGAIN)
            change_conda_packages(step, workshop.engine, transaction, Path(plan.environment.prefix), workshop.emit)


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
        where = error.filename or prefix
        raise FailedError(f"{where}: {error.strerror or error}", hint=f"df -h {quote(prefix)}") from error


@contextmanager
def _created(plan: Plan) -> Iterator[None]:
    step = step_of(plan, CreateEnvironment)
    if step is None:
        yield
        return
    existed = Path(step.prefix).exists()
    create_environment(step)
    try:
        yield
    except BaseException:
        undo_creation(step, existed=existed)
        raise
