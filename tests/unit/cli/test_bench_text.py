"""The report of bench as text: verdict, figures and advice at any width, without colour, and with hostile names."""

import re
from dataclasses import replace

import pytest
from bench_reports import bare_report, large_jpegs, nothing_helps, report, small_jpegs, whole_report

from fastinstall.bench.report import BenchReport
from fastinstall.cli.bench.text import bench_brief, bench_text
from fastinstall.cli.console import Page, strip_control_characters

NARROW = Page(width=80)


def _lines(found: BenchReport, page: Page = NARROW) -> list[str]:
    return strip_control_characters(bench_text(found, page), colour=page.colour).splitlines()


def _text(found: BenchReport) -> str:
    """All of it in one line, as if it had never been broken."""
    return " ".join(" ".join(_lines(found)).split())


def test_every_workload_begins_with_its_verdict() -> None:
    heads = [line for line in _lines(whole_report()) if re.match(r"(photos|12 MP|PNG)", line)]
    assert heads[:3] == [
        "photos of ./train: resize-bound",
        "12 MP JPEG (generated): decode-bound",
        "PNG (generated): fast enough",
    ]


@pytest.mark.parametrize("width", [80, 100, 120])
def test_no_line_but_a_command_is_wider_than_the_terminal(width: int) -> None:
    wide = [line for line in _lines(whole_report(), Page(width=width)) if len(line) > width]
    assert [line for line in wide if "fastinstall bench --print-code" not in line] == []


def test_a_gain_bears_its_bounds_and_what_is_not_the_same_picture_is_marked() -> None:
    rows = {line.split()[0]: line for line in _lines(whole_report(), Page(width=120)) if line.strip()}
    assert "2.61x (2.41-2.81)" in rows["opencv-linear"]
    assert "6.40 / 181 aliased" in rows["opencv-linear"]
    assert "none" in rows["huge-pages"]
    assert "aliased" not in rows["fastinstall"]


def test_a_store_says_what_it_takes() -> None:
    assert "bmp (4.86 GB, 13.9x the files)" in " ".join(_lines(whole_report(), Page(width=120)))


def test_what_was_not_measured_says_why() -> None:
    text = _text(report(small_jpegs()))
    assert "jpeg4py: missing: jpeg4py is not installed; fastinstall bench --with jpeg4py" in text
    assert "imagecodecs: crashed: killed by signal SIGSEGV" in text
    assert "pyvips: hung: gave no answer within 60 s" in text
    assert "nvidia-dali: unsuited: there is no NVIDIA GPU" in text


def test_images_that_were_left_out_are_counted_and_named_and_steer_no_terminal() -> None:
    text = bench_text(report(small_jpegs()), NARROW)
    assert "4 truncated: " in text
    assert "1 CMYK: /data/train/print.jpg" in text
    assert "\x1b" not in strip_control_characters(text)
    assert not any(line.startswith("b.jpg") for line in text.splitlines())


def test_advice_comes_with_what_to_type_in_one_line() -> None:
    lines = [line.strip() for line in _lines(report(small_jpegs()), Page(width=40))]
    assert "fastinstall bench --print-code opencv-linear > loader.py" in lines
    assert "cv2.resize(image, size, interpolation=cv2.INTER_LINEAR)" in lines


def test_the_recommended_advice_is_where_to_begin() -> None:
    result = small_jpegs()
    first, second, *rest = result.advice
    marked = replace(result, advice=(first, replace(second, recommended=True), *rest))
    assert "2. begin here: 2.61x" in _text(report(marked))
    assert "2.61x" in bench_brief(report(marked), NARROW)
    assert "1.97x" not in bench_brief(report(marked), NARROW)


def test_quiet_says_verdict_and_first_advice_alone() -> None:
    lines = bench_brief(report(large_jpegs(), nothing_helps()), Page()).splitlines()
    assert lines == [
        "12 MP JPEG (generated): decode-bound: Decoding takes 82% of an image's time.",
        "  4.05x (4.02-4.08): let the decoder give a smaller picture",
        "  apply it",
        '    image.draft("RGB", (512, 512))',
        "PNG (generated): fast enough: 403 images/s, 100 are wanted.",
        "  leave it alone: the best candidate would gain 1%",
        "  apply it",
    ]


def test_quick_is_short_and_verbose_shows_all_of_it() -> None:
    whole = whole_report()
    quick = replace(whole, effort="quick")
    assert len(_lines(quick)) < len(_lines(whole)) - 30
    assert "not measured: jpeg4py, imagecodecs, pyvips, nvidia-dali: --verbose tells why" in _text(quick)
    assert _lines(quick, Page(width=80, verbose=True))[3:] == _lines(whole)[3:]


def test_a_candidate_that_somebody_asked_for_says_why_it_is_not_there_even_when_quick() -> None:
    result = small_jpegs()
    found = replace(result, candidates=(*result.candidates[:1], result.candidates[-1]))
    assert "nvidia-dali: unsuited: there is no NVIDIA GPU" in _text(report(found, effort="quick"))


def test_a_long_report_ends_with_what_it_comes_to() -> None:
    whole = whole_report()
    assert bench_text(whole, NARROW).endswith(f"in short\n{bench_brief(whole, NARROW)}")
    assert "in short" not in _text(report(nothing_helps()))


def test_losses_of_operations_are_told() -> None:
    text = _text(whole_report())
    assert "2 faster, 1 slower, 1 within 5%; geometric mean of these 4: 2.29x" in text
    assert "slower: rotate 10 bicubic (0.78x)" in text


def test_without_block_characters_the_bars_are_drawn_in_ascii() -> None:
    text = bench_text(whole_report(), NARROW, unicode=False)
    assert text.isascii()
    assert re.search(r"resize +0\.700 +50% +#{15}\n", text)


def test_colour_adds_nothing_that_is_not_written_too() -> None:
    painted = "\n".join(_lines(whole_report(), Page(width=80, colour=True)))
    assert "\x1b[32m" in painted
    assert "\\u001b" not in painted.replace("\\u001b[2Jcleared", "")
    plain = re.sub(r"\x1b\[\d+m", "", painted)
    assert [line.rstrip() for line in plain.splitlines()] == _lines(whole_report())


def test_a_baseline_that_crashed_is_told_and_nothing_else_is_claimed() -> None:
    text = _text(bare_report())
    assert "not measured: crashed: killed by signal SIGILL" in text
    assert "images/s in one process" not in text
    assert "gain:" not in text


def test_operations_alone_make_a_report() -> None:
    text = _text(replace(whole_report(), workloads=()))
    assert "resize 1080p-256 RGB lanczos" in text
    assert "gain:" not in text
