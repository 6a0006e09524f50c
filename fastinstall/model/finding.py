"""Findings (the results of checks) and reports that contain them."""

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
"""Separates columns in a line of evidence that is a row of a table."""

_PAGE = "docs/reference/checks.md"

SURPRISES = "docs/explanation/surprises.md"
"""The page of surprises; a finding that this page explains links to it instead of to its check."""

_SHOWN = 6


class Status(StrEnum):
    """A verdict, or the reason why there is none. The verdicts are the first four values, in order of severity."""

    OK = "ok"
    HINT = "hint"
    WARNING = "warning"
    ERROR = "error"
    SKIPPED = "skipped"
    UNKNOWN = "unknown"
    CRASHED = "crashed"

    @property
    def gravity(self) -> int:
        """Severity from 0 (ok, skipped) to 3 (error); `crashed` counts as an error, and `unknown` as a warning."""
        return {"ok": 0, "skipped": 0, "hint": 1, "warning": 2, "unknown": 2, "error": 3, "crashed": 3}[self.value]


@immutable
class Remedy:
    """What to do about a finding.

    Attributes:
        text: what to do, in words that suffice without the command.
        command: a pasteable command; None if there is none.
        risk: the risk of following this advice, by the name that `--allow` takes; None if there is none.
    """

    text: str
    command: str | None = None
    risk: Risk | None = None


class Details(TypedDict, total=False):
    """Optional fields of a `Finding`, as keyword arguments."""

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
        status: the verdict, or why there is none.
        message: one sentence, understandable without colour.
        evidence: lines with facts that the user can verify.
        expected: the state that passes the check; empty if the message suffices.
        observed: the actual state; empty if the message suffices.
        remedy: what to do; None if there is nothing to do.
        link: a page that explains the finding.
        verify: a pasteable command that shows the evidence; empty if there is none.
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
        """Return a finding that does not name its check yet; `by` adds the name."""
        return cls(check="", status=status, message=message, **details)

    ok = partialmethod(of, Status.OK)
    hint = partialmethod(of, Status.HINT)
    warning = partialmethod(of, Status.WARNING)
    error = partialmethod(of, Status.ERROR)
    skipped = partialmethod(of, Status.SKIPPED)
    unknown = partialmethod(of, Status.UNKNOWN)

    def by(self, check: str) -> "Finding":
        """Return a copy with the name of the check; if the finding has no link, add a link to the check's page."""
        return replace(self, check=check, link=self.link or f"{_PAGE}#{check}")


def shorten_evidence(lines: Iterable[str]) -> tuple[str, ...]:
    """Shorten a long list of evidence to its first lines and a count of the rest."""
    told = tuple(lines)
    return told if len(told) <= _SHOWN else (*told[:_SHOWN], f"and {len(told) - _SHOWN} more")


@immutable
class EnvironmentReport:
    """All findings on one environment.

    Attributes:
        environment: the examined environment: its prefix, manager and interpreter.
        status: the worst status of the findings.
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
        status: the worst status of the reports; an environment that could not be examined counts as `unknown`.
        reports: one report for each examined environment; those with neither PIL nor a receipt are not examined.
        unobservable: environments that could not be examined.
        without_pil: number of known environments without PIL and without a receipt.
    """

    status: Status
    reports: tuple[EnvironmentReport, ...]
    unobservable: tuple[Unobservable, ...] = ()
    without_pil: int = 0
