"""Carry out a plan: prepare everything, then touch; verify; hold or undo.

The order is the promise: the environment is never without a working PIL, and whatever fails before
or after the swap leaves it as it was.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from fastinstall import __version__
from fastinstall.actions.build import bring_headers, make_wheel
from fastinstall.actions.conda_changes import change_conda_packages
from fastinstall.actions.conda_history import record_pin, record_revision
from fastinstall.actions.conda_stage import LinkedPackages, link_packages, stage_registration
from fastinstall.actions.conda_swap import claimed_entries, conda_moves
from fastinstall.actions.create_environment import create_environment, undo_creation
from fastinstall.actions.measure import measured
from fastinstall.actions.origin import Origin, origin_of
from fastinstall.actions.prove import Subject, prove, refuse_lost_features, unpacked
from fastinstall.actions.proven import Ground, make_proven
from fastinstall.actions.stage import describe_core, stack_version, stage_wheel
from fastinstall.actions.swap import Exchange, swap_moves
from fastinstall.actions.verify import refuse_errors
from fastinstall.actions.workshop import Workshop
from fastinstall.bench.measure import Contender
from fastinstall.build.request import BuildResult
from fastinstall.errors import FailedError
from fastinstall.guard.install import guard_target, stage_guard
from fastinstall.journal.stamp import Stamp, fresh_stamp
from fastinstall.journal.store import Store
from fastinstall.journal.transaction import Transaction, begin
from fastinstall.model.codec import document, kind_of
from fastinstall.model.conda import Conda, Engine
from fastinstall.model.core import Library
from fastinstall.model.event import Started
from fastinstall.model.facts import Facts, Interpreter, Runtime
from fastinstall.model.finding import Report
from fastinstall.model.immutable import immutable
from fastinstall.model.plan import (
    Build,
    ChangeCondaPackages,
    CreateEnvironment,
    InstallGuard,
    MakeCondaPackages,
    Pin,
    Plan,
    Prove,
    Step,
    Swap,
    Verify,
)
from fastinstall.model.receipt import BuiltCore, Move, Receipt, SpeedTable
from fastinstall.model.wish import Risk
from fastinstall.probes.interpreter import observe_interpreter
from fastinstall.rules.messages import quote
from fastinstall.system.lock import locked

S = TypeVar("S", bound=Step)


@immutable
class Observers:
    """How to look at the target, and how to judge it; handed in from above.

    Attributes:
        facts: observes the target as it is now.
        judge: runs doctor's checks by name on facts, against a receipt.
    """

    facts: Callable[[], Facts]
    judge: Callable[[Facts, Receipt, tuple[str, ...]], Report]


@immutable
class Done:
    """What a carried-out plan left.

    Attributes:
        receipt: as written.
        window_ns: how long the renames took, nanoseconds.
    """

    receipt: Receipt
    window_ns: int


@immutable
class _Tree:
    """What comes in, laid out: as site-packages alone, or as conda packages, linked."""

    site_packages: Path
    metadata: str
    linked: LinkedPackages | None = None


@immutable
class _Staged:
    tree: _Tree
    built: BuildResult
    runtime: Runtime
    core: BuiltCore
    stack_version: str
    speed: SpeedTable | None
    origin: Origin


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
    with begin(store, document("plan", plan), site_packages=interpreter.site_packages, stamp=stamp) as transaction:
        if built is None:
            _change_others(plan, transaction, workshop)
            built = _built(plan, interpreter, workshop)
            staged = _stage(plan, built, transaction, before, workshop)
        else:
            staged = _stage(plan, built, transaction, before, workshop)
            _change_others(plan, transaction, workshop)
        workshop.emit(Started(stage="swap", message="swapping it in"))
        transaction.perform(_moves(plan, staged.tree, store.prefix, before))
        _write_down(plan, staged.tree, transaction, before.conda, workshop)
        workshop.emit(Started(stage="verify", message="running doctor's checks on it"))
        after = observers.facts()
        receipt = replace(_receipt(plan, staged, before, stamp), jpeg=_jpeg(after))
        refuse_errors(observers.judge(after, receipt, _only(plan, Verify).checks).findings)
        transaction.commit(receipt)
    return Done(receipt=receipt, window_ns=transaction.window_ns)


def _moves(plan: Plan, tree: _Tree, prefix: Path, before: Facts) -> tuple[Move, ...]:
    """Every rename of the swap, those that Python notices first."""
    swap, site_packages = _only(plan, Swap), Path(before.interpreter.site_packages)
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
    step = _maybe(plan, ChangeCondaPackages)
    if step is None:
        return
    if workshop.engine is None:
        raise FailedError("the plan names no engine for conda packages", hint="make it again: fastinstall plan")
    change_conda_packages(step, workshop.engine, transaction, Path(plan.environment.prefix), workshop.emit)


def _write_down(plan: Plan, tree: _Tree, transaction: Transaction, conda: Conda | None, workshop: Workshop) -> None:
    """Tell conda's history what came and went, and pin it where that is wished."""
    if tree.linked is not None and conda is not None:
        record_revision(tree.linked.stack, _only(plan, Swap), conda, workshop.now, transaction)
    pin = _maybe(plan, Pin)
    if pin is not None:
        record_pin(pin, Path(plan.environment.prefix), transaction)


def _built(plan: Plan, interpreter: Interpreter, workshop: Workshop) -> BuildResult:
    brought = bring_headers(plan, workshop)
    ground = Ground(interpreter=interpreter, cpu=workshop.cpu, reference=_only(plan, Prove).reference)
    return make_proven(
        _only(plan, Build), lambda step: make_wheel(step, interpreter, brought, workshop), ground, workshop
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
    step = _maybe(plan, CreateEnvironment)
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


def _tree(plan: Plan, built: BuildResult, transaction: Transaction, before: Facts, workshop: Workshop) -> _Tree:
    """Unpack the wheel, or have it linked as conda packages."""
    making = _maybe(plan, MakeCondaPackages)
    if making is None:
        workshop.emit(Started(stage="stage", message=f"staging {built.wheel.name}"))
        metadata = stage_wheel(built.wheel, transaction.stage, before.interpreter)
        return _Tree(site_packages=transaction.stage, metadata=metadata)
    linked = link_packages(making, built, before.interpreter, transaction, workshop)
    if before.conda is not None:
        stage_registration(linked.root, Path(plan.environment.prefix), before.conda)
    return _Tree(site_packages=linked.site_packages, metadata=linked.metadata, linked=linked)


def _stage(plan: Plan, built: BuildResult, transaction: Transaction, before: Facts, workshop: Workshop) -> _Staged:
    interpreter = before.interpreter
    tree = _tree(plan, built, transaction, before, workshop)
    stage = tree.site_packages
    core = describe_core(stage, interpreter, workshop.recipe.expect.symbols)
    proof = _only(plan, Prove)
    runtime = prove(stage, _subject(proof, built, before), Path(interpreter.executable), workshop)
    allowed = Risk.FEATURE_LOSS in plan.wish.allow
    if before.runtime is not None:
        refuse_lost_features(before.runtime.features, runtime.features, allowed=allowed)
    speed = _speed(plan, built, stage, before, workshop)
    version = stack_version(stage)
    if _maybe(plan, InstallGuard) is not None:
        stage_guard(stage, guard_target(stage, core, version), Path(interpreter.executable))
    return _Staged(
        tree=tree,
        built=built,
        runtime=runtime,
        core=core,
        stack_version=version,
        speed=speed,
        origin=origin_of(stage, tree.metadata),
    )


def _subject(proof: Prove, built: BuildResult, before: Facts) -> Subject:
    return Subject(
        wheel_sha256=built.sha256,
        reference=proof.reference,
        python=f"{before.interpreter.version} {before.interpreter.abi}",
        cpu=before.cpu.name,
        level=before.cpu.level,
    )


def _speed(plan: Plan, built: BuildResult, stage: Path, before: Facts, workshop: Workshop) -> SpeedTable | None:
    proof, python = _only(plan, Prove), Path(before.interpreter.executable)
    if not proof.timed:
        return None
    after = Contender(label=_label(plan), python=python, stage=stage)
    if proof.baseline is not None:
        official = Contender(
            label=f"pillow {proof.baseline.version} (wheel)", python=python, stage=unpacked(proof.baseline, workshop)
        )
        identity = f"{proof.baseline.sha256} {built.sha256}"
        return measured(official, after, identity, before.cpu.name, workshop)
    core = before.stack.core
    if core is None or core.sha256 == "":
        return None
    in_place = Contender(label=f"pillow {before.stack.version} (in place)", python=python)
    return measured(in_place, after, f"{core.sha256} {built.sha256}", before.cpu.name, workshop)


def _receipt(plan: Plan, staged: _Staged, before: Facts, stamp: Stamp) -> Receipt:
    step = _only(plan, Build)
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


def _engine(plan: Plan) -> Engine:
    making = _maybe(plan, MakeCondaPackages)
    return making.engine if making is not None else Engine.PIP


def _jpeg(facts: Facts) -> Library | None:
    libraries = facts.stack.core.libraries if facts.stack.core is not None else ()
    return next((library for library in libraries if library.soname.startswith("libjpeg")), None)


def _label(plan: Plan) -> str:
    step = _only(plan, Build)
    return f"{step.distribution} {step.version}"


def _maybe(plan: Plan, kind: type[S]) -> S | None:
    return next((step for step in plan.steps if isinstance(step, kind)), None)


def _only(plan: Plan, kind: type[S]) -> S:
    step = _maybe(plan, kind)
    if step is None:
        raise FailedError(f"the plan has no step {kind_of(kind)!r}", hint="make it again: fastinstall plan")
    return step
