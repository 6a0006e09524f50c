"""The findings of checks, as values."""

from enum import StrEnum
from pathlib import PurePath

from fastinstall.core.values import immutable, published_as
from fastinstall.model.facts import Environment
from fastinstall.model.request import Risk


class Status(StrEnum):
    """A verdict. The first four rise in severity; the others are separate."""

    OK = "ok"
    HINT = "hint"
    WARNING = "warning"
    ERROR = "error"
    SKIPPED = "skipped"
    UNKNOWN = "unknown"
    CRASHED = "crashed"

    @property
    def gravity(self) -> int:
        """0 for ok to 3 for error; a crashed check counts as an error, an unknown one as a warning."""
        return {"ok": 0, "skipped": 0, "hint": 1, "warning": 2, "unknown": 2, "error": 3, "crashed": 3}[self.value]


@immutable
class Remedy:
    """What to do about a finding.

    Attributes:
        text: what to do, in words; complete without the command.
        command: to paste; None if there is none.
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
        status: the verdict: from "ok" to "error", or why there is none.
        message: one sentence, understandable without colour.
        evidence: lines that the reader can verify.
        expected: the state that passes the check; empty if the message says all.
        observed: the state that was found; empty if the message says all.
        remedy: what to do; None if nothing.
        link: a page that explains it.
        verify: a command to paste that shows the verdict's evidence; empty if there is none.
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
        environment: the examined one: its prefix, manager and interpreter.
        status: the worst of the findings'.
        findings: in the order of the checks.
    """

    environment: Environment
    status: Status
    findings: tuple[Finding, ...]


@immutable
class Unobservable:
    """A known environment that could not be examined.

    Attributes:
        prefix: the directory of the environment.
        problem: why, in one sentence.
    """

    prefix: PurePath
    problem: str


@immutable
class Survey:
    """The reports on all known environments.

    Attributes:
        status: the worst of the reports'; an environment that could not be examined counts as `unknown`.
        reports: one for each environment that has PIL or a receipt of ours, by prefix.
        unobservable: environments that could not be examined.
        without: number of other known environments, without PIL.
    """

    status: Status
    reports: tuple[EnvironmentReport, ...]
    unobservable: tuple[Unobservable, ...] = ()
    without: int = 0
