"""Carry out a plan: build, observe, stage, swap, verify, commit; undo if anything fails.

The order is the guarantee: the environment is never without a working PIL, and a failure before or after the swap
leaves it as it was. What each kind of step does stands in `steps`; here stands when.

The result of the swap is judged by doctor's own checks, and the receipt puts the setup on record.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from fastinstall import __version__
from fastinstall.apply.exclusive import ForeignChangeWatch, hold_environment_lock
from fastinstall.apply.proven_wheel import build_and_prove, fetch_sources
from fastinstall.conda.history_file import record_revision
from fastinstall.core.codec import document
from fastinstall.core.errors import RefusedError
from fastinstall.core.events import Noted, Started
from fastinstall.core.messages import listing
from fastinstall.core.refused_writes import explain_refusal
from fastinstall.core.values import immutable
from fastinstall.doctor.registry import judge_facts
from fastinstall.elf.description import LoadedLibrary
from fastinstall.index.execution import ExecutionContext
from fastinstall.journal.stamp import Stamp, make_stamp
from fastinstall.journal.store import JournalStore
from fastinstall.journal.transaction import Transaction, begin
from fastinstall.model.conda import CondaInstaller
from fastinstall.model.facts import Facts, Interpreter, Runtime
from fastinstall.model.receipt import BuiltCore, Receipt
from fastinstall.model.request import Risk
from fastinstall.model.speed import SpeedTable
from fastinstall.observe.guard_files import GUARD_ENTRIES
from fastinstall.observe.interpreter import observe_interpreter
from fastinstall.observe.observation import Binaries, ObservationRequest, facts_of
from fastinstall.observe.session import Session
from fastinstall.plan.plan import Plan
from fastinstall.proof.stack_operations import refuse_lost_features
from fastinstall.proof.timing import MeasuredPil
from fastinstall.steps.build import Build
from fastinstall.steps.change_conda_packages import ChangeCondaPackages
from fastinstall.steps.create_environment import CreateEnvironment
from fastinstall.steps.install_guard import InstallGuard
from fastinstall.steps.kinds import Recording, Step, find_step, get_required_step
from fastinstall.steps.make_conda_packages import MakeCondaPackages
from fastinstall.steps.prove import Prove
from fastinstall.steps.swap import Swap
from fastinstall.steps.verify import Verify, refuse_errors
from fastinstall.wheelbuild.build_inputs import BuildResult
from fastinstall.wheelbuild.staged_tree import describe_core, read_left_out, stack_version
from fastinstall.wheelbuild.staging import compile_meanwhile, stage_wheel

if TYPE_CHECKING:
    from fastinstall.conda.stage import LinkedPackages


@immutable
class _Work:
    """What is at hand while a plan is carried out.

    Attributes:
        plan: what is carried out.
        context: what builds, fetches and installs, and where the cache lies.
        session: by which the target is looked at and judged.
        observing: what is looked at before the swap: files, and PIL in use.
        watch: notices other programs' changes to the stack.
        interpreter: the target's Python, asked before anything was built.
        before: what the target was.
    """

    plan: Plan
    context: ExecutionContext
    session: Session
    observing: ObservationRequest
    watch: ForeignChangeWatch
    interpreter: Interpreter
    before: Facts

    @property
    def prefix(self) -> Path:
        """Of the environment."""
        return Path(self.plan.environment.prefix)


@immutable
class StagedTree:
    """What comes in, laid out: as site-packages alone, or as conda packages, linked.

    Attributes:
        site_packages: what Python will look at.
        metadata: the name of the stack's `.dist-info` directory.
        linked: the conda packages, or None if the stack is a wheel.
    """

    site_packages: Path
    metadata: str
    linked: "LinkedPackages | None" = None


@immutable
class StagedStack:
    """What is ready to be swapped in, and what became of it when it was used.

    Attributes:
        tree: where its files lie, outside the environment so far.
        built: the wheel that it is made of.
        runtime: what happened when it was imported and used.
        core: the imaging core in that tree, for the receipt.
        stack_version: the version that `PIL/_version.py` has.
        speed: before and after, or None if it was not timed.
        left_out: kernels that the wheel says it goes without.
    """

    tree: StagedTree
    built: BuildResult
    runtime: Runtime
    core: BuiltCore
    stack_version: str
    speed: SpeedTable | None
    left_out: tuple[str, ...]


def execute_plan(plan: Plan, context: ExecutionContext, session: Session) -> tuple[Receipt, Facts]:
    """Carry out a plan that was consented to.

    Args:
        plan: consented to; its steps are carried out in the order of their stages.
        context: what builds, fetches and installs, and where the cache lies.
        session: by which the target is looked at and judged.

    Returns:
        The receipt as it was committed, and the target as it was verified, with its transaction still open.

    Raises:
        FailedError: something failed; the environment is as it was.
        RefusedError: locked by a running one, or something foreign is in the way; as it was.
        EnvironmentDamagedError: something failed, and could not be undone.
    """
    prefix = Path(plan.environment.prefix)
    create = find_step(plan.steps, CreateEnvironment)
    if create:
        context.emit(Started(stage="environment", message=f"making the virtual environment {prefix}"))
    with (
        _explain_system_errors(prefix, context.cache),
        create.hold_place() if create else nullcontext(),
        hold_environment_lock(prefix),
        create.create(make_stamp().at, partial(fetch_sources, plan.steps, context)) if create else nullcontext(),
    ):
        interpreter = observe_interpreter(Path(plan.environment.python))
        watch = _watch_environment(plan, interpreter)
        built = None if _builds_upon_changes(plan.steps) else build_and_prove(plan.steps, interpreter, context)
        observing = ObservationRequest(recipe=context.recipe, runtime=True, interpreter=interpreter)
        before = _observe_replaced(plan, session, observing, watch)
        if built is not None:
            _refuse_harmful_records(plan.steps, built, before, context)
        work = _Work(
            plan=plan,
            context=context,
            session=session,
            observing=observing,
            watch=watch,
            interpreter=interpreter,
            before=before,
        )
        stamp, store = make_stamp(), JournalStore(prefix)
        with (
            begin(store, document("plan", plan), site_packages=interpreter.site_packages, stamp=stamp) as transaction,
            _explain_system_errors(prefix, context.cache),  # again: the transaction knows of no place but the prefix
        ):
            staged = _stage_stack(work, built, transaction)
            _swap_stack(work, staged.tree, transaction)
            with watch.require_unchanged(context.emit):
                _write_records(work, staged, transaction)
                receipt, after = _verify_result(work, staged, stamp)
            transaction.commit(receipt)
        context.emit(Noted(message=f"the files were replaced in {transaction.window_ns / 1e6:.2f} ms", detail=True))
        return receipt, after


def _observe_replaced(plan: Plan, session: Session, observing: ObservationRequest, watch: ForeignChangeWatch) -> Facts:
    """Look at what will be replaced, after the build: it may have taken minutes, in which others could change it."""
    before = facts_of(session, plan.environment, observing)
    watch.refuse_changes()
    _refuse_other_owners(plan, before)
    return before


def _refuse_harmful_records(
    steps: Iterable[Step], built: BuildResult, before: Facts, context: ExecutionContext
) -> None:
    """Find out what would make the last steps fail, before anything is touched."""
    for step in steps:
        if isinstance(step, Recording):
            step.refuse_harm(built.wheel, before, context)


def _stage_stack(work: _Work, built: BuildResult | None, transaction: Transaction) -> StagedStack:
    """Stage what comes in; where nothing is built yet, after the changes that the build needs."""
    if built is None:
        _change_others(work, transaction)
        return _stage_wheel(work, build_and_prove(work.plan.steps, work.interpreter, work.context), transaction)
    staged = _stage_wheel(work, built, transaction)
    _change_others(work, transaction)
    return staged


def _stage_wheel(work: _Work, built: BuildResult, transaction: Transaction) -> StagedStack:
    """Unpack or link it, run real operations on it, and time it against what is in place.

    Raises:
        FailedError: it does not work, computes something else than it should, or lacks a feature that is in use.
    """
    plan, before, context = work.plan, work.before, work.context
    tree = _lay_out_tree(work, built, transaction)
    stage, python = tree.site_packages, Path(before.interpreter.executable)
    proof, version = get_required_step(plan.steps, Prove), stack_version(stage)
    with compile_meanwhile(stage, before.interpreter) if tree.linked is None else nullcontext():
        core = describe_core(stage, before.interpreter, context.recipe.expect.symbols)
        runtime = proof.run_operations(stage, built, before, context)
    if before.runtime is not None:
        allowed = Risk.FEATURE_LOSS in plan.request.allow
        refuse_lost_features(before.runtime.features, runtime.features, allowed=allowed)
    build = get_required_step(plan.steps, Build)
    ours = MeasuredPil(label=f"{build.distribution} {build.version}", python=python, stage=stage)
    speed = proof.time(ours, built, before, context)
    guard = find_step(plan.steps, InstallGuard)
    if guard is not None:
        guard.stage(stage, core, version, python)
    return StagedStack(
        tree=tree,
        built=built,
        runtime=runtime,
        core=core,
        stack_version=version,
        speed=speed,
        left_out=read_left_out(stage, tree.metadata),
    )


def _lay_out_tree(work: _Work, built: BuildResult, transaction: Transaction) -> StagedTree:
    """Unpack the wheel, or have it linked as conda packages."""
    making = find_step(work.plan.steps, MakeCondaPackages)
    if making is None:
        work.context.emit(Started(stage="stage", message=f"staging {built.wheel.name}"))
        ours = built.sha256 if get_required_step(work.plan.steps, Build).prebuilt is None else ""
        metadata = stage_wheel(built.wheel, transaction.stage, work.before.interpreter, ours)
        return StagedTree(site_packages=transaction.stage, metadata=metadata)
    linked = making.link(built, work.before, transaction, work.context)
    return StagedTree(site_packages=linked.site_packages, metadata=linked.metadata, linked=linked)


def _swap_stack(work: _Work, tree: StagedTree, transaction: Transaction) -> None:
    """Rename, unless what is replaced is not what was observed."""
    work.context.emit(Started(stage="swap", message="replacing the files"))
    linked = tree.linked.root if tree.linked is not None else None
    moves = get_required_step(work.plan.steps, Swap).list_moves(tree.site_packages, linked, work.before)
    work.watch.refuse_changes()
    transaction.perform(moves)
    work.watch.accept_changes()


def _verify_result(work: _Work, staged: StagedStack, stamp: Stamp) -> tuple[Receipt, Facts]:
    """Return the receipt, if doctor's checks find no error, and what they looked at."""
    work.context.emit(Started(stage="verify", message="running doctor's checks on it"))
    deeply = replace(work.observing, binaries=Binaries.DECODED)
    after = facts_of(work.session, work.plan.environment, deeply)
    receipt = replace(make_receipt(work.plan, staged, work.before, stamp), jpeg=find_loaded_jpeg(after))
    checks = get_required_step(work.plan.steps, Verify).checks
    refuse_errors(judge_facts(work.session, after, receipt, work.context.recipe, checks).findings)
    return receipt, after


def _watch_environment(plan: Plan, interpreter: Interpreter) -> ForeignChangeWatch:
    swap = get_required_step(plan.steps, Swap)
    names = (*swap.entries, swap.installs, *GUARD_ENTRIES)
    return ForeignChangeWatch(Path(plan.environment.prefix), Path(interpreter.site_packages), names)


def _refuse_other_owners(plan: Plan, before: Facts) -> None:
    """Consent was given to replace what the plan names, and nothing else."""
    planned = set(get_required_step(plan.steps, Swap).removes)
    found = {owner.distribution.metadata for owner in before.stack.owners}
    if planned != found:
        there, then = (listing(sorted(names)) or "no Pillow" for names in (found, planned))
        message = f"{plan.environment.prefix}: {there} is there now, but the plan was made for {then}"
        raise RefusedError(message, hint="make a new plan: fastinstall plan")


def _builds_upon_changes(steps: Iterable[Step]) -> bool:
    """Return whether other packages come first, because the build links them (`--link env`)."""
    kinds = [type(step) for step in steps]
    changes = ChangeCondaPackages in kinds and Build in kinds
    return changes and kinds.index(ChangeCondaPackages) < kinds.index(Build)


def _change_others(work: _Work, transaction: Transaction) -> None:
    """Have other packages changed, step by step: the order decides who has a file that several claim."""
    for step in work.plan.steps:
        if isinstance(step, ChangeCondaPackages):
            work.watch.refuse_changes()
            step.change_packages(work.prefix, transaction, work.context)
            work.watch.accept_changes()


def _write_records(work: _Work, staged: StagedStack, transaction: Transaction) -> None:
    """Tell conda's history what came and went, and pin the stack where that is requested."""
    conda, linked = work.before.conda, staged.tree.linked
    if linked is not None and conda is not None:
        records = get_required_step(work.plan.steps, Swap).records
        record_revision(linked.stack, records, conda, work.context.now, transaction)
    for step in work.plan.steps:
        if isinstance(step, Recording):
            step.write(staged.built.wheel, work.prefix, transaction)


@contextmanager
def _explain_system_errors(prefix: Path, cache: Path) -> Iterator[None]:
    """Turn what the system refuses (a full disk, a quota) into a failure like others, that of the cache no less."""
    try:
        yield
    except BrokenPipeError:  # nobody listens any more: not a matter of disks
        raise
    except OSError as error:
        raise explain_refusal(error, cache, (prefix,)) from error


def make_receipt(plan: Plan, staged: StagedStack, before: Facts, stamp: Stamp) -> Receipt:
    """Make the receipt of a transaction.

    Args:
        plan: what was carried out.
        staged: the stack that was swapped in.
        before: the target as it was.
        stamp: identifier and time of the transaction.
    """
    step = get_required_step(plan.steps, Build)
    artefact = step.source or step.prebuilt
    making = find_step(plan.steps, MakeCondaPackages)
    owners = [f"{owner.distribution.name} {owner.distribution.version}" for owner in before.stack.owners]
    return Receipt(
        id=stamp.id,
        created_at=stamp.at,
        tool_version=__version__,
        environment=plan.environment,
        request=replace(plan.request, upgrade=False),  # it has been answered, and a repair must not ask again
        recipe=step.recipe,
        source_version=artefact.version if artefact is not None else "",
        distribution=step.distribution,
        version=step.version,
        metadata=staged.tree.metadata,
        levels=step.levels,
        left_out=staged.left_out,
        link=step.link,
        wheel=staged.built.wheel.name,
        wheel_sha256=staged.built.sha256,
        python_version=before.interpreter.version,
        core=staged.core,
        stack_version=staged.stack_version,
        features=staged.runtime.features,
        speed=staged.speed,
        previous=", ".join(owners),
        engine=making.engine if making is not None else CondaInstaller.PIP,
        conda=staged.tree.linked.stack if staged.tree.linked is not None else None,
    )


def find_loaded_jpeg(facts: Facts) -> LoadedLibrary | None:
    """Return the libjpeg that the core in place resolves to."""
    libraries = facts.stack.core.libraries if facts.stack.core is not None else ()
    return next((library for library in libraries if library.is_called_libjpeg), None)
