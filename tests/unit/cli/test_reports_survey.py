"""Reports on all environments as text: a line for each, and details of those with problems."""

from dataclasses import replace
from pathlib import Path, PurePath

from support.suite.golden import Golden
from support.values.builders import healthy_facts

from fastinstall.cli.console import Page
from fastinstall.cli.text.reports import survey_text
from fastinstall.model.facts import Environment
from fastinstall.model.finding import EnvironmentReport, Finding, Remedy, Status, Survey, Unobservable


def _report(prefix: str, *statuses: Status) -> EnvironmentReport:
    environment: Environment = replace(healthy_facts().environment, prefix=Path(prefix))
    remedy = Remedy(text="mend it", command="fastinstall doctor --fix")
    findings = tuple(
        Finding(check="swapped", status=status, message=f"is {status}", remedy=remedy) for status in statuses
    )
    gravest = max(statuses, key=lambda status: status.gravity)
    return EnvironmentReport(environment=environment, status=gravest, findings=findings)


SURVEY = Survey(
    status=Status.ERROR,
    reports=(_report("/a", Status.OK, Status.HINT), _report("/b", Status.ERROR, Status.OK)),
    unobservable=(Unobservable(prefix=PurePath("/c"), problem="/c/bin/python: no such file"),),
    without_pil=3,
)


def test_environments_have_a_line_and_only_problems_have_details(golden: Golden) -> None:
    text = survey_text(SURVEY, Page())
    lines = [line for line in text.splitlines() if not line.startswith("  ")]
    assert [line.split()[0] for line in lines] == ["hint", "error", "unknown", "3"]
    golden(text)
    assert text.count("fastinstall doctor --fix") == 1
    assert "/c/bin/python: no such file" in text


def test_verbose_shows_hints_too() -> None:
    assert "is hint" in survey_text(SURVEY, Page(verbose=True))
    assert "is ok" not in survey_text(SURVEY, Page(verbose=True))


def test_where_none_is_known_it_says_so(golden: Golden) -> None:
    golden(survey_text(Survey(status=Status.OK, reports=()), Page()))
