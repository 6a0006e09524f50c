"""Where the results of doctor go: what is printed, what is written, and that neither is lost."""

from argparse import Namespace
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path, PurePath
from xml.etree import ElementTree as ET

import pytest
from support.values.builders import healthy_facts

from fastinstall.cli.console import Console
from fastinstall.cli.text.reports import open_outlet, tell_report, tell_survey, write_undetermined
from fastinstall.core.errors import UsageError
from fastinstall.model.finding import EnvironmentReport, Finding, Status, Survey, Unobservable

GONE = Unobservable(prefix=PurePath("/srv/old"), problem="gone")
QUIET = Console(quiet=True)


def _now() -> datetime:
    return datetime(2026, 11, 21, tzinfo=UTC)


def _report(status: Status) -> EnvironmentReport:
    finding = Finding(check="swapped", status=status, message="it is so")
    environment = replace(healthy_facts().environment, prefix=PurePath("/srv/env"))
    return EnvironmentReport(environment=environment, status=status, findings=(finding,))


def _told(status: Status, console: Console = QUIET, *, fail_on: str = "error", junit: Path | str = "") -> int:
    arguments = Namespace(junit=str(junit), fail_on=fail_on)
    return tell_report(_report(status), open_outlet(arguments, console, _now))


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


def test_junit_is_written_besides_what_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "reports" / "doctor.xml"
    assert _told(Status.ERROR, Console(), junit=file) == 3
    assert "it is so" in capsys.readouterr().out
    assert ET.parse(file).getroot().get("failures") == "1"  # noqa: S314 (of our own making)
    assert [each.name for each in file.parent.iterdir()] == ["doctor.xml"]
    assert _told(Status.OK, junit=file) == 0
    assert ET.parse(file).getroot().get("failures") == "0"  # noqa: S314 (likewise)


def test_a_place_that_is_no_file_of_its_own_is_refused_before_anything_is_examined(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to(tmp_path / "file")
    for junit in (tmp_path, tmp_path / "link", Path("/dev/null"), Path("/dev/stdout")):
        with pytest.raises(UsageError, match=f"--junit {junit}: "):
            open_outlet(Namespace(junit=str(junit), fail_on="error"), Console(), _now)


def test_where_writing_fails_in_the_end_the_result_was_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    directory = tmp_path / "gone"
    outlet = open_outlet(Namespace(junit=str(directory / "x.xml"), fail_on="error"), Console(), _now)
    directory.touch()
    with pytest.raises(UsageError, match="--junit"):
        tell_report(_report(Status.OK), outlet)
    assert "it is so" in capsys.readouterr().out


def test_where_nothing_could_be_observed_that_is_told_whatever_counts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "x.xml"
    outlet = open_outlet(Namespace(junit=str(file), fail_on="error"), QUIET, _now)
    survey = Survey(status=Status.UNKNOWN, reports=(), unobservable=(GONE,))
    assert tell_survey(survey, outlet) == 4
    assert capsys.readouterr().out == "/srv/old: unknown: gone\n"
    assert ET.parse(file).getroot().get("errors") == "1"  # noqa: S314 (of our own making)
    assert tell_survey(replace(survey, reports=(_report(Status.OK),)), outlet) == 0
    assert capsys.readouterr().out == ""
    assert len(ET.parse(file).getroot()) == 2  # noqa: S314 (likewise)


def test_a_target_that_cannot_be_observed_is_an_error_in_the_file(tmp_path: Path) -> None:
    outlet = open_outlet(Namespace(junit=str(tmp_path / "x.xml"), fail_on="error"), QUIET, _now)
    write_undetermined(GONE, outlet)
    assert ET.parse(tmp_path / "x.xml").getroot().get("errors") == "1"  # noqa: S314 (likewise)
