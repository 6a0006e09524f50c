"""Observe again and run doctor's checks; an error undoes the swap."""

from collections.abc import Iterable

from fastinstall.core.errors import FailedError
from fastinstall.core.values import immutable
from fastinstall.doctor.checks.pillow_importable import list_shadow_findings
from fastinstall.model.facts import Facts
from fastinstall.model.finding import Finding, Status
from fastinstall.setup.steps.step import SetupStep


@immutable
class Verify(SetupStep):
    """Observe the environment again and run doctor's checks; an error undoes the swap.

    Attributes:
        checks: names of the checks that must not report an error.
        reason: why the plan has this step, for the user.
    """

    checks: tuple[str, ...]
    reason: str

    def describe(self) -> str:
        """Return what the step does, as a line of a plan."""
        return f"check: {', '.join(self.checks)}"

    def outline(self) -> Iterable[str]:
        """Return no lines: a short text need not mention that a setup is checked."""
        return ()


def refuse_errors(findings: Iterable[Finding], facts: Facts) -> None:
    """Raise if a check reports an error; the caller then undoes the swap.

    Errors about another PIL that programs import first do not count: the plan has warned of that PIL, and the swap
    neither causes nor removes such errors.

    Raises:
        FailedError: a check reports an error; the details list all such errors.
    """
    excused = list_shadow_findings(facts)
    wrong = [each for each in findings if each.status.gravity >= Status.ERROR.gravity and each not in excused]
    if wrong:
        raise FailedError(
            "doctor found an error after the installation, so it was undone",
            hint="report it with the output of: fastinstall inspect --redact",
            details=tuple(f"{finding.check}: {finding.message}" for finding in wrong),
        )
