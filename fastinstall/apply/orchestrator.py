"""Carry out a plan: build, observe, stage, swap, verify, commit; undo if anything fails.

The order is the guarantee: the environment is never without a working PIL, and a failure before or after the swap
leaves it as it was.

The result of the swap is judged by doctor's own checks, and the receipt puts the setup on record.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from fastinstall import __version__
from fastinstall.apply.exclusive import (
    ForeignChangeWatch,
    begin_creation,
    create_environment,
    end_creation,
    hold_environment_lock,
    leave_place,
    make_place,
    undo_creation,
)
from fastinstall.apply.proven_wheel import ProofContext, bring_headers, make_proven, make_wheel
from fastinstall.apply.staging import SitePackagesSwap, StagedStack, StagedTree, stage_stack, swap_moves
from fastinstall.conda.changes import change_conda_packages
from fastinstall.conda.history_file import conda_moves, find_claimed_entries, record_pin, record_revision
from fastinstall.core import files, signals
from fastinstall.core.errors import FailedError, RefusedError
from fastinstall.core.events import Started
from fastinstall.core.messages import listing
from fastinstall.core.values import document, immutable
from fastinstall.elf.description import LoadedLibrary
from fastinstall.guard.pip_trap import try_pip_pin, write_pip_pin
from fastinstall.index.execution import ExecutionContext, get_required_step, step_of
from fastinstall.journal.store import JournalStore, Stamp, make_stamp
from fastinstall.journal.transaction import Transaction, begin
from fastinstall.model.conda import Conda, CondaInstaller
from fastinstall.model.facts import Facts, Interpreter
from fastinstall.model.finding import EnvironmentReport, Finding, Status
from fastinstall.model.plan import Plan
from fastinstall.model.receipt import Move, Receipt
from fastinstall.model.steps import (
    Build,
    ChangeCondaPackages,
    CreateEnvironment,
    MakeCondaPackages,
    Pin,
    Prove,
    Swap,
    Verify,
)
from fastinstall.observe.guard_files import GUARD_ENTRIES
from fastinstall.observe.interpreter import observe_interpreter
from fastinstall.wheelbuild.build_inputs import BuildResult

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
    judge: Callable[[Facts, Receipt, tuple[str, ...]], EnvironmentReport]
    finish: Callable[[Transaction, Receipt], None]


@immutable
class CompletedPlan:
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
    workshop: ExecutionContext
    observers: Observers
    watch: ForeignChangeWatch
    interpreter: Interpreter
    before: Facts

    @property
    def prefix(self) -> Path:
        """Of the environment."""
        return Path(self.plan.environment.prefix)


def execute(plan: Plan, workshop: ExecutionContext, observers: Observers) -> CompletedPlan:
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
    with (
        _explain_system_errors(prefix),
        _hold_environment_place(plan),
        hold_environment_lock(prefix),
        _create_environment(plan),
    ):
        interpreter = observe_interpreter(Path(plan.environment.python))
        watch = _watch(plan, interpreter)
        built = _build_wheel(plan, interpreter, workshop) if not _builds_upon_changes(plan) else None
        work = _observe_replaced(plan, workshop, observers, watch, interpreter)
        pin = try_pip_pin(plan, built.wheel, work.before, workshop) if built is not None else None
        stamp, store = make_stamp(), JournalStore(prefix)
        with begin(store, document("plan", plan), site_packages=interpreter.site_packages, stamp=stamp) as transaction:
            staged = _stage_stack(work, built, transaction)
            _swap(work, staged.tree, transaction)
            with watch.holding_on(workshop.emit):
                _write_down(plan, staged.tree, transaction, work.before.conda, workshop)
                if pin is not None:
                    write_pip_pin(pin, transaction)
                receipt, after = _verify_result(work, staged, stamp)
                observers.finish(transaction, receipt)
            transaction.commit(receipt)
        watch.warn(workshop.emit)
        return CompletedPlan(receipt=receipt, after=after, window_ns=transaction.window_ns)


def _observe_replaced(
    plan: Plan, workshop: ExecutionContext, observers: Observers, watch: ForeignChangeWatch, interpreter: Interpreter
) -> _Work:
    """Look at what will be replaced, after the build: it may have taken minutes, in which others could change it."""
    before = observers.before(interpreter)
    watch.refuse_changes()
    _refuse_other_owners(plan, before)
    return _Work(plan=plan, workshop=workshop, observers=observers, watch=watch, interpreter=interpreter, before=before)


def _stage_stack(work: _Work, built: BuildResult | None, transaction: Transaction) -> StagedStack:
    """What comes in; where nothing is built yet, after others have changed that it is built upon."""
    if built is None:
        _change_others(work, transaction)
        built = _build_wheel(work.plan, work.interpreter, work.workshop)
        return stage_stack(work.plan, built, transaction, work.before, work.workshop)
    staged = stage_stack(work.plan, built, transaction, work.before, work.workshop)
    _change_others(work, transaction)
    return staged


def _swap(work: _Work, tree: StagedTree, transaction: Transaction) -> None:
    """The renames, unless what they replace is not what was observed."""
    work.workshop.emit(Started(stage="swap", message="swapping it in"))
    moves = _list_moves(work.plan, tree, work.prefix, work.before)
    work.watch.refuse_changes()
    transaction.perform(moves)
    work.watch.look_again()


def _verify_result(work: _Work, staged: StagedStack, stamp: Stamp) -> tuple[Receipt, Facts]:
    """The receipt, where doctor's checks find no error, and what they looked at."""
    work.workshop.emit(Started(stage="verify", message="running doctor's checks on it"))
    after = work.observers.after(work.interpreter)
    receipt = replace(receipt_for(work.plan, staged, work.before, stamp), jpeg=find_loaded_jpeg(after))
    checks = get_required_step(work.plan, Verify).checks
    refuse_errors(work.observers.judge(after, receipt, checks).findings)
    return receipt, after


def _watch(plan: Plan, interpreter: Interpreter) -> ForeignChangeWatch:
    swap = get_required_step(plan, Swap)
    names = (*swap.entries, swap.installs, *GUARD_ENTRIES)
    return ForeignChangeWatch(Path(plan.environment.prefix), Path(interpreter.site_packages), names)


def _refuse_other_owners(plan: Plan, before: Facts) -> None:
    """Consent was given to replace what the plan names, and nothing else."""
    planned = set(get_required_step(plan, Swap).removes)
    found = {owner.distribution.metadata for owner in before.stack.owners}
    if planned != found:
        there, then = (listing(sorted(names)) or "no Pillow" for names in (found, planned))
        message = f"{plan.environment.prefix}: {there} is there now, and the plan was made for {then}"
        raise RefusedError(message, hint=_AGAIN)


def _list_moves(plan: Plan, tree: StagedTree, prefix: Path, before: Facts) -> tuple[Move, ...]:
    """Every rename of the swap, those that Python notices first."""
    swap, site_packages = get_required_step(plan, Swap), Path(before.interpreter.site_packages)
    site = site_packages.relative_to(prefix)
    if tree.linked is None or before.conda is None:
        return swap_moves(
            SitePackagesSwap(prefix=prefix, site_packages=site_packages, staged=tree.site_packages), before.stack
        )
    exchange = SitePackagesSwap(
        prefix=prefix,
        site_packages=site_packages,
        staged=tree.site_packages,
        kept=f"stage/prefix/{site}",
        leaving=find_claimed_entries(site, before.conda, swap),
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
    plan: Plan, tree: StagedTree, transaction: Transaction, conda: Conda | None, workshop: ExecutionContext
) -> None:
    """Tell conda's history what came and went, and pin it where that is wished."""
    if tree.linked is not None and conda is not None:
        record_revision(tree.linked.stack, get_required_step(plan, Swap), conda, workshop.now, transaction)
    pin = step_of(plan, Pin)
    if pin is not None:
        record_pin(pin, Path(plan.environment.prefix), transaction)


def _build_wheel(plan: Plan, interpreter: Interpreter, workshop: ExecutionContext) -> BuildResult:
    brought = bring_headers(plan, workshop)
    ground = ProofContext(interpreter=interpreter, cpu=workshop.cpu, reference=get_required_step(plan, Prove).reference)
    return make_proven(
        get_required_step(plan, Build), lambda step: make_wheel(step, interpreter, brought, workshop), ground, workshop
    )


@contextmanager
def _explain_system_errors(prefix: Path) -> Iterator[None]:
    """What the system refuses (a full disk, a quota) is a failure like others: all is undone by then."""
    try:
        yield
    except BrokenPipeError:  # nobody listens any more: not a matter of disks
        raise
    except OSError as error:
        raise FailedError(files.reason(error, prefix), hint=files.advice(error, prefix)) from error


@contextmanager
def _hold_environment_place(plan: Plan) -> Iterator[None]:
    """The directory of an environment that is to be made, for its lock."""
    step = step_of(plan, CreateEnvironment)
    made = None
    try:
        with signals.defer_signals():
            made = make_place(step) if step is not None else None
        yield
    except BaseException:
        if made is not None:
            leave_place(made)
        raise


@contextmanager
def _create_environment(plan: Plan) -> Iterator[None]:
    step = step_of(plan, CreateEnvironment)
    if step is None:
        yield
        return
    begun = False
    try:
        with signals.defer_signals():
            begin_creation(step, make_stamp().at)
            begun = True
        create_environment(step)
        yield
    except BaseException:
        if begun:
            undo_creation(step)
        raise
    end_creation(step)


def receipt_for(plan: Plan, staged: StagedStack, before: Facts, stamp: Stamp) -> Receipt:
    """The receipt of a transaction.

    Args:
        plan: what was carried out.
        staged: what came in.
        before: the target as it was.
        stamp: the transaction's identity.
    """
    step = get_required_step(plan, Build)
    artefact = step.source or step.prebuilt
    owners = [f"{owner.distribution.name} {owner.distribution.version}" for owner in before.stack.owners]
    return Receipt(
        id=stamp.id,
        created_at=stamp.at,
        tool_version=__version__,
        environment=plan.environment,
        wish=replace(plan.wish, upgrade=False),  # it has been answered, and a repair must not ask again
        recipe=step.recipe,
        source_version=artefact.version if artefact is not None else "",
        distribution=step.distribution,
        version=step.version,
        metadata=staged.tree.metadata,
        levels=step.levels,
        kernels=staged.origin.kernels,
        left_out=staged.origin.left_out,
        link=step.link,
        wheel=staged.built.wheel.name,
        wheel_sha256=staged.built.sha256,
        python_version=before.interpreter.version,
        core=staged.core,
        stack_version=staged.stack_version,
        features=staged.runtime.features,
        speed=staged.speed,
        previous=", ".join(owners),
        engine=_engine(plan),
        conda=staged.tree.linked.stack if staged.tree.linked is not None else None,
    )


def find_loaded_jpeg(facts: Facts) -> LoadedLibrary | None:
    """The libjpeg that the core in place resolves to."""
    libraries = facts.stack.core.libraries if facts.stack.core is not None else ()
    return next((library for library in libraries if library.is_called_libjpeg), None)


def _engine(plan: Plan) -> CondaInstaller:
    making = step_of(plan, MakeCondaPackages)
    return making.engine if making is not None else CondaInstaller.PIP


def refuse_errors(findings: Iterable[Finding]) -> None:
    """Raise where a check says that the swap went wrong; the caller undoes it.

    Raises:
        FailedError: names each finding.
    """
    wrong = [finding for finding in findings if finding.status.gravity >= Status.ERROR.gravity]
    if wrong:
        raise FailedError(
            "the environment is not healthy after the swap, so the swap was undone",
            hint="report it with the output of: fastinstall inspect --redact",
            details=tuple(f"{finding.check}: {finding.message}" for finding in wrong),
        )
