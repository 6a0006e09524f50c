"""Stage what was built beside the target, use it there, and time it: everything short of the swap."""

from pathlib import Path

from fastinstall.actions.conda_stage import LinkedPackages, link_packages, stage_registration
from fastinstall.actions.measure import measured
from fastinstall.actions.origin import Origin, origin_of
from fastinstall.actions.prove import Subject, prove, refuse_lost_features, unpacked
from fastinstall.actions.stage import describe_core, stack_version, stage_wheel
from fastinstall.actions.steps import required_step, step_of
from fastinstall.actions.workshop import Workshop
from fastinstall.bench.measure import Contender
from fastinstall.build.request import BuildResult
from fastinstall.guard.install import guard_target, stage_guard
from fastinstall.journal.transaction import Transaction
from fastinstall.model.event import Started
from fastinstall.model.facts import Facts, Runtime
from fastinstall.model.immutable import immutable
from fastinstall.model.plan import Plan
from fastinstall.model.receipt import BuiltCore, SpeedTable
from fastinstall.model.steps import Build, InstallGuard, MakeCondaPackages, Prove
from fastinstall.model.wish import Risk


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
    linked: LinkedPackages | None = None


@immutable
class Staged:
    """What is ready to be swapped in, and what became of it when it was used.

    Attributes:
        tree: where it lies.
        built: the wheel that it is made of.
        runtime: what happened when it was imported and used.
        core: the imaging core.
        stack_version: what `PIL/_version.py` says.
        speed: before and after, or None if it was not timed.
        origin: what the wheel says of its own making.
    """

    tree: StagedTree
    built: BuildResult
    runtime: Runtime
    core: BuiltCore
    stack_version: str
    speed: SpeedTable | None
    origin: Origin


def stage_stack(plan: Plan, built: BuildResult, transaction: Transaction, before: Facts, workshop: Workshop) -> Staged:
    """Unpack or link it, run real operations on it, and time it against what is in place.

    Raises:
        FailedError: it does not work, computes something else than it should, or lacks a feature that is in use.
    """
    interpreter = before.interpreter
    tree = _tree(plan, built, transaction, before, workshop)
    stage = tree.site_packages
    core = describe_core(stage, interpreter, workshop.recipe.expect.symbols)
    proof = required_step(plan, Prove)
    runtime = prove(stage, _subject(proof, built, before), Path(interpreter.executable), workshop)
    allowed = Risk.FEATURE_LOSS in plan.wish.allow
    if before.runtime is not None:
        refuse_lost_features(before.runtime.features, runtime.features, allowed=allowed)
    speed = _speed(plan, built, stage, before, workshop)
    version = stack_version(stage)
    if step_of(plan, InstallGuard) is not None:
        stage_guard(stage, guard_target(stage, core, version), Path(interpreter.executable))
    return Staged(
        tree=tree,
        built=built,
        runtime=runtime,
        core=core,
        stack_version=version,
        speed=speed,
        origin=origin_of(stage, tree.metadata),
    )


def _tree(plan: Plan, built: BuildResult, transaction: Transaction, before: Facts, workshop: Workshop) -> StagedTree:
    """Unpack the wheel, or have it linked as conda packages."""
    making = step_of(plan, MakeCondaPackages)
    if making is None:
        workshop.emit(Started(stage="stage", message=f"staging {built.wheel.name}"))
        metadata = stage_wheel(built.wheel, transaction.stage, before.interpreter)
        return StagedTree(site_packages=transaction.stage, metadata=metadata)
    linked = link_packages(making, built, before.interpreter, transaction, workshop)
    if before.conda is not None:
        stage_registration(linked.root, Path(plan.environment.prefix), before.conda)
    return StagedTree(site_packages=linked.site_packages, metadata=linked.metadata, linked=linked)


def _subject(proof: Prove, built: BuildResult, before: Facts) -> Subject:
    return Subject(
        wheel_sha256=built.sha256,
        reference=proof.reference,
        python=f"{before.interpreter.version} {before.interpreter.abi}",
        cpu=before.cpu.name,
        level=before.cpu.level,
    )


def _speed(plan: Plan, built: BuildResult, stage: Path, before: Facts, workshop: Workshop) -> SpeedTable | None:
    proof, python = required_step(plan, Prove), Path(before.interpreter.executable)
    if not proof.timed:
        return None
    after = Contender(label=_label(plan), python=python, stage=stage)
    if proof.baseline is not None:
        official = Contender(
            label=f"pillow {proof.baseline.version} (wheel)", python=python, stage=unpacked(proof.baseline, workshop)
        )
        identity = f"{proof.baseline.sha256} {built.sha256}"
        return measured(official, after, identity, before, workshop)
    core = before.stack.core
    if core is None or core.sha256 == "":
        return None
    in_place = Contender(label=f"pillow {before.stack.version} (in place)", python=python)
    return measured(in_place, after, f"{core.sha256} {built.sha256}", before, workshop)


def _label(plan: Plan) -> str:
    step = required_step(plan, Build)
    return f"{step.distribution} {step.version}"
