"""Reports of doctor, errors and speed tables as text."""

import re
from dataclasses import replace

import pytest
from support.suite.golden import Golden
from support.values.builders import environment, levelled_facts

from fastinstall.cli.console import Page
from fastinstall.cli.text.reports import error_text, list_stack, render_speed_table, report_text
from fastinstall.core.errors import DeclinedError, ExitCode, RefusedError
from fastinstall.model.finding import COLUMN, EnvironmentReport, Finding, Remedy, Status
from fastinstall.model.speed import SpeedRow, SpeedTable

ADVISORIES = tuple(f"CVE-2026-{number} (high): something is read out of bounds." for number in range(1000, 1020))
WIDE = Page()
FULL = Page(verbose=True)
NARROW = Page(width=80)


def _report() -> EnvironmentReport:
    return EnvironmentReport(
        environment=environment(),
        status=Status.ERROR,
        findings=(
            Finding(check="cpu-level", status=Status.OK, message="this CPU offers x86-64-v3", evidence=("not shown",)),
            Finding(
                check="swapped",
                status=Status.ERROR,
                message="pillow 13.0.0 has taken the place of pillow 12.1.1+simd.v3, and pip has put it there today",
                evidence=ADVISORIES,
                expected="one",
                observed="another",
                remedy=Remedy(text="put it back", command="fastinstall doctor --fix --prefix /srv/images/env"),
            ),
        ),
    )


def test_a_report_says_what_is_wrong_and_ends_with_the_repair(golden: Golden) -> None:
    report, wrong = _report(), _report().findings[1]
    golden(report_text(report, WIDE, ("not shown",)), "of one error")
    hint, warning = Finding(check="a", status=Status.HINT, message="m"), replace(wrong, status=Status.WARNING)
    both, some = (replace(report, findings=found) for found in ((warning, wrong), (warning, hint, wrong)))
    for about, each in (("of two that are fixed", both), ("of three, two of which are fixed", some)):
        *_, last = report_text(each, WIDE, ()).splitlines()
        assert wrong.remedy is not None
        assert last.endswith(f": {wrong.remedy.command}")
        golden(last, about)


def test_where_checks_are_named_each_has_its_line() -> None:
    named = [line.split()[:2] for line in report_text(_report(), WIDE).splitlines()]
    assert ["ok", "cpu-level"] in named
    assert ["error", "swapped"] in named


def test_a_healthy_report_has_three_lines() -> None:
    report = replace(_report(), status=Status.OK, findings=_report().findings[:1])
    lines = report_text(report, WIDE, list_stack(levelled_facts())).splitlines()
    assert len(lines) == 3
    assert lines[0].endswith(" in /srv/images/env")
    assert lines[1].startswith("code for x86-64-v3 (AVX2) on ")
    assert "libjpeg-turbo 3." in lines[1]
    assert lines[2] == "1 check passed"


def test_verbose_details_problems_and_gives_one_line_to_the_rest(golden: Golden) -> None:
    told = report_text(_report(), FULL, ())
    assert set(ADVISORIES) <= {line.strip() for line in told.splitlines()}
    golden(told)


def test_a_long_message_hangs_below_its_own_column() -> None:
    lines = report_text(_report(), NARROW, ()).splitlines()
    assert lines[1].startswith(" " * lines[0].index("pillow 13.0.0") + "and pip has")


def test_a_report_says_the_same_without_colour() -> None:
    painted = report_text(_report(), Page(colour=True))
    assert "\x1b[31m" in painted
    assert re.sub(r"\x1b\[\d+m", "", painted) == report_text(_report(), WIDE)


def test_an_error_tells_what_the_details_and_the_hint() -> None:
    error = RefusedError("it is held", hint="wait", details=("by 4711",))
    assert error_text(error, WIDE) == "error: it is held\n  by 4711\n  hint: wait\n"


def test_error_details_are_never_cut_because_a_logs_end_matters() -> None:
    details = tuple(f"line {number}" for number in range(40))
    assert "line 39" in error_text(RefusedError("it does not compile", details=details), NARROW)


def test_a_speed_table_marks_slower_rows_and_aligns_its_columns(golden: Golden) -> None:
    table = SpeedTable(
        baseline="pillow 13.0.0 (wheel)",
        candidate="pillow 12.1.1+simd.v3",
        cpu="AMD EPYC",
        measured_at="2026-11-21T10:00:00+00:00",
        geomean=2.5,
        rows=(
            SpeedRow(operation="resize lanczos", before_ms=20.0, after_ms=2.0),
            SpeedRow(operation="chops add", before_ms=1.0, after_ms=2.0),
            SpeedRow(operation="within the noise", before_ms=0.96, after_ms=1.0),
            SpeedRow(operation="immeasurable", before_ms=1.0, after_ms=0.0),
        ),
    )
    told = render_speed_table(table, WIDE)
    golden(told)
    _head, _occasion, titles, *rows = told.splitlines()
    assert rows[0].endswith("  10.0x")
    assert [row.partition("  ")[0] for row in rows if row.endswith("slower")] == ["chops add"]
    assert len({row.index("x", 31) for row in rows}) == 1
    assert titles.index("faster") + len("faster") == rows[0].index("x", 31) + 1
    narrow = render_speed_table(table, Page(width=40))
    assert {"20.00", "2.00", "10.0x", "2.5x"} <= set(narrow.split()), "no figure is broken"
    assert rows[-1].startswith("geometric mean")


def test_an_earlier_speed_table_says_when_and_where_it_was_taken(golden: Golden) -> None:
    table = SpeedTable(
        baseline="pillow 13.0.0 (wheel)",
        candidate="pillow 12.1.1+simd.v3",
        cpu="AMD EPYC",
        measured_at="2026-11-21T10:03:20+00:00",
        geomean=2.5,
        rows=(SpeedRow(operation="resize lanczos", before_ms=20.0, after_ms=2.0),),
        python="3.11.2",
        prefix="/srv/first",
        reused=True,
    )
    golden(render_speed_table(table, WIDE).splitlines()[1], "recorded")
    golden(render_speed_table(replace(table, python="", prefix=""), WIDE).splitlines()[1], "not recorded")
    assert "earlier" not in render_speed_table(replace(table, reused=False), WIDE)


TABLE = (
    COLUMN.join(("jpeg", "libjpeg-turbo 3.2.0", "SIMD", "pillow.libs of pillow 13.0.0", "lib/libjpeg-6dc8d115.so.62")),
    COLUMN.join(("zlib", "zlib 1.2.13", "-", "the operating system's", "/lib/x86_64-linux-gnu/libz.so.1")),
    "what is no row of it",
)


@pytest.mark.parametrize("width", [None, 80, 60])
def test_an_ok_check_that_was_named_shows_its_table_at_any_width(width: int | None, golden: Golden) -> None:
    found = Finding(check="libraries-resolve", status=Status.OK, message="all are found", evidence=TABLE)
    report = replace(_report(), status=Status.OK, findings=(found,))
    page = Page(width=width, verbose=True)
    told = report_text(report, page)
    golden(told, f"in {width or 'any'} columns")
    assert width is None or max(map(len, told.splitlines())) <= width
    assert "libz" not in report_text(report, page, ()), "nobody asked for this check"


@pytest.mark.parametrize(("error", "first"), [(DeclinedError("no"), "no"), (RefusedError("no"), "error: no")])
def test_a_persons_choice_is_not_called_an_error(error: RefusedError, first: str) -> None:
    assert error_text(error, WIDE) == f"{first}\n"
    assert error.exit_code is ExitCode.REFUSED
