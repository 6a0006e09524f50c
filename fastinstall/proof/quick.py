"""Make those checks of a proof that take only seconds: pixels, memory and decoders. They are part of every setup.

- Pixels: every case is compared with the official wheel, and between the CPU levels of a build.
- Memory: every case is run with different initial contents of memory. If the result changes, the code has read memory
  that it never wrote. Reads that do not influence the result are not detected: for example, if a value beyond the end
  of a row is multiplied by zero. The sanitizers find those.
- Decoders: our stack has to decode intact, truncated and damaged files as the official wheel does, without crashing.
  The official wheel writes the files, so that both stacks read the same bytes.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field
from functools import partial

from fastinstall.core import temporary_directories
from fastinstall.core.concurrency import RunningProbe
from fastinstall.core.errors import FailedError
from fastinstall.core.events import Emit, Progressed, ignore
from fastinstall.core.values import immutable
from fastinstall.proof import runs
from fastinstall.proof.cases import CaseDifference, Proof, ProofCheck, ProofSubject, check_of, skip_proof_check
from fastinstall.proof.judge import exclude_known, exclude_undetermined, judge_results
from fastinstall.proof.matrix_cases import FEW_SIZES, PILLOW_13, Members, matrix_cases


def read_members(stack: runs.ProofStack) -> Members:
    """Return the members of the enumerations of a stack's Pillow, such as its filters; they depend on the version.

    Raises:
        FailedError: PIL cannot be imported, or lacks one of the enumerations.
    """
    cases = {name: f"members/L/1x1/{name}" for name in PILLOW_13}
    reported = runs.sample_cases(stack, runs.Work(cases=tuple(cases.values())))
    try:
        return {name: tuple(reported[case][0].content.decode().split()) for name, case in cases.items()}
    except KeyError as error:
        raise FailedError(f"{stack.label}: it cannot perform {error}") from None


def prove_matrix(
    ours: runs.ProofStack, reference: runs.ProofStack, work: runs.Work, results: runs.Results, *, exact: bool
) -> tuple[CaseDifference, ...]:
    """Return the cases in which our stack differs from the official wheel by more than allowed.

    Args:
        ours: the build, at one CPU level.
        reference: the official wheel of the same version.
        work: the cases of `matrix_cases`, or of `generate_damaged_files`.
        results: runs the cases, and remembers their results.
        exact: whether results must be equal; if False, the operations' tolerances apply.

    Raises:
        FailedError: PIL cannot be imported on one of the stacks.
    """
    return exclude_undetermined(judge_results(ours, reference, work, results, exact=exact), reference, work)


def prove_survival(ours: runs.ProofStack, work: runs.Work, results: runs.Results) -> tuple[CaseDifference, ...]:
    """Return the cases in which our stack dies or hangs; used if there is no official wheel to compare the build with.

    Raises:
        FailedError: PIL cannot be imported.
    """
    outcomes = results.outcomes(runs.fill_fresh_memory(ours), work)
    return tuple(
        CaseDifference(case=case, problem=outcomes[case]) for case in work.cases if runs.is_death(outcomes[case])
    )


def prove_heap(
    ours: runs.ProofStack, reference: runs.ProofStack | None, work: runs.Work, results: runs.Results
) -> tuple[CaseDifference, ...]:
    """Return the cases whose result depends on uninitialised memory in our stack, but not in the official wheel.

    Raises:
        FailedError: PIL cannot be imported on one of the stacks.
    """
    one, other = (results.outcomes(how(ours), work) for how in (runs.fill_fresh_memory, runs.disturb_memory))
    problem = "the result depends on uninitialised memory"
    suspicious = [CaseDifference(case=case, problem=problem) for case in work.cases if one[case] != other[case]]
    return exclude_undetermined(suspicious, reference, work)


_MAKE = "make//"
_SECONDS = 10.0


@immutable
class ProofDepth:
    """The number of sizes and damaged files to test.

    Attributes:
        sizes: widths and heights of the matrix's pictures, in pixels.
        cuts: number of truncated copies of each file, at different lengths.
        flips: number of copies of each file with bytes replaced anywhere.
        heads: number of copies of each file with some of the first 64 bytes replaced.
    """

    sizes: tuple[tuple[int, int], ...]
    cuts: int
    flips: int
    heads: int


QUICK = ProofDepth(sizes=FEW_SIZES, cuts=7, flips=6, heads=4)


@contextmanager
def generate_damaged_files(reference: runs.ProofStack, depth: ProofDepth) -> Iterator[runs.Work]:
    """Have the reference write a file of every format that it supports, for use in the block; then remove the files.

    Despite the name, the files are intact: the cases damage their content before they decode it.

    Yields:
        The cases. They decode every file intact, truncated and damaged, and write and decode a file of every format.

    Raises:
        FailedError: the reference cannot write the files.
    """
    made = runs.sample_cases(reference, runs.Work(cases=(_MAKE,), operations=runs.DECODERS)).get(_MAKE, ())
    if not made:
        raise FailedError(f"{reference.label}: it cannot write the files to decode")
    with temporary_directories.temporary_directory("files") as directory:
        for sample in made:
            (directory / sample.mode.replace("/", "-")).write_bytes(sample.content)
        cases = tuple(case for sample in made for case in _list_decoder_cases(sample.mode, depth))
        yield runs.Work(cases=cases, operations=runs.DECODERS, inputs=directory, seconds=_SECONDS)


def _list_decoder_cases(form: str, depth: ProofDepth) -> Iterator[str]:
    yield f"round-trip-{form}/"
    yield f"decode-{form}/whole"
    yield from (f"decode-{form}/cut:{1000 * number // (depth.cuts + 1)}" for number in range(1, depth.cuts + 1))
    yield from (f"decode-{form}/flip:{seed}:{1 + seed % 9}" for seed in range(depth.flips))
    yield from (f"decode-{form}/head:{seed}:{1 + seed % 3}" for seed in range(depth.heads))


_NO_REFERENCE = "no official wheel of this version exists for this Python"
_OTHER_LIBRARIES = "the build decodes files with other libraries than the official wheel, so they cannot be compared"


@immutable
class QuickProof:
    """A build to prove, and the reference to compare it with.

    Attributes:
        subject: the wheel and the circumstances, for the record.
        levels: one stack for each of the wheel's CPU levels that this host can run, the baseline first.
        reference: the stack of the official wheel of the same version; None if there is no such wheel.
        exact: whether pixels must be the same as the reference's. False for a fork, whose pixels may differ slightly.
        known: exceptions from `exact`: allowed differences in steps of the mode, by name of the case.
        emit: receives the progress events.
    """

    subject: ProofSubject
    levels: tuple[runs.ProofStack, ...]
    reference: runs.ProofStack | None
    exact: bool
    known: Mapping[str, float] = field(default_factory=dict)
    emit: Emit = ignore


def run_quick_proof(trial: QuickProof) -> Proof:
    """Prove a build by running it at quick depth, which takes well under 20 s.

    Raises:
        FailedError: PIL cannot be imported on one of the stacks.
    """
    begun = time.monotonic()
    checks = prove_by_running(trial, QUICK)
    return Proof(subject=trial.subject, checks=checks, seconds=round(time.monotonic() - begun, 2))


def prove_by_running(trial: QuickProof, depth: ProofDepth) -> tuple[ProofCheck, ...]:
    """Run the build, and the reference if there is one, and make every check of their results.

    Raises:
        FailedError: PIL cannot be imported on one of the stacks.
    """
    checks: list[ProofCheck] = []
    members = read_members(trial.reference or trial.levels[-1])
    work = runs.Work(cases=matrix_cases(sizes=depth.sizes, members=members))
    total = 2 * len(trial.levels) + 1 + (len(trial.levels) > 1) + (trial.reference is None)
    with runs.Results() as results:
        for stack in (*([trial.reference] if trial.reference else []), *trial.levels):
            # These runs start first, because the first checks need them.
            results.start(runs.fill_fresh_memory(stack), work)
        for stack in trial.levels:
            results.start(runs.disturb_memory(stack), work)
        decoders = RunningProbe(lambda: _check_decoders(trial, depth, results))
        for check in _run_checks(trial, work, decoders, results):
            checks.append(check)
            trial.emit(Progressed(stage="prove", done=len(checks), total=total))
    return tuple(checks)


def _run_checks(
    trial: QuickProof, work: runs.Work, decoders: RunningProbe[ProofCheck], results: runs.Results
) -> Iterator[ProofCheck]:
    count, levels, reference = len(work.cases), trial.levels, trial.reference
    if reference is None:
        yield skip_proof_check("matrix", _NO_REFERENCE)
        for level in levels:
            find = partial(prove_survival, level, work, results)
            yield _time_check(f"survival {level.label}", f"none of {count} cases crashes", find)
    else:
        yield from _check_matrix(trial, reference, work, results)
    if len(levels) > 1:
        same = f"{count} results are bit-identical on {' and '.join(level.label for level in levels)}"
        begun, (first, *others) = time.monotonic(), levels
        differing = [each for level in others for each in judge_results(level, first, work, results, exact=True)]
        found = exclude_undetermined(differing, reference, work)
        yield check_of("levels", same, found, time.monotonic() - begun)
    for level in levels:
        find = partial(prove_heap, level, reference, work, results)
        yield _time_check(f"heap {level.label}", f"{count} results do not depend on uninitialised memory", find)
    yield decoders.result()


def _check_matrix(
    trial: QuickProof, reference: runs.ProofStack, work: runs.Work, results: runs.Results
) -> Iterator[ProofCheck]:
    """Yield a check for each CPU level; a level with the same results as an earlier level is not compared again."""
    judged: list[tuple[runs.Outcomes, Sequence[CaseDifference]]] = []
    allowance = "to the bit" if trial.exact else "within their tolerances"
    if trial.exact and trial.known:
        allowance += f" but for {len(trial.known)} known to differ"
    for level in trial.levels:
        begun = time.monotonic()
        outcomes = results.outcomes(runs.fill_fresh_memory(level), work)
        found = next((differences for known, differences in judged if known == outcomes), None)
        if found is None:
            found = prove_matrix(level, reference, work, results, exact=trial.exact)
            found = exclude_known(found, trial.known)
            judged.append((outcomes, found))
        passed = f"{len(work.cases)} results match {reference.label} {allowance}"
        yield check_of(f"matrix {level.label}", passed, found, time.monotonic() - begun)


def _check_decoders(trial: QuickProof, depth: ProofDepth, results: runs.Results) -> ProofCheck:
    """Check the decoders at the highest CPU level only, which this machine loads; the whole proof checks each level."""
    ours, reference = trial.levels[-1], trial.reference
    if reference is None:
        return skip_proof_check("decoders", _NO_REFERENCE)
    mine, theirs = ({path.name for path in stack.tree.glob("*.libs/*.so*")} for stack in (ours, reference))
    if theirs and not mine & theirs:  # a reference that bundles no libraries is still compared
        return skip_proof_check("decoders", _OTHER_LIBRARIES)
    begun = time.monotonic()
    with generate_damaged_files(reference, depth) as work:
        found = prove_matrix(ours, reference, work, results, exact=trial.exact)
    passed = f"{len(work.cases)} files, intact and damaged, decode as in {reference.label}"
    return check_of("decoders", passed, found, time.monotonic() - begun)


def _time_check(name: str, passed: str, find: Callable[[], Sequence[CaseDifference]]) -> ProofCheck:
    begun = time.monotonic()
    return check_of(name, passed, find(), time.monotonic() - begun)
