"""The report of bench as text: verdict, figures and advice at any width, without colour, and with hostile names."""

import re
from dataclasses import replace

import pytest
from support.bench.reports import OPERATIONS, bare_report, large_jpegs, nothing_helps, report, small_jpegs, whole_report
from support.suite.golden import Golden

from fastinstall.bench.report import CONTROL, BenchReport, CandidateOutcome, SpeedAdvice
from fastinstall.cli.console import Page, strip_control_characters
from fastinstall.cli.text.bench_page import bench_brief, bench_text
from fastinstall.model.finding import Finding, Status

NARROW = Page(width=80)


NOT_MEASURED = {
    CandidateOutcome.MISSING,
    CandidateOutcome.CRASHED,
    CandidateOutcome.HUNG,
    CandidateOutcome.UNSUITED,
}
VERBOSE = Page(width=80, verbose=True)


def _lines(found: BenchReport, page: Page = NARROW) -> list[str]:
    return strip_control_characters(bench_text(found, page), colour=page.colour).splitlines()


def _text(found: BenchReport, page: Page = NARROW) -> str:
    """All of it in one line, as if it had never been broken."""
    return " ".join(" ".join(_lines(found, page)).split())


def test_every_workload_begins_with_its_verdict() -> None:
    heads = [line for line in _lines(whole_report()) if re.match(r"(photos|12 MP|PNG)", line)]
    assert heads[:3] == [
        "photos of ./train: resize-bound",
        "12 MP JPEG (generated): decode-bound",
        "PNG (generated): fast enough",
    ]


@pytest.mark.parametrize("width", [80, 100, 120])
def test_no_line_but_a_command_is_wider_than_the_terminal(width: int) -> None:
    for verbose in (False, True):
        wide = [line for line in _lines(whole_report(), Page(width=width, verbose=verbose)) if len(line) > width]
        assert [line for line in wide if "fastinstall bench --print-code" not in line] == []


def test_a_gain_bears_its_bounds_and_what_is_not_the_same_picture_is_marked() -> None:
    rows = {line.split()[0]: line for line in _lines(whole_report(), Page(width=120)) if line.strip()}
    assert "2.61x (2.41-2.81)" in rows["opencv-linear"]
    assert "6.40 / 181 aliased" in rows["opencv-linear"]
    assert "none" in rows["huge-pages"]
    assert "aliased" not in rows["fastinstall"]


def test_a_store_says_what_it_takes() -> None:
    assert re.search(r"bmp \(4\.9 GB, 13\.9x", " ".join(_lines(whole_report(), Page(width=120))))


def test_what_was_not_measured_says_why() -> None:
    text = _text(report(small_jpegs()), VERBOSE)
    failed = [each for each in small_jpegs().candidates if each.timing is None]
    assert {each.outcome for each in failed} >= NOT_MEASURED
    for each in failed:
        assert f"{each.candidate.name}: {each.outcome.value}: {each.reason}" in text
    assert "fastinstall bench --with turbojpeg" in text


def test_images_that_were_left_out_are_counted_and_named_and_steer_no_terminal() -> None:
    assert "4 truncated, 1 CMYK" in _text(report(small_jpegs()))
    text = bench_text(report(small_jpegs()), VERBOSE)
    assert "4 truncated: " in text
    assert "1 CMYK: /data/train/print.jpg" in text
    assert "\x1b" not in strip_control_characters(text)
    assert not any(line.startswith("b.jpg") for line in text.splitlines())


def test_advice_comes_with_what_to_type_in_one_line() -> None:
    lines = [line.strip() for line in _lines(report(small_jpegs()), Page(width=40, verbose=True))]
    commands = [each.finding.remedy.command for each in small_jpegs().advice if each.finding.remedy]
    assert {command for command in commands if command} <= set(lines)
    assert any(commands)
    assert "cv2.resize(image, size, interpolation=cv2.INTER_LINEAR)" in lines


def test_the_one_change_to_make_stands_right_below_the_verdict() -> None:
    result = small_jpegs()
    first, second, *rest = result.advice
    marked = report(replace(result, advice=(first, replace(second, recommended=True), *rest)))
    lines = _lines(marked)
    place = next(number for number, line in enumerate(lines) if line.startswith("photos of ./train"))
    assert "change this first: 2.61x (2.41-2.81)" in " ".join(lines[place : place + 4])
    assert next(number for number, line in enumerate(lines) if "candidate" in line) > place + 4
    assert "1.97x" in _text(marked, VERBOSE)
    assert "2.61x" in bench_brief(marked, NARROW)
    assert "1.97x" not in bench_brief(marked, NARROW)


def test_what_is_in_place_already_is_told_before_the_change() -> None:
    result = small_jpegs()
    known = SpeedAdvice(
        candidate="official-wheel",
        gain=None,
        finding=Finding(check="data-loading", status=Status.OK, message="already 1.7x stock"),
    )
    advised = replace(result.advice[0], recommended=True)
    text = _text(report(replace(result, advice=(known, advised))))
    assert text.index("already 1.7x stock") < text.index("change this first")


def test_a_control_is_named_as_one() -> None:
    result = small_jpegs()
    ours = result.candidates[1]
    again = replace(ours.candidate, name="control")
    control = replace(ours, reason=f"{CONTROL}it is the baseline again", candidate=again)
    text = _text(report(replace(result, candidates=(control,))), Page(width=120))
    assert "control: cannot change anything here" in text


def test_quiet_says_verdict_and_first_advice_alone(golden: Golden) -> None:
    golden(bench_brief(report(large_jpegs(), nothing_helps()), Page()))


def test_by_default_it_is_short_and_verbose_shows_all_of_it() -> None:
    whole = whole_report()
    text, details = _text(whole), _text(whole, VERBOSE)
    assert len(_lines(whole)) < len(_lines(whole, VERBOSE)) - 40
    assert text.endswith("--verbose")
    for only_verbose in ("hand over", "first batch", "images: 120 images", "turbojpeg: missing"):
        assert only_verbose in details
        assert only_verbose not in text


def test_a_candidate_that_somebody_asked_for_says_why_it_is_not_there() -> None:
    result = small_jpegs()
    found = replace(result, candidates=(*result.candidates[:1], result.candidates[-1]))
    assert f"nvidia-dali: unsuited: {found.candidates[-1].reason}" in _text(report(found))


def test_losses_of_operations_are_told(golden: Golden) -> None:
    lines = _lines(whole_report())
    start = next(number for number, line in enumerate(lines) if "rotate 10 bicubic" in line)
    golden("\n".join(lines[start:]))


def test_what_the_noise_explains_is_no_loss() -> None:
    noisy = replace(OPERATIONS, noise=0.5)
    assert not any("slower: " in line for line in _lines(report(operations=noisy)))


def test_colour_adds_nothing_that_is_not_written_too() -> None:
    painted = "\n".join(_lines(whole_report(), Page(width=80, colour=True)))
    assert "\x1b[32m" in painted
    assert "\\u001b" not in painted.replace("\\u001b[2Jcleared", "")
    plain = re.sub(r"\x1b\[\d+m", "", painted)
    assert [line.rstrip() for line in plain.splitlines()] == _lines(whole_report())


def test_a_baseline_that_crashed_is_told_and_nothing_else_is_claimed() -> None:
    text = _text(bare_report())
    assert "crashed: killed by signal SIGILL" in text
    assert "images/s in one process" not in text
    assert "gain:" not in text


def test_operations_alone_make_a_report() -> None:
    text = _text(replace(whole_report(), workloads=()))
    assert "resize 1080p-256 RGB lanczos" in text
    assert "gain:" not in text
