"""How a check ends that finds problems and not cases."""

import time

from fastinstall.proof.cases import ProofCheck, ProofStatus


def finish_check(name: str, passed: str, problems: tuple[str, ...], begun: float, *, failed: str = "") -> ProofCheck:
    """A check that is ok exactly where there is no problem.

    Args:
        name: of the check.
        passed: what is said where it is ok.
        problems: what was found, a line each.
        begun: when the check began, by `time.monotonic`.
        failed: what is said where it is not; empty for the first problem.
    """
    return ProofCheck(
        name=name,
        status=ProofStatus.FAILED if problems else ProofStatus.OK,
        summary=failed or problems[0] if problems else passed,
        details=problems,
        seconds=round(time.monotonic() - begun, 2),
    )
