"""What may differ from the official wheel of an architecture all the same, and how far."""

from fastinstall.core.architecture import AARCH64, X86_64
from fastinstall.proof.cases import CaseDifference
from fastinstall.proof.known_differences import KNOWN_DIFFERENCES, exclude_known, find_known_differences
from fastinstall.proof.matrix_cases import matrix_cases

CASE, OTHER = "resize/I/1x1/box,1x1", "resize/I/1x1/box,1x2"


def apart(case: str, largest: float) -> CaseDifference:
    return CaseDifference(case=case, largest=largest)


def test_a_case_may_differ_as_far_as_it_is_known_and_no_other_may() -> None:
    found = (apart(CASE, 1), apart(OTHER, 1), apart(CASE, 2), CaseDifference(case=CASE, problem="dies of SIGSEGV"))
    assert exclude_known(found, {CASE: 1.0}) == found[1:]
    assert exclude_known(found, {}) == found


def test_they_are_cases_of_the_proof_and_belong_to_one_architecture() -> None:
    assert find_known_differences(X86_64.machine) == {}
    assert set(find_known_differences(AARCH64.machine)) <= set(matrix_cases())
    assert all(each.reason and each.largest <= 1 for each in KNOWN_DIFFERENCES)
