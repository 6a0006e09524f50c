"""The poisoned heap: what gives other pixels when fresh memory holds other bytes reads memory that nobody wrote.

It sees what comes out wrong. A read beyond the end of a row whose value is multiplied by nothing stays unseen here:
that is the sanitizers' part.
"""

from fastinstall.model.proof import CaseDifference
from fastinstall.proof.catalogue import operation_of
from fastinstall.proof.judge import determinate
from fastinstall.proof.results import Results, calm, disturbed
from fastinstall.proof.runs import Stack, Work


def prove_heap(ours: Stack, reference: Stack | None, work: Work, results: Results) -> tuple[CaseDifference, ...]:
    """The cases in which our stack reads uninitialised memory and the official wheel does not.

    Args:
        ours: the build.
        reference: the official wheel of the same version, or None if there is none.
        work: the cases of `matrix_cases`.
        results: runs them, or knows them.

    Raises:
        FailedError: PIL cannot be imported there.
    """
    one, other = results.outcomes(calm(ours), work), results.outcomes(disturbed(ours), work)
    suspicious = [
        CaseDifference(
            case=case,
            operation=operation_of(case),
            largest=0.0,
            allowed=0.0,
            problem="reads memory that was never written: other bytes in it, another result",
        )
        for case in work.cases
        if one[case] != other[case]
    ]
    return determinate(suspicious, reference, work)
