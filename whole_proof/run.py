"""Make every check of a build, the fast ones first; this takes minutes, not seconds.

A check that cannot be completed counts as failed. The remaining checks are still made, so that one run reports
everything.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from fastinstall.core.errors import FailedError
from fastinstall.core.events import Finished, Progressed, Started, ignore
from fastinstall.core.values import immutable
from fastinstall.proof.cases import Proof, ProofCheck, operation_of, skip_proof_check
from fastinstall.proof.matrix_cases import matrix_cases
from fastinstall.proof.quick import ProofDepth, QuickProof, prove_by_running
from fastinstall.proof.runs import ProofStack
from fastinstall.wheelbuild.base_wheel import CORE
from fastinstall.wheelbuild.build_inputs import BuildRequest
from whole_proof.binaries import FLAGS_NAME, prove_binaries
from whole_proof.build_tree import BuildTree, open_build_tree
from whole_proof.checks import finish_check
from whole_proof.compiler_warnings import COMPILER_WARNINGS as WARNINGS
from whole_proof.compiler_warnings import prove_warnings
from whole_proof.extensions import EXTENSIONS, prove_extensions
from whole_proof.sanitizers import SANITIZED as SANITIZERS
from whole_proof.sanitizers import prove_sanitized
from whole_proof.speed import prove_speed
from whole_proof.upstream_tests import NAME as SUITE
from whole_proof.upstream_tests import prove_suite

SIZES = (
    *((1, 1), (2, 3), (3, 3), (4, 4), (5, 5), (7, 9), (8, 5), (17, 13), (33, 31), (64, 6), (70, 35)),
    *((127, 3), (1, 40), (40, 1), (3, 131)),
)
"""Widths and heights: some are near the kernels' step sizes of 1 to 64 pixels, some are single rows or columns."""

WHOLE = ProofDepth(sizes=SIZES, cuts=60, flips=120, heads=60)
STAGE = "proof"

_NO_BASE_WHEEL = "no official wheel of this version carries the core"

Checks = Callable[[], tuple[ProofCheck, ...]]


@immutable
class WholeProof:
    """A build to prove completely.

    Attributes:
        trial: the stacks of the build, and the official wheel as reference.
        request: the request that led to the build.
        tree: directory of the unpacked wheel of the build.
        space: a temporary directory.
    """

    trial: QuickProof
    request: BuildRequest
    tree: Path
    space: Path


def run_whole_proof(case: WholeProof) -> Proof:
    """Make every check, and return the proof.

    Raises:
        FailedError: the build cannot be prepared again for its variants.
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
        for name in ("speed", EXTENSIONS, SANITIZERS, WARNINGS, SUITE):
            yield name, partial(_skip_check, name)
        return
    for level in trial.levels:
        yield f"speed {level.label}", partial(_check_speed, case, build_tree, level, reference)
    yield EXTENSIONS, lambda: (prove_extensions(build_tree, reference, WHOLE),)
    yield SANITIZERS, lambda: (prove_sanitized(build_tree, reference, WHOLE),)
    yield WARNINGS, lambda: (prove_warnings(build_tree),)
    exact = request.recipe.is_exact
    yield SUITE, lambda: prove_suite(request.source, request.interpreter, trial.levels[-1], reference, exact=exact)


def _skip_check(name: str) -> tuple[ProofCheck, ...]:
    return (skip_proof_check(name, _NO_BASE_WHEEL),)


def _check_speed(
    case: WholeProof, build_tree: BuildTree, ours: ProofStack, reference: ProofStack
) -> tuple[ProofCheck, ...]:
    """Check the speed of a build at one CPU level, except for operations whose kernels are not in the build."""
    if not case.request.recipe.expect.symbols:
        return (skip_proof_check(f"speed {ours.label}", "this recipe has no SIMD kernels"),)
    left_out = (each for each in case.request.recipe.kernels if each.name not in build_tree.work.kernels)
    begins = tuple(begin for kernel in left_out for begin in kernel.operations)
    known = set(map(operation_of, matrix_cases(sizes=((5, 4),), modes=("RGB",))))
    return (prove_speed(ours, reference, {operation for operation in known if operation.startswith(begins)}),)
