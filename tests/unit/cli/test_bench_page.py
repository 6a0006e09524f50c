"""The page of bench: stands by itself, takes no markup from anybody, and can be read by everybody."""

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path, PurePath

import pytest
from support.bench.reports import bare_report, report, small_jpegs, whole_report

from fastinstall.bench.report import Stage
from fastinstall.cli.bench import html_page
from fastinstall.cli.bench.html_page import bench_html

_VOID = {"meta"}
STYLE = Path(html_page.__file__).with_name("page.css").read_text("utf-8")
LIGHT, DARK, _PRINT = (dict(re.findall(r"--(\w+):(#\w+)", each)) for each in STYLE.split(":root")[1:])


class _Page(HTMLParser):
    """Tags, attributes and text of a page; every tag has to be closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in _VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] != "style":
            self.words.append(data)


PAGE = _Page(bench_html(whole_report()))


def test_every_tag_is_closed() -> None:
    assert PAGE.open == []


def test_it_loads_nothing_from_elsewhere_and_runs_nothing() -> None:
    text = bench_html(whole_report())
    assert {tag for tag, _ in PAGE.tags} & {"script", "link", "img", "iframe", "object", "base"} == set()
    assert not any(name in ("src", "href") or name.startswith("on") for _, found in PAGE.tags for name in found)
    assert "@import" not in text
    assert "url(" not in text


def test_names_of_files_are_text() -> None:
    text = bench_html(whole_report())
    assert "<script>alert(1)</script>" not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;.jpg" in text
    assert "\x1b" not in text


def test_whatever_is_foreign_is_escaped() -> None:
    evil = '<b onclick="x">\'&'
    result = small_jpegs()
    advised = replace(result.advice[0].finding, message=evil)
    result = replace(
        result,
        workload=replace(result.workload, name=evil),
        verdict=replace(result.verdict, sentence=evil, evidence=(evil,)),
        baseline=replace(result.baseline, candidate=replace(result.baseline.candidate, name=evil, title=evil)),
        candidates=tuple(
            replace(each, reason=evil, candidate=replace(each.candidate, name=evil, title=evil), versions={evil: evil})
            for each in result.candidates
        ),
        advice=tuple(replace(each, finding=advised, code=evil) for each in result.advice),
    )
    text = bench_html(replace(report(result), prefix=PurePath(evil), remarks=(evil,)))
    assert "<b" not in text.replace("<body", "")
    assert text.count("&lt;b onclick=&#34;x&#34;&gt;&#39;&amp;") >= 12


def test_it_says_what_the_text_says() -> None:
    words = " ".join(PAGE.words)
    for said in ("resize-bound", "1.97x (1.94-2.00)", "fastinstall setup --prefix /envs/train", "6.40 / 181 aliased"):
        assert said in words
    assert "killed by signal SIGSEGV" in words
    assert "rotate 10 bicubic" in words


def test_a_baseline_that_crashed_has_no_bars() -> None:
    page = _Page(bench_html(bare_report()))
    assert "svg" not in {tag for tag, _ in page.tags}
    assert any("killed by signal SIGILL" in word for word in page.words)


def test_a_phone_is_given_its_own_width_and_tables_scroll_in_their_boxes() -> None:
    assert ("meta", {"name": "viewport", "content": "width=device-width, initial-scale=1"}) in PAGE.tags
    tags = [tag for tag, _ in PAGE.tags]
    boxes = sum(found.get("class") == "wide" for _, found in PAGE.tags)
    assert boxes == tags.count("table") > 0
    assert ".wide{overflow-x:auto" in STYLE


def test_every_stage_has_a_colour() -> None:
    names = [*Stage, "hand-over", "read-from-disk"]
    assert [stage for stage in names if not (f".stage-{stage}{{" in STYLE and f".key-{stage}{{" in STYLE)] == []


def test_no_letter_is_smaller_than_16_pixels_on_a_screen() -> None:
    screen = STYLE.partition("@media print")[0]
    sizes = [float(size) for size in re.findall(r"font(?:-size)?:(?:\d+ )?([\d.]+)rem", screen)]
    assert min(sizes) >= 1
    assert not re.search(r"font(?:-size)?:[\d.]+(?:px|pt|em)\b", screen)


@pytest.mark.parametrize(
    ("ink", "paper"),
    [
        (each[ink], each[paper])
        for each in (LIGHT, DARK)
        for ink, paper in (("ink", "paper"), ("ink", "box"), ("faint", "paper"))
    ],
)
def test_text_stands_out_from_its_ground_by_day_and_night(ink: str, paper: str) -> None:
    assert _contrast(ink, paper) >= 4.5


def _contrast(one: str, other: str) -> float:
    """The ratio of WCAG 2.2, "contrast ratio"."""
    lighter, darker = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: str) -> float:
    parts = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
