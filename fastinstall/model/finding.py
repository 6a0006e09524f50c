"""What a check found: a value, rendered elsewhere."""

from enum import StrEnum
from pathlib import PurePath

from fastinstall.core.values import immutable, published_as
from fastinstall.model.request import Environment, Risk


class Status(StrEnum):
    """A verdict. The first four rise in gravity; the others stand beside them."""

    OK = "ok"
    HINT = "hint"
    WARNING = "warning"
    ERROR = "error"
    SKIPPED = "skipped"
    UNKNOWN = "unknown"
    CRASHED = "crashed"

    @property
    def gravity(self) -> int:
        """0 for ok to 3 for error; a crashed check weighs as an error, an unknown one as a warning."""
        return {"ok": 0, "skipped": 0, "hint": 1, "warning": 2, "unknown": 2, "error": 3, "crashed": 3}[self.value]


@immutable
class Remedy:
    """What to do about a finding.

    Attributes:
        text: in words.
        command: one that can be pasted; None if there is none.
        risk: the named risk that it takes, if any.
    """

    text: str
    command: str | None = None
    risk: Risk | None = None


@immutable
class Finding:
    """One verdict of one check.

    Attributes:
        check: stable name of the check.
        status: the verdict.
        message: one sentence, whose meaning survives without colour.
        evidence: lines that a person can verify.
        expected: what should be.
        observed: what is.
        remedy: what to do; None if nothing is to be done.
        link: a page that explains.
        verify: a command that shows what the verdict rests on, to be pasted; empty if there is none.
    """

    check: str
    status: Status
    message: str
    evidence: tuple[str, ...] = ()
    expected: str = ""
    observed: str = ""
    remedy: Remedy | None = None
    link: str = ""
    verify: str = ""


@published_as("Report")
@immutable
class EnvironmentReport:
    """All findings on one environment.

    Attributes:
        environment: what was examined.
        status: the gravest of the findings'.
        findings: in the order of the checks.
    """

    environment: Environment
    status: Status
    findings: tuple[Finding, ...]


@immutable
class Unobservable:
    """An environment that is known and could not be looked at.

    Attributes:
        prefix: which one.
        problem: why, in one sentence.
    """

    prefix: PurePath
    problem: str


@immutable
class Survey:
    """The reports on all environments that are known.

    Attributes:
        status: the gravest of the reports'; an environment that could not be looked at weighs as `unknown`.
        reports: one for each environment that has PIL or a receipt of ours, by prefix.
        unobservable: those that could not be looked at.
        without: how many others are known, which have no PIL.
    """

    status: Status
    reports: tuple[EnvironmentReport, ...]
    unobservable: tuple[Unobservable, ...] = ()
    without: int = 0
