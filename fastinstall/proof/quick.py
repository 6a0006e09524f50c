"""The part of a proof that every setup can afford: pixels, levels, memory and decoders, in some seconds."""

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from fastinstall.model.event import Emit, Progressed, ignore
from fastinstall.model.immutable import immutable
from fastinstall.model.proof import CaseDifference, Proof, ProofCheck, ProofSubject
from fastinstall.proof.catalogue import FEW_SIZES, SIZES, matrix_cases
from fastinstall.proof.checks import check_of, skipped
from fastinstall.proof.decoders import Damage, damaged_files, prove_decoders
from fastinstall.proof.heap import prove_heap
from fastinstall.proof.matrix import compare_levels, prove_matrix, prove_survival
from fastinstall.proof.results import Results, calm, disturbed
from fastinstall.proof.runs import Outcomes, Stack, Work

_NO_REFERENCE = "there is no official wheel of this version for this Python"
_OTHER_LIBRARIES = "the build reads files by other libraries than the official wheel, so they cannot be compared"


@immutable
class Effort:
    """How much is tried.

    Attributes:
        sizes: of the matrix's pictures, width and height in pixels.
        damage: what is done to the files that are decoded.
    """

    sizes: tuple[tuple[int, int], ...]
    damage: Damage


QUICK = Effort(sizes=FEW_SIZES, damage=Damage(cuts=7, flips=6, heads=4))
WHOLE = Effort(sizes=SIZES, damage=Damage(cuts=60, flips=120, heads=60))


@immutable
class Trial:
    """What is put to the proof.

    Attributes:
        subject: what it is, for the record.
        levels: one stack for each CPU level of the wheel that this host can run, the baseline first.
        reference: the official wheel of the same version, or None if there is none.
        kept: a directory where the reference's outcomes are kept; None for nowhere.
        emit: listens to progress.
    """

    subject: ProofSubject
    levels: tuple[Stack, ...]
    reference: Stack | None
    kept: Path | None = None
    emit: Emit = ignore


def quick_proof(trial: Trial) -> Proof:
    """Prove a build by running it, in well under 20 s.

    Raises:
        FailedError: PIL cannot be imported on one of the stacks.
    """
    begun = time.monotonic()
    checks = prove_by_running(trial, QUICK)
    return Proof(subject=trial.subject, checks=checks, seconds=round(time.monotonic() - begun, 2))


def prove_by_running(trial: Trial, effort: Effort) -> tuple[ProofCheck, ...]:
    """Every check that compares what stacks compute.

    Raises:
        FailedError: PIL cannot be imported on one of the stacks.
    """
    checks: list[ProofCheck] = []
    work = Work(cases=matrix_cases(sizes=effort.sizes))
    total = 2 * len(trial.levels) + 1 + (len(trial.levels) > 1) + (trial.reference is None)
    with Results(trial.kept) as results:
        _start(trial, work, results)
        for check in _checks(trial, work, effort.damage, results):
            checks.append(check)
            trial.emit(Progressed(stage="prove", done=len(checks), total=total))
    return tuple(checks)


def _start(trial: Trial, work: Work, results: Results) -> None:
    """Set every processor to work: what is asked for first goes first."""
    for stack in (*([trial.reference] if trial.reference else []), *trial.levels):
        results.start(calm(stack), work)
    for stack in trial.levels:
        results.start(disturbed(stack), work)


def _checks(trial: Trial, work: Work, damage: Damage, results: Results) -> Iterator[ProofCheck]:
    yield from _matrix_checks(trial, work, results)
    if len(trial.levels) > 1:
        same = f"{len(work.cases)} results are the same to the bit on {_names(trial.levels)}"
        yield _timed("levels", same, partial(compare_levels, trial.levels, trial.reference, work, results))
    for level in trial.levels:
        passed = f"{len(work.cases)} results do not depend on what was in the memory"
        find = partial(prove_heap, level, trial.reference, work, results)
        yield _timed(f"heap {level.label}", passed, find)
    yield from _decoder_checks(trial, damage, results)


def _matrix_checks(trial: Trial, work: Work, results: Results) -> Iterator[ProofCheck]:
    """One for each level; levels that gave the same to the bit are compared once."""
    if trial.reference is None:
        yield skipped("matrix", _NO_REFERENCE)
        for level in trial.levels:
            find = partial(prove_survival, level, work, results)
            yield _timed(f"survival {level.label}", f"none of {len(work.cases)} cases dies", find)
        return
    judged: list[tuple[Outcomes, Sequence[CaseDifference]]] = []
    for level in trial.levels:
        begun = time.monotonic()
        outcomes = results.outcomes(calm(level), work)
        found = next((differences for known, differences in judged if known == outcomes), None)
        if found is None:
            found = prove_matrix(level, trial.reference, work, results)
            judged.append((outcomes, found))
        passed = f"{len(work.cases)} results are within their bounds of {trial.reference.label}"
        yield check_of(f"matrix {level.label}", passed, found, time.monotonic() - begun)


def _decoder_checks(trial: Trial, damage: Damage, results: Results) -> Iterator[ProofCheck]:
    """On the best level only: no decoder has kernels."""
    if trial.reference is None:
        yield skipped("decoders", _NO_REFERENCE)
        return
    if not _share_libraries(trial.levels[-1], trial.reference):
        yield skipped("decoders", _OTHER_LIBRARIES)
        return
    begun = time.monotonic()
    with damaged_files(trial.reference, damage) as work:
        found = prove_decoders(trial.levels[-1], trial.reference, work, results)
    passed = f"{len(work.cases)} files, whole and damaged, are read as by {trial.reference.label}"
    yield check_of("decoders", passed, found, time.monotonic() - begun)


def _share_libraries(build: Stack, reference: Stack) -> bool:
    """Whether a build has bundled libraries of the official wheel; a reference that bundles none is like any other."""
    ours, theirs = ({path.name for path in stack.tree.glob("*.libs/*.so*")} for stack in (build, reference))
    return not theirs or bool(ours & theirs)


def _names(levels: Sequence[Stack]) -> str:
    return " and ".join(level.label for level in levels)


def _timed(name: str, passed: str, find: Callable[[], Sequence[CaseDifference]]) -> ProofCheck:
    begun = time.monotonic()
    found = find()
    return check_of(name, passed, found, time.monotonic() - begun)
