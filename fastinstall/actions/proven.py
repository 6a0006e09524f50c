"""Build, and prove what was merged before it may be installed; leave out what does not prove, and say so.

Nothing here touches the target: the wheel is unpacked into our cache, and run from there.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from fastinstall import __version__
from fastinstall.actions.prove import unpacked
from fastinstall.actions.workshop import Workshop
from fastinstall.build import cache
from fastinstall.build.request import BuildResult
from fastinstall.errors import DocumentError, UnprovenError
from fastinstall.model.artefact import Artefact
from fastinstall.model.codec import digest, document, dump, open_document
from fastinstall.model.cpu import Cpu
from fastinstall.model.event import Finished, Noted, Started
from fastinstall.model.facts import Interpreter
from fastinstall.model.immutable import immutable
from fastinstall.model.kernels import Kernels
from fastinstall.model.parsing import json_data
from fastinstall.model.proof import Proof, ProofStatus, ProofSubject, failed_operations
from fastinstall.model.steps import Build
from fastinstall.rules.levels import rank, tunable_for
from fastinstall.rules.messages import listing
from fastinstall.rules.parts import guilty_parts
from fastinstall.system import files, foreign

if TYPE_CHECKING:
    from fastinstall.proof.quick import Trial
    from fastinstall.proof.runs import Stack

Make = Callable[[Build], BuildResult]


@immutable
class Ground:
    """Where a proof runs.

    Attributes:
        interpreter: the target's Python.
        cpu: as it shows itself, for what runs on it and how it rounds.
        reference: the official wheel of the same version, or None if there is none.
    """

    interpreter: Interpreter
    cpu: Cpu
    reference: Artefact | None


def make_proven(step: Build, make: Make, ground: Ground, workshop: Workshop) -> BuildResult:
    """Make the wheel; where the recipe merges, prove it, and make it again without the parts that fail.

    Args:
        step: what to build.
        make: makes a wheel of a step.
        ground: where it is proven.
        workshop: tools.

    Raises:
        UnprovenError: it does not compile or prove, and no part of the fork is to blame that could be left out.
        FailedError: it could not be built.
    """
    kernels = workshop.recipe.kernels
    if kernels is None:
        return make(step)
    while True:
        try:
            built = make(step)
            _require_proof(step, built, ground, workshop)
        except UnprovenError as error:
            step = _without_guilty(step, kernels, error, workshop)
        else:
            return built


def subject_of(step: Build, built: BuildResult, ground: Ground) -> ProofSubject:
    """What is proven: a build, on the levels that this machine can run."""
    interpreter = ground.interpreter
    here = rank(ground.cpu.level)
    runnable = tuple(level for level in step.levels if not rank(level) or not here or rank(level) <= here)
    return ProofSubject(
        wheel_sha256=built.sha256,
        reference_sha256=ground.reference.sha256 if ground.reference is not None else "",
        python=f"{interpreter.version} {interpreter.abi}",
        cpu=ground.cpu.name,
        levels=runnable,
    )


def trial_of(subject: ProofSubject, tree: Path, ground: Ground, workshop: Workshop) -> "Trial":
    """What is put to the proof: every level of an unpacked build, beside the official wheel."""
    from fastinstall.proof.quick import Trial  # noqa: PLC0415 (not where the proof is on record)

    return Trial(
        subject=subject,
        levels=tuple(_stacks(subject.levels, _stack("", tree, ground, workshop))),
        reference=_official(ground, workshop),
        kept=workshop.cache / "proofs" / "outcomes",
        emit=workshop.emit,
    )


def _without_guilty(step: Build, kernels: Kernels, error: UnprovenError, workshop: Workshop) -> Build:
    guilty = guilty_parts(kernels, files=error.files, operations=error.operations)
    fresh = tuple(name for name in guilty if name not in step.without)
    if not fresh or step.prebuilt is not None:
        raise error
    for line in error.details:
        workshop.emit(Noted(message=line))
    message = f"{error.message}; built again without the kernels for {listing(fresh)}"
    workshop.emit(Noted(message=message, warning=True))
    return replace(step, without=(*step.without, *fresh))


def _require_proof(step: Build, built: BuildResult, ground: Ground, workshop: Workshop) -> None:
    if ground.reference is None and step.prebuilt is not None:
        return  # made and proven elsewhere; its operations are run on the stage all the same
    subject = subject_of(step, built, ground)
    kept = workshop.cache / "proofs" / f"{digest((subject, __version__))}.json"
    if _read(kept) is not None:
        return
    with cache.reserved(workshop.cache, f"proof-{kept.stem}", workshop.emit, "proves the same wheel"):
        if _read(kept) is None:
            proof = _proven(subject, built, ground, workshop)
            if not proof.holds:
                raise _unproven(step, proof)
            files.write_text(kept, dump(document("proof", proof)))


def _proven(subject: ProofSubject, built: BuildResult, ground: Ground, workshop: Workshop) -> Proof:
    from fastinstall.build.wheel import unpack_wheel  # noqa: PLC0415 (not where the proof is on record)
    from fastinstall.proof.quick import quick_proof  # noqa: PLC0415 (likewise)

    workshop.emit(Started(stage="prove", message=f"proving {built.wheel.name}"))
    with files.temporary_directory("proof", within=workshop.cache / "tmp") as space:
        unpack_wheel(built.wheel, space / "tree")
        proof = quick_proof(trial_of(subject, space / "tree", ground, workshop))
    workshop.emit(Finished(stage="prove", message="compared with the official wheel", seconds=proof.seconds))
    return proof


def _stacks(levels: Sequence[str], whole: "Stack") -> Iterator["Stack"]:
    """The same tree for each level; the loader is kept from a higher one than is meant."""
    for level in levels:
        hidden = tunable_for(level) if level != levels[-1] else ""
        stack = replace(whole, label=level)
        yield stack.with_tunables(hidden) if hidden else stack


def _official(ground: Ground, workshop: Workshop) -> "Stack | None":
    wheel = ground.reference
    if wheel is None:
        return None
    stack = _stack(f"{wheel.name} {wheel.version}", unpacked(wheel, workshop), ground, workshop)
    interpreter = ground.interpreter
    decisive = (wheel.sha256, interpreter.version, interpreter.abi, ground.cpu.name, ground.cpu.level)
    return replace(stack, identity=digest(decisive) if wheel.sha256 else "")


def _stack(label: str, tree: Path, ground: Ground, workshop: Workshop) -> "Stack":
    from fastinstall.proof.runs import Stack  # noqa: PLC0415 (not where the proof is on record)

    python = Path(ground.interpreter.executable)
    return Stack(label=label, python=python, tree=tree, variables=workshop.variables)


def _unproven(step: Build, proof: Proof) -> UnprovenError:
    failed = [check for check in proof.checks if check.status is ProofStatus.FAILED]
    version = step.source.version if step.source is not None else step.version
    return UnprovenError(
        f"{step.distribution} {step.version} does not prove: {failed[0].name}: {failed[0].summary}",
        version=version,
        operations=failed_operations(proof),
        details=tuple(line for check in failed for line in (f"{check.name}: {check.summary}", *check.details)),
    )


def _read(path: Path) -> Proof | None:
    try:
        return open_document(Proof, "proof", json_data(foreign.read_text(path)), file=path)
    except (OSError, ValueError, DocumentError):
        return None  # not there, or of another time: it is proven again
