"""The report of bench as text: verdict, figures and advice at any width, without colour, and with hostile names."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from support.suite.golden import Golden

from fastinstall.bench.report import BenchReport, CandidateKind, CandidateOutcome, SpeedAdvice, WorkloadResult
from fastinstall.cli.console import Page, strip_control_characters
from fastinstall.cli.text.bench_page import bench_brief, bench_text
from fastinstall.core import codec

FILE = Path(__file__).parents[2] / "cases/bench/report.json"
WHOLE = codec.open_document(BenchReport, "bench", json.loads(FILE.read_text()), file=FILE)
"""A report on small photos (missing and crashed candidates, hostile names), on large photos, and without gains."""
SMALL, LARGE, NOTHING = WHOLE.workloads
NARROW = Page(width=80)
VERBOSE = Page(width=80, verbose=True)


def _report(*workloads: WorkloadResult) -> BenchReport:
    return replace(WHOLE, workloads=workloads, operations=None)


def _lines(report: BenchReport, page: Page = NARROW) -> list[str]:
    return strip_control_characters(bench_text(report, page), colour=page.colour).splitlines()


def _text(report: BenchReport, page: Page = NARROW) -> str:
    """Return the report's text as one line, so that sentences can be found although the page wraps them."""
    return " ".join(" ".join(_lines(report, page)).split())


def test_every_workload_begins_with_its_verdict() -> None:
    assert [line for line in _lines(WHOLE) if re.match(r"(photos|12 MP|PNG)", line)] == [
        "photos of ./train: resize-bound",
        "12 MP JPEG (generated): decode-bound",
        "PNG (generated): fast enough",
    ]


@pytest.mark.parametrize("width", [80, 100, 120])
def test_only_commands_are_wider_than_the_terminal(width: int) -> None:
    for verbose in (False, True):
        wide = [line for line in _lines(WHOLE, Page(width=width, verbose=verbose)) if len(line) > width]
        assert [line for line in wide if "fastinstall bench --print-code" not in line] == []


def test_rows_have_bounds_marks_and_sizes() -> None:
    lines = _lines(WHOLE, Page(width=120))
    rows = {line.split()[0]: line for line in lines if line.strip()}
    assert "2.61x (2.41-2.81)" in rows["opencv-linear"]
    assert "6.40 / 181 aliased" in rows["opencv-linear"]
    assert "none" in rows["huge-pages"]
    assert "aliased" not in rows["fastinstall"]
    assert re.search(r"bmp \(4\.9 GB, 13\.9x", " ".join(lines))


def test_unmeasured_candidates_have_their_reason() -> None:
    text = _text(_report(SMALL), VERBOSE)
    failed = [each for each in SMALL.candidates if each.gain is None]
    assert {each.outcome for each in failed} == set(CandidateOutcome) - {
        CandidateOutcome.MEASURED,
        CandidateOutcome.FAILED,
    }
    for each in failed:
        assert f"{each.name}: {each.outcome.value}: {each.reason}" in text
    few = replace(SMALL, candidates=(*SMALL.candidates[:1], failed[-1]))
    assert f"{failed[-1].name}: unsuited: {failed[-1].reason}" in _text(_report(few))


def test_left_out_images_are_named_and_steer_no_terminal() -> None:
    assert "4 truncated, 1 CMYK" in _text(_report(SMALL))
    text = bench_text(_report(SMALL), VERBOSE)
    assert "4 truncated: " in text
    assert "1 CMYK: /data/train/print.jpg" in text
    assert "\x1b" not in strip_control_characters(text)
    assert not any(line.startswith("b.jpg") for line in text.splitlines())


def test_commands_stay_in_one_line() -> None:
    command = "fastinstall bench --quick --workload png --prefix /srv/env"
    remarked = replace(_report(SMALL), remarks=(f"no time was left for png; to measure it: {command}",))
    lines = [line.strip() for line in _lines(remarked, Page(width=40, verbose=True))]
    commands = [each.command for each in SMALL.advice]
    assert {command, *filter(None, commands)} <= set(lines)
    assert "cv2.resize(image, size, interpolation=cv2.INTER_LINEAR)" in lines


def test_the_one_change_is_right_below_the_verdict() -> None:
    first, second, *rest = SMALL.advice
    marked = _report(replace(SMALL, advice=(first, replace(second, recommended=True), *rest)))
    lines = _lines(marked)
    place = next(number for number, line in enumerate(lines) if line.startswith("photos of ./train"))
    assert "change this first: 2.61x (2.41-2.81)" in " ".join(lines[place : place + 4])
    assert "1.97x" in _text(marked, VERBOSE)
    assert "2.61x" in bench_brief(marked, NARROW)
    assert "1.97x" not in bench_brief(marked, NARROW)
    known = SpeedAdvice(candidate="official-wheel", message="already 1.7x stock")
    text = _text(_report(replace(SMALL, advice=(replace(first, recommended=True), known))))
    assert text.index("already 1.7x stock") < text.index("change this first")


def test_a_control_is_explained() -> None:
    control = replace(SMALL.candidates[1], name="control", kind=CandidateKind.CONTROL)
    text = _text(_report(replace(SMALL, candidates=(control,))), Page(width=120))
    assert "control: cannot change anything here" in text


def test_quiet_says_verdict_and_first_advice_alone(golden: Golden) -> None:
    golden(bench_brief(_report(LARGE, NOTHING), Page()))


def test_the_default_is_short_and_verbose_complete() -> None:
    text, details = _text(WHOLE), _text(WHOLE, VERBOSE)
    assert len(_lines(WHOLE)) < len(_lines(WHOLE, VERBOSE)) - 40
    assert text.endswith("--verbose")
    for only_verbose in ("hand over", "first batch", "images: 120 images", "turbojpeg: missing"):
        assert (only_verbose in details, only_verbose in text) == (True, False)


def test_losses_of_operations_are_named(golden: Golden) -> None:
    lines = _lines(WHOLE)
    start = next(number for number, line in enumerate(lines) if "rotate 10 bicubic" in line)
    golden("\n".join(lines[start:]))
    assert WHOLE.operations is not None
    noisy = _text(replace(WHOLE, workloads=(), operations=replace(WHOLE.operations, noise=0.5)))
    assert "resize 1080p-256 RGB lanczos" in noisy
    assert "slower: " not in noisy
    assert "gain:" not in noisy


@pytest.mark.parametrize("terminal", ["xterm", "dumb"])
def test_colour_adds_nothing_that_is_not_written(terminal: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", terminal)
    painted = "\n".join(_lines(WHOLE, Page(width=80, colour=True)))
    assert "\x1b[32m" in painted
    assert "\\u001b" not in painted.replace("\\u001b[2Jcleared", "")
    plain = re.sub(r"\x1b\[\d+m", "", painted)
    assert [line.rstrip() for line in plain.splitlines()] == _lines(WHOLE)
