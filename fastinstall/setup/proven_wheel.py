"""Make the wheel of a plan, or take it from cache or wheelhouse, and prove it.

The target is not touched: inputs of the build are fetched into the cache, and the wheel is run from the cache.

If kernels do not compile or fail the proof, this module decides which kernels to leave out, builds again, and reports
the kernels that it left out.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from fastinstall import __version__
from fastinstall.core import files, foreign, temporary_directories
from fastinstall.core.archives import unpack_zip
from fastinstall.core.codec import digest, document, dump
from fastinstall.core.errors import UnprovenError
from fastinstall.core.events import Finished, Noted, Started
from fastinstall.core.messages import listing
from fastinstall.core.values import immutable
from fastinstall.elf.cpu import Cpu, rank, tunable_for
from fastinstall.index.run import Run
from fastinstall.model.artefact import Artefact, WheelOrder
from fastinstall.model.facts import Interpreter
from fastinstall.model.recipe import Kernel
from fastinstall.proof.cases import Proof, ProofStatus, ProofSubject, list_failed_operations
from fastinstall.proof.stack_operations import unpack_official_wheel
from fastinstall.setup.steps.build import Build
from fastinstall.setup.steps.prepare import FetchedInputs, PreparingStep, PrivateHeaders
from fastinstall.wheelbuild import wheel_cache
from fastinstall.wheelbuild.build_inputs import BuildResult

if TYPE_CHECKING:
    from fastinstall.proof.quick import QuickProof

Make = Callable[[Build], BuildResult]

EMULATORS_PATIENCE = 30.0
"""Factor on all time limits under an emulator: qemu-user is 10 to 20 times slower than hardware when encoding AVIF."""


@immutable
class ProofContext:
    """Python, CPU and reference wheel of a proof.

    Attributes:
        interpreter: the target's Python, which runs the proof.
        cpu: the CPU that the proof runs on. It decides which levels can run, and which differences of rounding are
            expected.
        reference: the official wheel of the same version; None if no official wheel exists.
    """

    interpreter: Interpreter
    cpu: Cpu
    reference: Artefact | None


def build_and_prove(
    prepare: Iterable[PreparingStep],
    build: Build,
    reference: Artefact | None,
    interpreter: Interpreter,
    run: Run,
) -> BuildResult:
    """Make the wheel of a plan, and prove the wheel if its recipe has kernels.

    Args:
        prepare: steps that fetch compiler and headers.
        build: the step that makes the wheel or takes a ready-made one.
        reference: the official wheel to compare with; None if no official wheel exists.
        interpreter: the target's Python.
        run: index, cache, recipe and receiver of events.

    Raises:
        UnprovenError: the wheel does not compile, or fails the proof.
        FastinstallError: the wheel could not be made for another reason.
    """
    fetched = fetch_inputs(prepare, run)
    proof_context = ProofContext(interpreter=interpreter, cpu=run.cpu, reference=reference)
    return make_proven_wheel(build, lambda each: each.make(interpreter, fetched, run), proof_context, run)


def make_proven_wheel(step: Build, make: Make, proof_context: ProofContext, run: Run) -> BuildResult:
    """Make a wheel; if the recipe has kernels, prove the wheel, and make it again without the kernels that fail.

    Args:
        step: the plan's step that makes the wheel.
        make: function that makes the wheel of a build step.
        proof_context: Python, CPU and reference wheel of the proof.
        run: recipe, cache and receiver of events.

    Raises:
        UnprovenError: the wheel does not compile or fails the proof, and leaving out kernels does not help.
        FailedError: the wheel could not be built for another reason.
    """
    kernels = run.recipe.kernels
    if not kernels:
        return make(step)
    while True:
        try:
            built = make(step)
            _require_proof(step, built, proof_context, run)
        except UnprovenError as error:
            step = _leave_out_guilty_kernels(step, kernels, error, run)
        else:
            return built


def subject_of(step: WheelOrder, built: BuildResult, proof_context: ProofContext) -> ProofSubject:
    """Return the subject of a proof: the built wheel and its reference, with the levels that this machine can run."""
    interpreter = proof_context.interpreter
    here = rank(proof_context.cpu.level)
    runnable = tuple(level for level in step.levels if not rank(level) or not here or rank(level) <= here)
    return ProofSubject(
        wheel_sha256=built.sha256,
        reference_sha256=proof_context.reference.sha256 if proof_context.reference is not None else "",
        python=f"{interpreter.version} {interpreter.abi}",
        cpu=proof_context.cpu.name,
        levels=runnable,
    )


def prepare_trial(subject: ProofSubject, tree: Path, proof_context: ProofContext, run: Run) -> "QuickProof":
    """Prepare a quick proof that compares every level of an unpacked build with the official wheel."""
    from fastinstall.proof.judge import KNOWN_DIFFERENCES  # not needed if the proof is on record
    from fastinstall.proof.quick import QuickProof  # not needed if the proof is on record
    from fastinstall.proof.runs import ProofStack  # not needed if the proof is on record

    wheel, official, levels = proof_context.reference, None, list[ProofStack]()
    whole = ProofStack(
        label="",
        python=proof_context.interpreter.executable,
        tree=tree,
        variables=run.variables,
        patience=EMULATORS_PATIENCE if proof_context.cpu.is_emulated else 1.0,
    )
    if wheel is not None:
        official = replace(whole, label=f"{wheel.name} {wheel.version}", tree=unpack_official_wheel(wheel, run))
    for level in subject.levels:  # one tree has all levels; a setting of the loader hides the levels above `level`
        stack, hidden = replace(whole, label=level), tunable_for(level) if level != subject.levels[-1] else ""
        levels.append(stack.with_tunables(hidden) if hidden else stack)
    return QuickProof(
        subject=subject,
        levels=tuple(levels),
        reference=official,
        exact=run.recipe.is_exact,
        known=KNOWN_DIFFERENCES.get(proof_context.cpu.architecture, {}),
        emit=run.emit,
    )


def find_guilty_kernels(
    kernels: Iterable[Kernel], *, files: Collection[str] = (), operations: Collection[str] = ()
) -> tuple[str, ...]:
    """Return the names of the kernels that may have caused a failure, in the recipe's order.

    Args:
        kernels: kernels of the recipe, in its order.
        files: source files that do not compile. If kernels' own headers are among them, only these kernels are blamed,
            not all kernels that the C file includes.
        operations: names of operations with wrong results.
    """
    known = tuple(kernels)
    own = {kernel.name for kernel in known if str(PurePosixPath(kernel.file).with_name(f"{kernel.name}.h")) in files}
    refused = own or {kernel.name for kernel in known if kernel.file in files}
    wrong = {kernel.name for kernel in known if any(each.startswith(kernel.operations) for each in operations)}
    return tuple(kernel.name for kernel in known if kernel.name in refused | wrong)


def fetch_inputs(prepare: Iterable[PreparingStep], run: Run) -> FetchedInputs:
    """Run a plan's preparing steps: install system packages, unpack private headers, or make a private toolchain.

    Raises:
        FastinstallError: an input could not be fetched or installed; the target is unchanged.
    """
    fetched = [step.fetch(run) for step in prepare]
    return FetchedInputs(
        includes=tuple(directory for each in fetched for directory in each.includes),
        headers=tuple(package for each in fetched for package in each.headers),
        variables={name: value for each in fetched for name, value in each.variables.items()},
    )


def fetch_sources(prepare: Iterable[PreparingStep], build: Build, run: Run) -> None:
    """Download the inputs of a build into the cache, unless the wheel itself is cached.

    C headers are fetched first: they are small and come from another server, so a failure shows early.

    Raises:
        FastinstallError: an input could not be downloaded.
    """
    if build.cached:
        return
    for step in prepare:
        if isinstance(step, PrivateHeaders):
            step.fetch_packages(run)
    for artefact in build.list_artefacts():
        run.index.fetch(artefact, run.cache, run.emit)


def _leave_out_guilty_kernels(step: Build, kernels: Sequence[Kernel], error: UnprovenError, run: Run) -> Build:
    guilty = find_guilty_kernels(kernels, files=error.files, operations=error.operations)
    fresh = tuple(name for name in guilty if name not in step.left_out)
    if not fresh or step.prebuilt is not None:
        raise error
    for line in error.details:
        run.emit(Noted(message=line))
    message = f"{error.message}; built again without the kernels for {listing(fresh)}"
    run.emit(Noted(message=message, warning=True))
    return replace(step, left_out=(*step.left_out, *fresh))


def _require_proof(step: Build, built: BuildResult, proof_context: ProofContext, run: Run) -> None:
    if proof_context.reference is None and step.prebuilt is not None:
        return  # a ready-made wheel was proven when it was built; a later step still runs operations with it
    subject = subject_of(step, built, proof_context)
    if proof_context.reference is not None and not subject.reference_sha256:  # without its hash, no proof can be cached
        _prove_anew(step, subject, built, proof_context, run)
        return
    kept = run.cache / "proofs" / f"{digest((subject, __version__))}.json"
    if foreign.read_kept(Proof, "proof", kept) is not None:
        return
    with wheel_cache.reserve_cache_key(run.cache, f"proof-{kept.stem}", run.emit, "proves the same wheel"):
        if foreign.read_kept(Proof, "proof", kept) is None:
            proof = _prove_anew(step, subject, built, proof_context, run)
            files.write_text(kept, dump(document("proof", proof)))


def _prove_anew(step: Build, subject: ProofSubject, built: BuildResult, proof_context: ProofContext, run: Run) -> Proof:
    from fastinstall.proof.quick import run_quick_proof  # not needed if the proof is on record

    run.emit(Started(stage="prove", message=f"comparing {built.wheel.name} with the official wheel"))
    with temporary_directories.temporary_directory("proof", within=run.cache / "tmp") as space:
        unpack_zip(built.wheel, space / "tree")
        proof = run_quick_proof(prepare_trial(subject, space / "tree", proof_context, run))
    run.emit(Finished(stage="prove", message="compared with the official wheel", seconds=proof.seconds))
    if not proof.holds:
        failed = [check for check in proof.checks if check.status is ProofStatus.FAILED]
        raise UnprovenError(
            f"{step.distribution} {step.version} fails the proof: {failed[0].name}: {failed[0].summary}",
            version=step.source.version if step.source is not None else step.version,
            operations=list_failed_operations(proof),
            details=tuple(line for check in failed for line in (f"{check.name}: {check.summary}", *check.details)),
        )
    return proof
