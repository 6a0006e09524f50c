"""Create the result of a check that finds problems in a build, and does not run cases."""

import time

from fastinstall.proof.cases import ProofCheck, ProofStatus


def finish_check(name: str, passed: str, problems: tuple[str, ...], begun: float, *, failed: str = "") -> ProofCheck:
    """Return a check that is ok if there are no problems, and failed otherwise.

    Args:
        name: name of the check.
        passed: the summary if the check is ok.
        problems: the problems that were found, one line each.
        begun: when the check began, as returned by `time.monotonic`.
        failed: the summary if the check failed; if empty, the first problem is the summary.
    """
    return ProofCheck(
        name=name,
        status=ProofStatus.FAILED if problems else ProofStatus.OK,
        summary=failed or problems[0] if problems else passed,
        details=problems,
        seconds=round(time.monotonic() - begun, 2),
    )
