"""What --quiet prints: nothing, or for each environment a line with a command that repairs it."""

from dataclasses import replace
from pathlib import Path, PurePath

from support.values.builders import healthy_facts

from fastinstall.cli.text.reports import quiet_lines
from fastinstall.doctor.registry import select_gravest_status
from fastinstall.model.finding import EnvironmentReport, Finding, Remedy, Status, Unobservable

FIX = Remedy(text="put it back", command="fastinstall doctor --fix --prefix '/srv/my env'")


def _report(*findings: Finding) -> EnvironmentReport:
    environment = replace(healthy_facts().environment, prefix=Path("/srv/my env"))
    return EnvironmentReport(
        environment=environment,
        status=select_gravest_status([finding.status for finding in findings]),
        findings=findings,
    )


def _finding(check: str, status: Status, remedy: Remedy | None = None) -> Finding:
    return Finding(check=check, status=status, message=f"{check} is\n{status}", remedy=remedy)


def _lines(report: EnvironmentReport, least: Status) -> list[str]:
    return list(quiet_lines([report], [], least))


def test_what_is_less_grave_than_asked_for_is_not_told() -> None:
    report = _report(
        _finding("environment", Status.OK), _finding("advisories", Status.HINT), _finding("guards", Status.WARNING, FIX)
    )
    assert _lines(report, Status.ERROR) == []
    assert len(_lines(report, Status.WARNING)) == 1


def test_a_line_has_environment_cause_fix_and_count_of_the_rest() -> None:
    stray = Remedy(text="look", command="ls")
    report = _report(
        _finding("pillow-files", Status.ERROR, stray),
        _finding("simd-active", Status.ERROR, FIX),
        _finding("swapped", Status.ERROR, FIX),
        _finding("guards", Status.WARNING, FIX),
    )
    (line,) = _lines(report, Status.WARNING)
    assert line.startswith("/srv/my env: error: swapped: ")
    assert "3 more" in line
    assert line.endswith(f"; {FIX.command}")


def test_without_a_command_the_line_says_how_to_see_more() -> None:
    (line,) = _lines(_report(_finding("operations", Status.CRASHED)), Status.ERROR)
    assert line.endswith("; fastinstall doctor --prefix '/srv/my env'")


def test_an_unobservable_environment_counts_as_unknown() -> None:
    gone = [Unobservable(prefix=PurePath("/srv/old"), problem="its Python is gone")]
    assert list(quiet_lines([], gone, Status.ERROR)) == []
    assert list(quiet_lines([], gone, Status.WARNING)) == [f"/srv/old: unknown: {gone[0].problem}"]
