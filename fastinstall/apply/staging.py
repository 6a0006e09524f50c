"""Stage what was built beside the target, use it there and time it: everything up to the swap.

- The staged build is timed against what it replaces, once for the same two builds on the same CPU.
- `swap_moves` lists the renames that put a staged tree in place and move aside what it replaces.
- PIL and its directory of libraries are two entries, which no kernel exchanges in one step. So the arriving libraries
  are first put beside the present ones, file by file; then PIL is exchanged, then the directory. Between the two
  renames both the old and the staged PIL find their libraries.
"""

import hashlib
import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path, PurePath

from fastinstall.conda.stage import LinkedPackages, link_packages, stage_registration
from fastinstall.core import files, foreign
from fastinstall.core.errors import DocumentError, FailedError, RefusedError
from fastinstall.core.events import Noted, Started
from fastinstall.core.messages import quote
from fastinstall.core.parsing import json_data
from fastinstall.core.values import document, dump, immutable, open_document
from fastinstall.index.execution import ExecutionContext, get_required_step, step_of
from fastinstall.journal.transaction import Transaction
from fastinstall.model.facts import Facts, InstalledStack, Runtime
from fastinstall.model.plan import Plan
from fastinstall.model.receipt import BuiltCore, Move, MoveKind, SpeedTable
from fastinstall.model.recipe import LIBRARIES
from fastinstall.model.request import Risk
from fastinstall.model.steps import Build, InstallGuard, MakeCondaPackages, Prove
from fastinstall.observe.guard_files import guard_target, stage_guard
from fastinstall.proof.stack_operations import (
    MeasuredPil,
    MeasurementConditions,
    ProvenStack,
    TimingEffort,
    measure,
    prove,
    refuse_lost_features,
    unpack_official_wheel,
)
from fastinstall.wheelbuild.build_inputs import BuildResult
from fastinstall.wheelbuild.wheel_files import MergeSources, describe_core, origin_of, stack_version, stage_wheel


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
class StagedStack:
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
    origin: MergeSources


def stage_stack(
    plan: Plan, built: BuildResult, transaction: Transaction, before: Facts, workshop: ExecutionContext
) -> StagedStack:
    """Unpack or link it, run real operations on it, and time it against what is in place.

    Raises:
        FailedError: it does not work, computes something else than it should, or lacks a feature that is in use.
    """
    interpreter = before.interpreter
    tree = _tree(plan, built, transaction, before, workshop)
    stage = tree.site_packages
    core = describe_core(stage, interpreter, workshop.recipe.expect.symbols)
    proof = get_required_step(plan, Prove)
    runtime = prove(stage, _subject(proof, built, before), Path(interpreter.executable), workshop)
    allowed = Risk.FEATURE_LOSS in plan.wish.allow
    if before.runtime is not None:
        refuse_lost_features(before.runtime.features, runtime.features, allowed=allowed)
    speed = _measure_stage_speed(plan, built, stage, before, workshop)
    version = stack_version(stage)
    if step_of(plan, InstallGuard) is not None:
        stage_guard(stage, guard_target(stage, core, version), Path(interpreter.executable))
    return StagedStack(
        tree=tree,
        built=built,
        runtime=runtime,
        core=core,
        stack_version=version,
        speed=speed,
        origin=origin_of(stage, tree.metadata),
    )


def _tree(
    plan: Plan, built: BuildResult, transaction: Transaction, before: Facts, workshop: ExecutionContext
) -> StagedTree:
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


def _subject(proof: Prove, built: BuildResult, before: Facts) -> ProvenStack:
    return ProvenStack(
        wheel_sha256=built.sha256,
        reference=proof.reference,
        python=f"{before.interpreter.version} {before.interpreter.abi}",
        cpu=before.cpu.name,
        level=before.cpu.level,
    )


def _measure_stage_speed(
    plan: Plan, built: BuildResult, stage: Path, before: Facts, workshop: ExecutionContext
) -> SpeedTable | None:
    proof, python = get_required_step(plan, Prove), Path(before.interpreter.executable)
    if not proof.timed:
        return None
    after = MeasuredPil(label=_label(plan), python=python, stage=stage)
    if proof.baseline is not None:
        official = MeasuredPil(
            label=f"pillow {proof.baseline.version} (wheel)",
            python=python,
            stage=unpack_official_wheel(proof.baseline, workshop),
        )
        identity = f"{proof.baseline.sha256} {built.sha256}"
        return measure_speed(official, after, identity, before, workshop)
    core = before.stack.core
    if core is None or core.sha256 == "":
        return None
    in_place = MeasuredPil(label=f"pillow {before.stack.version} (in place)", python=python)
    return measure_speed(in_place, after, f"{core.sha256} {built.sha256}", before, workshop)


def _label(plan: Plan) -> str:
    step = get_required_step(plan, Build)
    return f"{step.distribution} {step.version}"


def measure_speed(
    before: MeasuredPil, after: MeasuredPil, identity: str, facts: Facts, workshop: ExecutionContext
) -> SpeedTable | None:
    """A speed table of two stacks.

    Args:
        before: what is replaced.
        after: what replaces it.
        identity: what tells these two builds from all others.
        facts: of the environment that it is measured for.
        workshop: tools.

    Returns:
        None where "before" cannot be measured, which is no reason not to replace it.
    """
    cpu = facts.cpu.name
    key = hashlib.sha256(f"{identity} {cpu} {before.label} {after.label}".encode()).hexdigest()
    kept = workshop.cache / "speed" / f"{key}.json"
    known = _read(kept)
    if known is not None:
        return replace(known, reused=True)
    workshop.emit(Started(stage="measure", message=f"timing {after.label} against {before.label}"))
    measured_at = workshop.now.isoformat(timespec="seconds")
    circumstances = MeasurementConditions(
        cpu=cpu, measured_at=measured_at, variables=workshop.variables, emit=workshop.emit
    )
    try:
        table = measure(before, after, TimingEffort(), circumstances)
    except FailedError as error:
        workshop.emit(Noted(message=f"not timed: {error.message}", warning=True))
        return None
    table = replace(table, python=facts.interpreter.version, prefix=str(facts.environment.prefix))
    files.write_text(kept, dump(document("speed", table)))
    return table


def _read(path: Path) -> SpeedTable | None:
    try:
        return open_document(SpeedTable, "speed", json_data(foreign.read_text(path)), file=path)
    except (OSError, ValueError, DocumentError):
        return None  # not there, or of another time: it is measured again


def bridge(coming: Path, there: Path, space: Path) -> Iterator[str]:
    """Lay out what comes and is not there, each entry ready to be renamed into its place.

    The files are links to those that come, or copies where links cannot be made.

    Args:
        coming: a directory.
        there: the one that it will take the place of.
        space: a directory for the entries, on the same filesystem; made where it is needed.

    Yields:
        Their paths, relative to all three.

    Raises:
        OSError: as the kernel says.
    """
    for path in sorted(coming.iterdir()):
        stands = there / path.name
        if not os.path.lexists(stands):
            space.mkdir(parents=True, exist_ok=True)
            _link(path, space / path.name)
            yield path.name
        elif _is_directory(path) and _is_directory(stands):
            yield from (f"{path.name}/{inner}" for inner in bridge(path, stands, space / path.name))


def _link(source: Path, target: Path) -> None:
    if _is_directory(source):
        target.mkdir()
        for path in sorted(source.iterdir()):
            _link(path, target / path.name)
        target.chmod(stat.S_IMODE(source.stat().st_mode))
        return
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:  # no filesystem has to know links
        files.copy(source, target)


def _is_directory(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


_BRIDGE = "aside/bridge"


@immutable
class SitePackagesSwap:
    """What changes place in site-packages.

    Attributes:
        prefix: the environment.
        site_packages: of the environment.
        staged: what comes in, laid out as site-packages.
        kept: where `staged` lies, relative to the transaction's directory.
        leaving: further top-level names that make room.
    """

    prefix: Path
    site_packages: Path
    staged: Path
    kept: str = "stage"
    leaving: tuple[str, ...] = ()


def swap_moves(exchange: SitePackagesSwap, stack: InstalledStack) -> tuple[Move, ...]:
    """The moves, in an order in which PIL works after each of them where there was one before.

    What comes in and is there already is exchanged in one step; what only goes is moved aside;
    what only comes is moved in, libraries before the PIL that needs them.

    Args:
        exchange: what comes in, and where.
        stack: the PIL that is there.

    Raises:
        RefusedError: site-packages lies outside the prefix, or a foreign file stands in the way.
    """
    prefix, site_packages = exchange.prefix, exchange.site_packages
    names = sorted(path.name for path in exchange.staged.iterdir())
    incoming = sorted(names, key=lambda name: _urgency(name, site_packages))
    replaced = sorted({*_list_replaced(stack), *exchange.leaving})
    _refuse_foreign(site_packages, incoming, replaced)
    site = site_packages.relative_to(prefix)
    coming = [_make_arrival(exchange, site, name) for name in incoming]
    leaving = [
        Move(kind=MoveKind.OUT, live=str(site / name), kept=f"aside/{name}")
        for name in replaced
        if name not in incoming and os.path.lexists(site_packages / name)
    ]
    outside = [
        Move(kind=MoveKind.OUT, live=os.path.relpath(site_packages / path, prefix), kept=f"aside/outside/{number}")
        for number, path in enumerate(path for owner in stack.owners for path in owner.outside)
        if os.path.lexists(site_packages / path)
    ]
    return (*_guests(exchange, site, incoming), *coming, *leaving, *outside)


def _urgency(name: str, site_packages: Path) -> int:
    """A PIL that comes finds its libraries there, and they change place with others after it has (`bridge`)."""
    if name in LIBRARIES:
        return 2 if os.path.lexists(site_packages / name) else 0
    return 1 if name == "PIL" else 3


def _guests(exchange: SitePackagesSwap, site: Path, incoming: Iterable[str]) -> Iterator[Move]:
    """Libraries that are let in beside those that are there, until these go."""
    work = exchange.staged.parents[len(PurePath(exchange.kept).parts) - 1]
    if not (exchange.site_packages / "PIL").is_dir():
        return
    for name in incoming:
        there = exchange.site_packages / name
        if name in LIBRARIES and there.is_dir() and not there.is_symlink():
            for path in bridge(exchange.staged / name, there, work / _BRIDGE / name):
                yield Move(kind=MoveKind.IN, live=str(site / name / path), kept=f"{_BRIDGE}/{name}/{path}")


def _make_arrival(exchange: SitePackagesSwap, site: Path, name: str) -> Move:
    there = os.path.lexists(exchange.site_packages / name)
    kind = MoveKind.EXCHANGE if there else MoveKind.IN
    return Move(kind=kind, live=str(site / name), kept=f"{exchange.kept}/{name}")


def _list_replaced(stack: InstalledStack) -> list[str]:
    owned = [entry for owner in stack.owners for entry in owner.entries]
    directory = [stack.directory.name] if stack.directory is not None else []
    return [*owned, *directory, *stack.debris]


def _refuse_foreign(site_packages: Path, incoming: Iterable[str], replaced: Iterable[str]) -> None:
    # A Pillow's own still where its RECORD, or all its metadata, was lost.
    known = {*replaced, *LIBRARIES, "_fastinstall_guard", "fastinstall_guard.pth", "fastinstall_guard.start"}
    for name in incoming:
        if name not in known and os.path.lexists(site_packages / name):
            raise RefusedError(
                f"{site_packages / name} is in the way, and no Pillow's RECORD names it",
                hint=f"look at it, then move it away: mv {quote(site_packages / name)} /somewhere/else",
            )
