"""Judge an environment after the swap by doctor's own checks."""

from collections.abc import Iterable

from fastinstall.errors import FailedError
from fastinstall.model.finding import Finding, Status


def refuse_errors(findings: Iterable[Finding]) -> None:
    """Raise where a check says that the swap went wrong; the caller undoes it.

    Raises:
        FailedError: names each finding.
    """
    wrong = [finding for finding in findings if finding.status.gravity >= Status.ERROR.gravity]
    if wrong:
        raise FailedError(
            "the environment is not healthy after the swap, so the swap was undone",
            hint="report it with the output of: fastinstall inspect --redact",
            details=tuple(f"{finding.check}: {finding.message}" for finding in wrong),
        )
