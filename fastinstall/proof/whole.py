"""The whole proof of a build: all that is checked anywhere, what fails fast first. Minutes, not seconds.

A check that cannot go on has failed; the others are made all the same, so that one run tells everything.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from fastinstall.build.chassis import CORE
from fastinstall.build.request import BuildRequest
from fastinstall.errors import FailedError
from fastinstall.merge.pairs import check_tree
from fastinstall.model.event import Finished, Progressed, Started, ignore
from fastinstall.model.immutable import immutable
from fastinstall.model.kernels import Kernels
from fastinstall.model.proof import Proof, ProofCheck, ProofStatus
from fastinstall.proof.binaries import prove_binaries
from fastinstall.proof.catalogue import matrix_cases, operation_of
from fastinstall.proof.checks import skipped
from fastinstall.proof.compiler_warnings import NAME as WARNINGS
from fastinstall.proof.compiler_warnings import prove_warnings
from fastinstall.proof.quick import WHOLE, Trial, prove_by_running
from fastinstall.proof.runs import Stack
from fastinstall.proof.sanitized import NAME as SANITIZERS
from fastinstall.proof.sanitized import prove_sanitized
from fastinstall.proof.speed import prove_speed
from fastinstall.proof.suite import NAME as SUITE
from fastinstall.proof.suite import prove_suite
from fastinstall.proof.yard import Yard, open_yard

STAGE = "proof"
STATIC = "static checks of the merge"

_NO_CHASSIS = "no official wheel of this version carries the core"

Checks = Callable[[], tuple[ProofCheck, ...]]


@immutable
class Case:
    """A build, its stacks, and how it was made.

    Attributes:
        trial: what runs.
        request: how it was built.
        tree: the unpacked wheel.
        space: a temporary directory.
    """

    trial: Trial
    request: BuildRequest
    tree: Path
    space: Path


def whole_proof(case: Case) -> Proof:
    """Make every check.

    Raises:
        FailedError: the build cannot be prepared once more.
    """
    begun, emit = time.monotonic(), case.trial.emit
    emit(Started(stage=STAGE, message=f"preparing variants of {case.request.step.version}"))
    yard = open_yard(case.request, case.trial.subject.levels[-1], case.space)
    stages = tuple(_stages(case, yard))
    checks: list[ProofCheck] = []
    for done, (name, make) in enumerate(stages):
        emit(Progressed(stage=STAGE, done=done, total=len(stages)))
        checks += _made(name, make)
    seconds = round(time.monotonic() - begun, 2)
    emit(Finished(stage=STAGE, message=f"{len(checks)} checks", seconds=seconds))
    return Proof(subject=case.trial.subject, checks=tuple(checks), seconds=seconds)


def _stages(case: Case, yard: Yard | None) -> Iterator[tuple[str, Checks]]:
    trial, request = case.trial, case.request
    core = Path(request.recipe.package) / f"{CORE}{request.interpreter.extension_suffix}"
    yield "build flags", partial(prove_binaries, case.tree, core, request.step.levels)
    if yard is not None:
        yield STATIC, lambda: (_static(yard),)
        yield WARNINGS, lambda: (prove_warnings(yard, quick=True),)
    yield "matrix", partial(prove_by_running, replace(trial, emit=ignore), WHOLE)
    yield from _beside_the_reference(case, yard)


def _beside_the_reference(case: Case, yard: Yard | None) -> Iterator[tuple[str, Checks]]:
    trial, reference = case.trial, case.trial.reference
    if yard is None or reference is None:
        for name in ("speed", SANITIZERS, WARNINGS, SUITE):
            yield name, partial(_left_out, name)
        return
    for level in trial.levels:
        yield f"speed {level.label}", partial(_speed, case, yard, level)
    yield SANITIZERS, lambda: (prove_sanitized(yard, reference, WHOLE),)
    yield WARNINGS, lambda: (prove_warnings(yard),)
    request = case.request
    yield SUITE, lambda: prove_suite(request.source, request.interpreter, trial.levels[-1], reference)


def _left_out(name: str) -> tuple[ProofCheck, ...]:
    return (skipped(name, _NO_CHASSIS),)


def _speed(case: Case, yard: Yard, ours: Stack) -> tuple[ProofCheck, ...]:
    if case.trial.reference is None or not case.request.recipe.expect.symbols:
        return (skipped(f"speed {ours.label}", "this recipe brings no kernels"),)
    return (prove_speed(ours, case.trial.reference, _not_accelerated(case, yard)),)


def _not_accelerated(case: Case, yard: Yard) -> frozenset[str]:
    """Operations of the catalogue whose kernels were left out."""
    kernels, report = case.request.recipe.kernels, yard.work.prepared.report
    if kernels is None or report is None:
        return frozenset()
    left_out = {*case.request.step.without, *(each.what for each in report.not_accelerated)}
    return frozenset(_operations(kernels, left_out))


def _operations(kernels: Kernels, parts: set[str]) -> Iterator[str]:
    begins = tuple(begin for part in kernels.parts if part.name in parts for begin in part.operations)
    known = dict.fromkeys(map(operation_of, matrix_cases(sizes=((5, 4),), modes=("RGB",))))
    return (operation for operation in known if operation.startswith(begins)) if begins else iter(())


def _static(yard: Yard) -> ProofCheck:
    begun, report = time.monotonic(), yard.work.prepared.report
    if report is None or yard.stock is None:
        return skipped(STATIC, "nothing is merged")
    problems = check_tree(yard.stock, yard.source, report.files)
    return ProofCheck(
        name=STATIC,
        status=ProofStatus.FAILED if problems else ProofStatus.OK,
        summary=problems[0]
        if problems
        else f"locks and the like are taken and given back in {len(report.files)} files",
        details=problems,
        seconds=round(time.monotonic() - begun, 2),
    )


def _made(name: str, make: Checks) -> tuple[ProofCheck, ...]:
    begun = time.monotonic()
    try:
        return make()
    except FailedError as error:
        seconds = round(time.monotonic() - begun, 2)
        failed = ProofStatus.FAILED
        return (ProofCheck(name=name, status=failed, summary=error.message, details=error.details, seconds=seconds),)
