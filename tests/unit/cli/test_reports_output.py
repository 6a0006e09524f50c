"""Output of doctor's results: what is printed, and the exit code."""

from dataclasses import replace
from pathlib import Path, PurePath

import pytest
from support.values.builders import healthy_facts

from fastinstall.cli.console import Console
from fastinstall.cli.text.reports import tell_report, tell_survey
from fastinstall.model.finding import EnvironmentReport, Finding, Status, Survey, Unobservable

GONE = Unobservable(prefix=PurePath("/srv/old"), problem="gone")
QUIET = Console(quiet=True)


def _report(status: Status) -> EnvironmentReport:
    finding = Finding(check="swapped", status=status, message="it is so")
    environment = replace(healthy_facts().environment, prefix=Path("/srv/env"))
    return EnvironmentReport(environment=environment, status=status, findings=(finding,))


def _told(status: Status, console: Console = QUIET, *, fail_on: str = "error") -> int:
    return tell_report(_report(status), console, fail_on)


@pytest.mark.parametrize(
    ("status", "fail_on", "code", "lines"),
    [
        (Status.OK, "warning", 0, 0),
        (Status.HINT, "warning", 0, 0),
        (Status.WARNING, "error", 0, 0),
        (Status.WARNING, "warning", 3, 1),
        (Status.ERROR, "error", 3, 1),
        (Status.WARNING, "never", 0, 0),
        (Status.ERROR, "never", 0, 1),
    ],
)
def test_quiet_tells_in_one_line_what_the_exit_code_counts(
    status: Status, fail_on: str, code: int, lines: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _told(status, fail_on=fail_on) == code
    told = capsys.readouterr()
    assert (len(told.out.splitlines()), told.err) == (lines, "")


def test_without_quiet_a_healthy_environment_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    assert _told(Status.OK, Console()) == 0
    assert "it is so" in capsys.readouterr().out


def test_a_total_failure_to_observe_is_reported_whatever_counts(capsys: pytest.CaptureFixture[str]) -> None:
    survey = Survey(status=Status.UNKNOWN, reports=(), unobservable=(GONE,))
    assert tell_survey(survey, QUIET, "error") == 4
    assert capsys.readouterr().out == "/srv/old: unknown: gone\n"
    assert tell_survey(replace(survey, reports=(_report(Status.OK),)), QUIET, "error") == 0
    assert capsys.readouterr().out == ""
