"""The table of all figures: one line a figure, whatever files are called."""

import csv
import io
from dataclasses import replace
from pathlib import PurePath

from bench_reports import HOSTILE, bare_report, whole_report

from fastinstall.bench.report import BenchReport
from fastinstall.cli.bench.outputs import COLUMNS, bench_csv


def _rows(report: BenchReport) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(bench_csv(report), newline=""), strict=True))


def _value(rows: list[dict[str, str]], **wanted: str) -> list[str]:
    return [row["value"] for row in rows if all(row[column] == value for column, value in wanted.items())]


def test_every_line_has_every_column_and_lines_end_as_the_standard_says() -> None:
    text = bench_csv(whole_report())
    assert text.partition("\r\n")[0] == ",".join(COLUMNS)
    assert all(None not in row and None not in row.values() for row in _rows(whole_report()))


def test_figures_are_found_by_workload_section_name_and_metric() -> None:
    rows = _rows(whole_report())
    small, large = "photos of ./train", "12 MP JPEG (generated)"
    assert _value(rows, workload=small, section="stage", name="baseline", metric="resize") == ["0.7"]
    assert _value(rows, workload=large, section="candidate", name="pillow-draft", metric="gain") == ["4.05"]
    assert _value(rows, workload=small, section="candidate", name="bmp", metric="stored") == ["4860000000"]
    assert _value(rows, workload=small, section="candidate", name="imagecodecs", metric="outcome") == ["crashed"]
    forked = {"section": "workers", "name": "baseline", "workers": "2", "start": "fork", "cache": "warm"}
    assert [round(float(each)) for each in _value(rows, workload=small, **forked)] == [1293]
    assert _value(rows, section="operation", name="rotate 10 bicubic", metric="gain") == ["0.775"]


def test_a_gain_has_its_bounds() -> None:
    found = next(row for row in _rows(whole_report()) if row["metric"] == "gain" and row["name"] == "opencv-linear")
    assert (found["low"], found["high"], found["unit"]) == ("2.41", "2.81", "x")


def test_a_name_that_a_spreadsheet_would_calculate_is_text() -> None:
    hostile = replace(bare_report(), prefix=PurePath("=1+1"), remarks=("-2", "+3", "@SUM(A1)", "\t=1", "\r=1"))
    cells = [cell for row in _rows(hostile) for cell in row.values()]
    assert {"'=1+1", "'-2", "'+3", "'@SUM(A1)"} <= set(cells)
    assert not any(cell.startswith(("=", "+", "-", "@", "\t", "\r")) for cell in cells)


def test_names_of_images_come_through_and_steer_no_terminal() -> None:
    text = bench_csv(whole_report())
    assert "\x1b" not in text
    told = next(row["note"] for row in _rows(whole_report()) if row["name"] == "truncated")
    assert HOSTILE[3] in told  # a line end inside a field is quoted
