"""The pixel matrix: every case on our stack and on the official wheel's, and the same on each CPU level of a wheel."""

from collections.abc import Sequence

from fastinstall.model.proof import CaseDifference
from fastinstall.proof.catalogue import operation_of
from fastinstall.proof.judge import Comparison, judge
from fastinstall.proof.results import Results, calm
from fastinstall.proof.runs import Stack, Work, is_death


def prove_matrix(ours: Stack, reference: Stack, work: Work, results: Results) -> tuple[CaseDifference, ...]:
    """The cases in which our stack is further from the official wheel than the operation's bound allows.

    Args:
        ours: the build.
        reference: the official wheel of the same version.
        work: the cases of `matrix_cases`.
        results: runs them, or knows them.

    Raises:
        FailedError: PIL cannot be imported on one of them.
    """
    return judge(Comparison(ours=ours, standard=reference, witness=reference), work, results)


def compare_levels(
    levels: Sequence[Stack], reference: Stack | None, work: Work, results: Results
) -> tuple[CaseDifference, ...]:
    """The cases in which two CPU levels of one wheel, run on one host, are not the same to the bit.

    Args:
        levels: one stack for each level; `Stack.with_tunables("glibc.cpu.hwcaps=-AVX2")` takes a lower one.
        reference: the official wheel, to tell what nobody can know; None where there is none.
        work: the cases of `matrix_cases`.
        results: runs them, or knows them.

    Raises:
        FailedError: PIL cannot be imported on one of them.
    """
    pairs = (Comparison(ours=level, standard=levels[0], witness=reference, exact=True) for level in levels[1:])
    return tuple(difference for pair in pairs for difference in judge(pair, work, results))


def prove_survival(ours: Stack, work: Work, results: Results) -> tuple[CaseDifference, ...]:
    """The cases in which our stack dies or hangs: all that can be said where there is no official wheel.

    Args:
        ours: the build.
        work: the cases of `matrix_cases`.
        results: runs them, or knows them.

    Raises:
        FailedError: PIL cannot be imported there.
    """
    outcomes = results.outcomes(calm(ours), work)
    return tuple(
        CaseDifference(case=case, operation=operation_of(case), largest=0.0, allowed=0.0, problem=outcomes[case])
        for case in work.cases
        if is_death(outcomes[case])
    )
