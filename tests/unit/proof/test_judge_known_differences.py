"""Differences from an architecture's official wheel that are known and accepted, and the limits of that acceptance."""

from fastinstall.core.architecture import AARCH64, X86_64
from fastinstall.proof.cases import CaseDifference
from fastinstall.proof.judge import KNOWN_DIFFERENCES, exclude_known
from fastinstall.proof.matrix_cases import matrix_cases

CASE, OTHER = "resize/I/1x1/box,1x1", "resize/I/1x1/box,1x2"


def apart(case: str, largest: float) -> CaseDifference:
    return CaseDifference(case=case, largest=largest)


def test_a_case_may_differ_only_as_far_as_is_known_for_it() -> None:
    found = (apart(CASE, 1), apart(OTHER, 1), apart(CASE, 2), CaseDifference(case=CASE, problem="dies of SIGSEGV"))
    assert exclude_known(found, {CASE: 1.0}) == found[1:]
    assert exclude_known(found, {}) == found


def test_known_differences_are_proof_cases_of_one_architecture() -> None:
    assert X86_64.machine not in KNOWN_DIFFERENCES
    assert set(KNOWN_DIFFERENCES[AARCH64.machine]) <= set(matrix_cases())
    assert all(largest <= 1 for cases in KNOWN_DIFFERENCES.values() for largest in cases.values())
