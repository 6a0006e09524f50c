from fastinstall.cli.console import Page
from fastinstall.proof.cases import Proof, ProofCheck, ProofStatus, ProofSubject
from whole_proof.text import proof_text


def test_a_proof_is_told_check_by_check_with_what_failed() -> None:
    subject = ProofSubject(wheel_sha256="", reference_sha256="", python="", cpu="", levels=("x86-64-v3",))
    checks = (
        ProofCheck(name="heap", status=ProofStatus.OK, summary="all the same", seconds=1.25),
        ProofCheck(name="speed", status=ProofStatus.FAILED, summary="0.2 times", details=("lanczos: 9 ms",), seconds=2),
        ProofCheck(name="suite", status=ProofStatus.SKIPPED, summary="no index"),
    )
    assert proof_text(Proof(subject=subject, checks=checks, seconds=9.6), Page()).splitlines() == [
        "ok       heap      1.2 s  all the same",
        "failed   speed     2.0 s  0.2 times",
        "    lanczos: 9 ms",
        "skipped  suite     0.0 s  no index",
        "not proven for x86-64-v3 in 10 s: speed",
    ]
