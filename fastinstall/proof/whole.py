"""The whole proof of a build: every check there is, those that fail fast first. It takes minutes, not seconds.

A check that cannot go on has failed; the others are made all the same, so that one run tells everything.

- Every core of a wheel is read, not run: it has to be optimised, and of the CPU level that its place promises. A core
  that needs more would be loaded by a CPU that lacks it, and crash at the first operation.
- A few operations are timed in turn with the official wheel, to see that the kernels are in use at all. It is no
  benchmark: one bound, far below what a right build reaches and far above one without optimisation or without kernels.
"""

import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from fastinstall.core.errors import FailedError
from fastinstall.core.events import Finished, Progressed, Started, ignore
from fastinstall.core.values import immutable
from fastinstall.elf.core_copies import read_levels, read_stub
from fastinstall.elf.description import CoreLevel
from fastinstall.elf.dynamic import read_dynamic
from fastinstall.elf.image import ElfError
from fastinstall.elf.symbols import measure_unoptimised_share
from fastinstall.proof.cases import (
    Proof,
    ProofCheck,
    finish_check,
    matrix_cases,
    operation_of,
    skip_proof_check,
)
from fastinstall.proof.quick import WHOLE, QuickProof, prove_by_running
from fastinstall.proof.runs import ProofStack
from fastinstall.proof.sanitizers import COMPILER_WARNINGS as WARNINGS
from fastinstall.proof.sanitizers import SANITIZED as SANITIZERS
from fastinstall.proof.sanitizers import prove_sanitized, prove_warnings
from fastinstall.proof.stack_operations import MeasuredPil, MeasurementConditions, TimingEffort, measure
from fastinstall.proof.upstream_tests import NAME as SUITE
from fastinstall.proof.upstream_tests import prove_suite
from fastinstall.proof.variant import BuildTree, open_build_tree
from fastinstall.wheelbuild.base_wheel import CORE
from fastinstall.wheelbuild.build_inputs import BuildRequest

STAGE = "proof"

_NO_BASE_WHEEL = "no official wheel of this version carries the core"

Checks = Callable[[], tuple[ProofCheck, ...]]


@immutable
class WholeProof:
    """A build, its stacks, and how it was made.

    Attributes:
        trial: what runs.
        request: how it was built.
        tree: the unpacked wheel.
        space: a temporary directory.
    """

    trial: QuickProof
    request: BuildRequest
    tree: Path
    space: Path


def run_whole_proof(case: WholeProof) -> Proof:
    """Make every check.

    Raises:
        FailedError: the build cannot be prepared once more.
    """
    begun, emit = time.monotonic(), case.trial.emit
    emit(Started(stage=STAGE, message=f"preparing variants of {case.request.step.version}"))
    build_tree = open_build_tree(case.request, case.trial.subject.levels[-1], case.space)
    stages = tuple(_list_stages(case, build_tree))
    checks: list[ProofCheck] = []
    for done, (name, make) in enumerate(stages):
        emit(Progressed(stage=STAGE, done=done, total=len(stages)))
        started = time.monotonic()
        try:
            checks += make()
        except FailedError as error:
            failed = finish_check(name, "", (error.message,), started)
            checks.append(replace(failed, details=error.details))
    seconds = round(time.monotonic() - begun, 2)
    emit(Finished(stage=STAGE, message=f"{len(checks)} checks", seconds=seconds))
    return Proof(subject=case.trial.subject, checks=tuple(checks), seconds=seconds)


def _list_stages(case: WholeProof, build_tree: BuildTree | None) -> Iterator[tuple[str, Checks]]:
    trial, request, reference = case.trial, case.request, case.trial.reference
    core = Path(request.recipe.package) / f"{CORE}{request.interpreter.extension_suffix}"
    yield FLAGS_NAME, partial(prove_binaries, case.tree, core, request.step.levels)
    if build_tree is not None:
        yield WARNINGS, lambda: (prove_warnings(build_tree, quick=True),)
    yield "matrix", partial(prove_by_running, replace(trial, emit=ignore), WHOLE)
    if build_tree is None or reference is None:
        for name in ("speed", SANITIZERS, WARNINGS, SUITE):
            yield name, partial(_skip_check, name)
        return
    for level in trial.levels:
        yield f"speed {level.label}", partial(_check_speed, case, build_tree, level, reference)
    yield SANITIZERS, lambda: (prove_sanitized(build_tree, reference, WHOLE),)
    yield WARNINGS, lambda: (prove_warnings(build_tree),)
    exact = request.recipe.is_exact
    yield SUITE, lambda: prove_suite(request.source, request.interpreter, trial.levels[-1], reference, exact=exact)


def _skip_check(name: str) -> tuple[ProofCheck, ...]:
    return (skip_proof_check(name, _NO_BASE_WHEEL),)


def _check_speed(
    case: WholeProof, build_tree: BuildTree, ours: ProofStack, reference: ProofStack
) -> tuple[ProofCheck, ...]:
    """Speed, but for the operations of the catalogue whose kernels were left out."""
    if not case.request.recipe.expect.symbols:
        return (skip_proof_check(f"speed {ours.label}", "this recipe has no SIMD kernels"),)
    left_out = (each for each in case.request.recipe.kernels if each.name not in build_tree.work.kernels)
    begins = tuple(begin for kernel in left_out for begin in kernel.operations)
    known = set(map(operation_of, matrix_cases(sizes=((5, 4),), modes=("RGB",))))
    return (prove_speed(ours, reference, {operation for operation in known if operation.startswith(begins)}),)


FLAGS_NAME = "build flags"
LEVELS_NAME = "level marks"

_MOST_UNOPTIMISED = 0.5
_UNMARKED = ("native",)


def prove_binaries(tree: Path, core: Path, levels: Sequence[str]) -> tuple[ProofCheck, ...]:
    """Look at every copy of the core.

    Args:
        tree: the unpacked wheel.
        core: the module in it, which may be a stub, relative to it.
        levels: those that the wheel was built for, the baseline first.

    Returns:
        Two checks: how the copies were compiled, and which level each declares to need.
    """
    begun = time.monotonic()
    module = tree / core
    try:
        stub = read_stub(module)
        if stub is not None:
            copies = read_levels(stub, None, ())
        else:
            share, note = measure_unoptimised_share(module), read_dynamic(module).isa_needed
            only = CoreLevel(
                level=levels[0], path=module, sha256="", loaded=True, unoptimised_share=share, isa_note=note
            )
            copies = (only,)
    except (ElfError, OSError) as error:
        return tuple(finish_check(name, "", (f"{core}: {error}",), begun) for name in (FLAGS_NAME, LEVELS_NAME))
    slow = tuple(
        f"{copy.path.name} of {copy.level}: {copy.unoptimised_share:.0%} of its functions look like -O0 code"
        for copy in copies
        if copy.unoptimised_share is not None and copy.unoptimised_share >= _MOST_UNOPTIMISED
    )
    wrong = tuple(_find_misplaced_copies(copies, levels))
    return (
        finish_check(FLAGS_NAME, "every copy of Pillow's C extension is optimised", slow, begun),
        finish_check(LEVELS_NAME, f"{' and '.join(levels)}, each in its place", wrong, begun),
    )


def _find_misplaced_copies(copies: Sequence[CoreLevel], levels: Sequence[str]) -> Iterator[str]:
    """The baseline is named by its note, so its place is told by its order."""
    there = [copy.level for copy in copies[1:]]
    for promised, copy in zip((levels[0], *there), copies, strict=True):
        if copy.problem:
            yield f"the copy for {promised}: {copy.problem}"
        elif promised not in _UNMARKED and copy.isa_note != promised:
            yield f"the copy in the place of {promised} is marked {copy.isa_note or 'with no CPU level'}"
    yield from (f"there is no copy for {level}" for level in levels[1:] if level not in there)
    yield from (f"there is a copy for {level}, which was not requested" for level in there if level not in levels)


BOUND = 1.5
"""Least geometric mean of the speed-ups. Measured on 2026-11-24: 6.6 and 9.0 for x86-64-v2 and v3; 0.4 at -O0."""

_SERVED = (
    ("resize", "resize 1080p-256 RGB lanczos"),
    ("resize", "resize 1080p-256 RGB bicubic"),
    ("resize", "resize 500-800 RGBA bilinear"),
    ("reduce", "reduce(4) RGB"),
    ("filter-3x3", "filter 3x3 RGB"),
    ("filter-5x5", "filter 5x5 RGB"),
    ("gaussian-blur", "gaussian r5 RGB"),
    ("colour-table", "colour LUT 17"),
    ("alpha-composite", "alpha_composite"),
)
"""Operations of the catalogue, and of the speed table, that have kernels."""


def prove_speed(ours: ProofStack, reference: ProofStack, not_accelerated: Collection[str] = ()) -> ProofCheck:
    """Time the operations on both stacks.

    Args:
        ours: the build; the level that is meant is the one that its variables let the loader take.
        reference: the official wheel of the same version.
        not_accelerated: operations of the catalogue whose kernels were left out.

    Raises:
        FailedError: one of them cannot be imported.
    """
    begun, name = time.monotonic(), f"speed {ours.label}"
    names = tuple(timed for operation, timed in _SERVED if operation not in not_accelerated)
    if not names:
        return skip_proof_check(name, "all timed kernels were left out")
    circumstances = MeasurementConditions(cpu="", measured_at="", variables=ours.variables, emit=ignore)
    before, after = (MeasuredPil(label=each.label, python=each.python, stage=each.tree) for each in (reference, ours))
    table = measure(before, after, TimingEffort(operations=names), circumstances)
    told = f"{table.geomean:.2f} times as fast as {reference.label} on {len(table.rows)} operations"
    slow = tuple(
        f"{row.operation}: {row.after_ms:.2f} ms, the official wheel {row.before_ms:.2f} ms"
        for row in table.rows
        if table.geomean < BOUND
    )
    return finish_check(name, told, slow, begun, failed=f"{told}, expected at least {BOUND:g}")
