from json_schema import json_schema
from support.suite.golden import Golden

from fastinstall.core.codec import document, open_document
from fastinstall.proof.cases import (
    CaseDifference,
    Proof,
    ProofCheck,
    ProofStatus,
    ProofSubject,
    check_of,
    list_failed_operations,
    skip_proof_check,
)

FAR = CaseDifference(case="box-blur/RGB/17x13/3:0", largest=254, allowed=0)
SMALL = CaseDifference(case="box-blur/L/1x1/0.5", largest=84, allowed=0)
DEAD = CaseDifference(case="filter-3x3/I;16/5x4/smooth,,0", largest=0, allowed=0, problem="dies of SIGSEGV")


def proof(*checks: ProofCheck) -> Proof:
    subject = ProofSubject(
        wheel_sha256="a" * 64,
        reference_sha256="b" * 64,
        python="3.11.7 cp311",
        cpu="AMD EPYC",
        levels=("x86-64-v2", "x86-64-v3"),
    )
    return Proof(subject=subject, checks=checks, seconds=7.5)


def test_a_failure_tells_operation_mode_size_and_by_how_much(golden: Golden) -> None:
    check = check_of("matrix x86-64-v3", "all is well", (SMALL, FAR, DEAD), 1.234)
    assert (check.status, check.seconds) == (ProofStatus.FAILED, 1.23)
    assert check.summary == "3 cases fail: box-blur, filter-3x3"
    golden("\n".join(check.details))


def test_a_check_without_differences_says_what_was_found() -> None:
    check = check_of("heap", "nothing depends on it", (), 0.5)
    assert (check.status, check.summary, check.operations) == (ProofStatus.OK, "nothing depends on it", ())


def test_failed_operations_are_those_of_failed_checks_once_each() -> None:
    failed = check_of("matrix", "", (FAR, DEAD), 0)
    again = check_of("heap", "", (DEAD,), 0)
    found = proof(failed, again, skip_proof_check("decoders", "there is no official wheel"))
    assert list_failed_operations(found) == ("box-blur", "filter-3x3")
    assert not found.holds


def test_a_proof_with_skipped_but_no_failed_checks_holds() -> None:
    found = proof(check_of("matrix", "ok", (), 0), skip_proof_check("decoders", "there is no official wheel"))
    assert found.holds
    assert list_failed_operations(found) == ()


def test_a_proof_survives_being_written_and_read() -> None:
    found = proof(check_of("matrix", "", (FAR, DEAD), 0.25), skip_proof_check("levels", "one level only"))
    assert open_document(Proof, "proof", document("proof", found), file="proof.json") == found
    assert json_schema(Proof, name="proof")["$defs"]["Proof"]["required"][0] == "schema"
