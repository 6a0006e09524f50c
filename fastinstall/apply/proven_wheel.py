"""Make the wheel of a plan, or take it from the cache or the wheelhouse, and prove a merge before it is installed.

Nothing here touches the target: the wheel is unpacked into the cache and run from there.

If parts of a fork do not compile or fail the proof, this module decides which to leave out, builds again, and reports
what was left out.
"""

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from fastinstall import __version__
from fastinstall.cmerge.documents import Kernels, Part
from fastinstall.conda.compiler_prefix import private_toolchain
from fastinstall.core import files, foreign
from fastinstall.core.errors import DocumentError, RefusedError, UnprovenError
from fastinstall.core.events import Finished, Noted, Started
from fastinstall.core.messages import listing
from fastinstall.core.parsing import json_data
from fastinstall.core.values import digest, document, dump, immutable, open_document
from fastinstall.elf.cpu_levels import rank, tunable_for
from fastinstall.elf.description import Cpu
from fastinstall.index.execution import ExecutionContext
from fastinstall.index.pip import argv_for, pip_environment
from fastinstall.index.wheelhouse import require_stack_alone
from fastinstall.model.artefact import Artefact
from fastinstall.model.facts import Interpreter
from fastinstall.model.plan import Plan
from fastinstall.model.request import LinkMode
from fastinstall.model.steps import Build, CondaToolchain, PrivateHeaders, SystemPackages
from fastinstall.observe.toolchain import list_probed_flags, observe_compiler
from fastinstall.proof.cases import Proof, ProofStatus, ProofSubject, list_failed_operations
from fastinstall.proof.stack_operations import unpack_official_wheel
from fastinstall.wheelbuild import wheel_cache
from fastinstall.wheelbuild.build_inputs import BuildRequest, BuildResult
from fastinstall.wheelbuild.system_packages import include_directories, install_packages, unpack_headers
from fastinstall.wheelbuild.wheel_cache import directory_of, log_of

if TYPE_CHECKING:
    from fastinstall.proof.quick import QuickProof
    from fastinstall.proof.runs import ProofStack


@immutable
class FetchedInputs:
    """What was brought for a build.

    Attributes:
        includes: include directories to look in first.
        variables: environment variables that name the compiler, where it is not the system's.
    """

    includes: tuple[Path, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)


def bring_headers(plan: Plan, workshop: ExecutionContext) -> FetchedInputs:
    """Install system packages, unpack private headers and make a private toolchain, as the plan says.

    Raises:
        FailedError: something could not be brought; nothing of the target is touched.
    """
    found: list[Path] = []
    variables: dict[str, str] = {}
    for step in plan.steps:
        if isinstance(step, SystemPackages):
            workshop.emit(Started(stage="packages", message=f"installing {' '.join(step.packages)}"))
            install_packages(step.manager, step.packages, workshop.emit)
        elif isinstance(step, PrivateHeaders):
            workshop.emit(Started(stage="headers", message=f"fetching headers: {' '.join(step.packages)}"))
            root = unpack_headers(step.manager, step.packages, workshop.cache, workshop.emit)
            found += include_directories(root)
        elif isinstance(step, CondaToolchain):
            private = private_toolchain(step, workshop)
            found += private.includes
            variables |= private.variables
    return FetchedInputs(includes=tuple(found), variables=variables)


def make_wheel(
    step: Build, interpreter: Interpreter, brought: FetchedInputs, workshop: ExecutionContext
) -> BuildResult:
    """The wheel of a plan.

    Raises:
        FailedError: it could not be fetched or built, or is no Pillow alone.
        RefusedError: there is no compiler.
    """
    if step.prebuilt is not None:
        result = make_build_result(step.prebuilt, workshop)
        require_stack_alone(result.wheel)  # before a proof runs what is in it
        return result
    built_before = _out_of_the_cache(step, interpreter, workshop) if step.cached else None
    if built_before is not None:
        return built_before
    from fastinstall.wheelbuild.pipeline import build_wheel  # noqa: PLC0415 (slow to import; not for a wheel that is ready)

    return build_wheel(request_for(step, interpreter, brought, workshop))


def _out_of_the_cache(step: Build, interpreter: Interpreter, workshop: ExecutionContext) -> BuildResult | None:
    """Return the cached wheel that a plan names, or None if it is gone or parts of the fork are left out."""
    from fastinstall.wheelbuild.provenance import find_ready  # noqa: PLC0415 (slow to import; not for a wheel that is ready)

    started = time.monotonic()
    for ready in find_ready(workshop.cache, step, workshop.recipe, interpreter):
        if ready.entry.sha256 == step.cached:
            workshop.emit(Noted(message=f"{ready.entry.wheel} was built before, and is taken from the cache"))
            return BuildResult(
                wheel=directory_of(workshop.cache, ready.key) / ready.entry.wheel,
                sha256=ready.entry.sha256,
                from_cache=True,
                features=ready.entry.features,
                log=log_of(workshop.cache, ready.key),
                seconds=time.monotonic() - started,
            )
    return None


def request_for(
    step: Build, interpreter: Interpreter, brought: FetchedInputs, workshop: ExecutionContext
) -> BuildRequest:
    """Fetch what a step names, by its hashes, and say how it is built.

    Raises:
        FailedError: something could not be fetched.
        RefusedError: the step names no source, or there is no compiler.
    """
    if step.source is None:
        raise RefusedError(
            "the plan names neither a source nor a wheel to take", hint="make it again: fastinstall plan"
        )
    variables = {**workshop.variables, **brought.variables}
    compiler = observe_compiler(list_probed_flags(workshop.recipe), variables)
    if compiler is None:
        raise RefusedError("there is no C compiler", hint="run again with --with-system-deps, or install gcc")
    workshop.emit(Started(stage="download", message=f"fetching {step.source.filename}"))
    fetch = workshop.index.fetch
    return BuildRequest(
        recipe=workshop.recipe,
        step=step,
        interpreter=interpreter,
        source=fetch(step.source, workshop.cache, workshop.emit),
        kernels=fetch(step.kernels, workshop.cache, workshop.emit) if step.kernels else None,
        base=fetch(step.base, workshop.cache, workshop.emit) if step.base else None,
        statics={name: fetch(each, workshop.cache, workshop.emit) for name, each in step.statics.items()},
        chassis=fetch(step.chassis, workshop.cache, workshop.emit) if step.chassis else None,
        include_directories=brought.includes,
        library_prefix=Path(interpreter.prefix) if step.link is LinkMode.ENV else None,
        compiler=compiler,
        cache=workshop.cache,
        pip=argv_for(interpreter),
        variables=pip_environment(variables),
        emit=workshop.emit,
        offline=workshop.index.offline,
        wheelhouse=workshop.index.wheelhouse,
    )


def make_build_result(wheel: Artefact, workshop: ExecutionContext) -> BuildResult:
    """A wheel that is ready, by its hash."""
    path = workshop.index.fetch(wheel, workshop.cache, workshop.emit)
    return BuildResult(wheel=path, sha256=files.sha256(path), from_cache=True, features={}, log=None, seconds=0.0)


Make = Callable[[Build], BuildResult]


@immutable
class ProofContext:
    """Where a proof runs.

    Attributes:
        interpreter: the target's Python.
        cpu: as it shows itself, for what runs on it and how it rounds.
        reference: the official wheel of the same version, or None if there is none.
    """

    interpreter: Interpreter
    cpu: Cpu
    reference: Artefact | None


def make_proven(step: Build, make: Make, ground: ProofContext, workshop: ExecutionContext) -> BuildResult:
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


def subject_of(step: Build, built: BuildResult, ground: ProofContext) -> ProofSubject:
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


def trial_of(subject: ProofSubject, tree: Path, ground: ProofContext, workshop: ExecutionContext) -> "QuickProof":
    """What is put to the proof: every level of an unpacked build, beside the official wheel."""
    from fastinstall.proof.quick import QuickProof  # noqa: PLC0415 (not where the proof is on record)

    return QuickProof(
        subject=subject,
        levels=tuple(_stacks(subject.levels, _stack("", tree, ground, workshop))),
        reference=_official(ground, workshop),
        kept=workshop.cache / "proofs" / "outcomes",
        emit=workshop.emit,
    )


def _without_guilty(step: Build, kernels: Kernels, error: UnprovenError, workshop: ExecutionContext) -> Build:
    guilty = find_guilty_parts(kernels, files=error.files, operations=error.operations)
    fresh = tuple(name for name in guilty if name not in step.without)
    if not fresh or step.prebuilt is not None:
        raise error
    for line in error.details:
        workshop.emit(Noted(message=line))
    message = f"{error.message}; built again without the kernels for {listing(fresh)}"
    workshop.emit(Noted(message=message, warning=True))
    return replace(step, without=(*step.without, *fresh))


def _require_proof(step: Build, built: BuildResult, ground: ProofContext, workshop: ExecutionContext) -> None:
    if ground.reference is None and step.prebuilt is not None:
        return  # made and proven elsewhere; its operations are run on the stage all the same
    subject = subject_of(step, built, ground)
    kept = workshop.cache / "proofs" / f"{digest((subject, __version__))}.json"
    if _read(kept) is not None:
        return
    with wheel_cache.reserve_cache_key(workshop.cache, f"proof-{kept.stem}", workshop.emit, "proves the same wheel"):
        if _read(kept) is None:
            proof = _run_proof(subject, built, ground, workshop)
            if not proof.holds:
                raise _unproven(step, proof)
            files.write_text(kept, dump(document("proof", proof)))


def _run_proof(subject: ProofSubject, built: BuildResult, ground: ProofContext, workshop: ExecutionContext) -> Proof:
    from fastinstall.proof.quick import run_quick_proof  # noqa: PLC0415 (likewise)
    from fastinstall.wheelbuild.wheel_files import unpack_wheel  # noqa: PLC0415 (not where the proof is on record)

    workshop.emit(Started(stage="prove", message=f"proving {built.wheel.name}"))
    with files.temporary_directory("proof", within=workshop.cache / "tmp") as space:
        unpack_wheel(built.wheel, space / "tree")
        proof = run_quick_proof(trial_of(subject, space / "tree", ground, workshop))
    workshop.emit(Finished(stage="prove", message="compared with the official wheel", seconds=proof.seconds))
    return proof


def _stacks(levels: Sequence[str], whole: "ProofStack") -> Iterator["ProofStack"]:
    """The same tree for each level; the loader is kept from a higher one than is meant."""
    for level in levels:
        hidden = tunable_for(level) if level != levels[-1] else ""
        stack = replace(whole, label=level)
        yield stack.with_tunables(hidden) if hidden else stack


def _official(ground: ProofContext, workshop: ExecutionContext) -> "ProofStack | None":
    wheel = ground.reference
    if wheel is None:
        return None
    stack = _stack(f"{wheel.name} {wheel.version}", unpack_official_wheel(wheel, workshop), ground, workshop)
    interpreter = ground.interpreter
    decisive = (wheel.sha256, interpreter.version, interpreter.abi, ground.cpu.name, ground.cpu.level)
    return replace(stack, identity=digest(decisive) if wheel.sha256 else "")


def _stack(label: str, tree: Path, ground: ProofContext, workshop: ExecutionContext) -> "ProofStack":
    from fastinstall.proof.runs import ProofStack  # noqa: PLC0415 (not where the proof is on record)

    python = Path(ground.interpreter.executable)
    return ProofStack(label=label, python=python, tree=tree, variables=workshop.variables)


def _unproven(step: Build, proof: Proof) -> UnprovenError:
    failed = [check for check in proof.checks if check.status is ProofStatus.FAILED]
    version = step.source.version if step.source is not None else step.version
    return UnprovenError(
        f"{step.distribution} {step.version} does not prove: {failed[0].name}: {failed[0].summary}",
        version=version,
        operations=list_failed_operations(proof),
        details=tuple(line for check in failed for line in (f"{check.name}: {check.summary}", *check.details)),
    )


def _read(path: Path) -> Proof | None:
    try:
        return open_document(Proof, "proof", json_data(foreign.read_text(path)), file=path)
    except (OSError, ValueError, DocumentError):
        return None  # not there, or of another time: it is proven again


def find_guilty_parts(
    kernels: Kernels, *, files: Collection[str] = (), operations: Collection[str] = ()
) -> tuple[str, ...]:
    """Names of the parts that a failure points at, in the recipe's order.

    Args:
        kernels: the recipe's.
        files: of the source, that do not compile.
        operations: that compute something else than they should.
    """
    return tuple(part.name for part in kernels.parts if _is_guilty(part, files, operations))


def _is_guilty(part: Part, files: Collection[str], operations: Collection[str]) -> bool:
    items = tuple(item.partition(":")[0] for item in part.items)
    if any(file in (*part.files, *items) for file in files):
        return True
    return any(operation.startswith(begin) for operation in operations for begin in part.operations)
