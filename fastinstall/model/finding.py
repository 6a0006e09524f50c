"""The findings of checks, as values."""

from collections.abc import Iterable
from dataclasses import replace
from enum import StrEnum
from functools import partialmethod
from pathlib import PurePath
from typing import TypedDict, Unpack

from fastinstall.core.values import immutable
from fastinstall.model.facts import Environment
from fastinstall.model.request import Risk

COLUMN = "\t"
"""Ends a column in a line of evidence that is the row of a table."""

_PAGE = "docs/reference/checks.md"

SURPRISES = "docs/explanation/surprises.md"
"""The page of surprises: findings that one of them explains link there instead of to their check."""

_SHOWN = 6


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


class Details(TypedDict, total=False):
    """What a finding may say beside its message; see `Finding`."""

    evidence: tuple[str, ...]
    expected: str
    observed: str
    remedy: Remedy | None
    link: str
    verify: str


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

    @classmethod
    def of(cls, status: Status, message: str, **details: Unpack[Details]) -> "Finding":
        """Make the finding of a check, which `by` names."""
        return cls(check="", status=status, message=message, **details)

    ok = partialmethod(of, Status.OK)
    hint = partialmethod(of, Status.HINT)
    warning = partialmethod(of, Status.WARNING)
    error = partialmethod(of, Status.ERROR)
    skipped = partialmethod(of, Status.SKIPPED)
    unknown = partialmethod(of, Status.UNKNOWN)

    def by(self, check: str) -> "Finding":
        """Return it as the finding of this check, whose page it links unless it has another link."""
        return replace(self, check=check, link=self.link or f"{_PAGE}#{check}")


def shorten_evidence(lines: Iterable[str]) -> tuple[str, ...]:
    """Shorten a long list of evidence to its first lines and a count of the rest."""
    told = tuple(lines)
    return told if len(told) <= _SHOWN else (*told[:_SHOWN], f"and {len(told) - _SHOWN} more")


@immutable
class EnvironmentReport:
    """All findings on one environment.

    Attributes:
        environment: the examined one: its prefix, manager and interpreter.
        status: the worst of the findings'.
        findings: in the order of the checks.
        pillow: version of the installed Pillow; empty if there is none, or if it is unknown.
    """

    environment: Environment
    status: Status
    findings: tuple[Finding, ...]
    pillow: str = ""


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
        without_pil: number of other known environments, without PIL.
    """

    status: Status
    reports: tuple[EnvironmentReport, ...]
    unobservable: tuple[Unobservable, ...] = ()
    without_pil: int = 0
