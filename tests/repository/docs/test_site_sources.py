"""Pages look the same on the site and on GitHub: syntax that the two read differently is not used."""

import re
from collections.abc import Callable, Iterator
from itertools import pairwise

from support.docs.pages import ROOT, page_files, page_name, without_code

PAGES = [*page_files()[1:], *(ROOT / name for name in ("CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"))]
_ITEM = re.compile(r"(?:[-*]|\d+\.) ")
_LINK = re.compile(r"\]\((https?://[^)\s]*)\)")
_WHOLE = re.compile(r"https://[\w.-]+\.[a-z]{2,}(?:/[\w./#%+~:=?&@-]*)?")


def _everywhere(faults: Callable[[str], Iterator[str]]) -> list[str]:
    return [f"{page_name(page)}: {fault}" for page in PAGES for fault in faults(page.read_text(encoding="utf-8"))]


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    return pairwise(without_code(text).split("\n"))


def test_a_list_stands_behind_a_blank_line() -> None:
    def glued(text: str) -> Iterator[str]:
        for before, line in _pairs(text):
            if _ITEM.match(line) and before.strip() and not _ITEM.match(before) and not before.startswith(" "):
                yield line

    assert _everywhere(glued) == []


def test_a_table_stands_behind_a_blank_line() -> None:
    def glued(text: str) -> Iterator[str]:
        for before, line in _pairs(text):
            if line.startswith("|") and before.strip() and not before.startswith("|"):
                yield line

    assert _everywhere(glued) == []


def test_what_goes_on_in_a_list_is_indented_by_four() -> None:
    def shallow(text: str) -> Iterator[str]:
        yield from (line for before, line in _pairs(text) if not before.strip() and re.match(r" {1,3}\S", line))
        yield from (fence for fence in re.findall(r"^( +)```", text, re.MULTILINE) if len(fence) % 4)

    assert _everywhere(shallow) == []


def test_links_to_elsewhere_are_whole_and_encrypted() -> None:
    assert _everywhere(lambda text: (link for link in _LINK.findall(text) if not _WHOLE.fullmatch(link))) == []


def test_a_page_has_one_title_and_skips_no_level() -> None:
    def odd(text: str) -> Iterator[str]:
        levels = [len(heading) for heading in re.findall(r"^(#+) ", without_code(text), re.MULTILINE)]
        if levels.count(1) != 1 or levels[0] != 1:
            yield f"levels {levels}"
        yield from (f"{above} then {below}" for above, below in pairwise(levels) if below > above + 1)

    assert _everywhere(odd) == []
