"""Sentences on pages are short, and pages for users use words that users know (style: CONTRIBUTING.md)."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.docs.pages import ROOT, page_files, page_name, without_code

_ITEM = re.compile(r"\s*(?:[-*]|\d+\.) +")
_CELL = re.compile(r"(?:\\\||`[^`]*`|[^|])+")
_RULE = re.compile(r"[|\-: ]+")
_ABBREVIATION = re.compile(r"\b(?:e\.g|i\.e|vs|etc|cf)\.")
_END = re.compile(r" · |[.!?][)\"*_]*(?:\s+|$)")
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_APART = re.compile(r"[\s/]+|--|\u2013|\u2014")


def sentences_of(text: str) -> list[str]:
    """Return the sentences of a page, without code blocks and headings, and with blanks for line breaks."""
    return [sentence for part in _parts(text) for sentence in _cut(part)]


def count_words(sentence: str) -> int:
    """Return the number of words in a sentence; a code span is one word."""
    plain = _LINK.sub(r"\1", sentence)
    return len([word for word in _APART.split(re.sub(r"`[^`]*`", "code", plain)) if re.search(r"\w", word)])


def _parts(text: str) -> Iterator[str]:
    held: list[str] = []
    for line in (*without_code(text).split("\n"), ""):
        if not line.strip() or line.startswith(("#", "|")) or _ITEM.match(line):
            yield from filter(None, [" ".join(held)])
            held = []
        if line.startswith("|"):
            if not _RULE.fullmatch(line.strip()):
                yield from (cell.strip() for cell in _CELL.findall(line) if cell.strip())
        elif line.strip() and not line.startswith("#"):
            held.append(_ITEM.sub("", line.strip(), count=1) if _ITEM.match(line) else line.strip())


def _cut(part: str) -> Iterator[str]:
    hidden = _ABBREVIATION.sub(lambda found: found[0].replace(".", "x"), re.sub(r"`[^`]*`", _same_length, part))
    hidden = re.sub(r"(?<=\])\([^)]*\)", _same_length, hidden)
    start = 0
    for end in _END.finditer(hidden):
        yield part[start : end.end()].strip(" ·")
        start = end.end()
    if part[start:].strip():
        yield part[start:].strip()


def _same_length(found: re.Match[str]) -> str:
    return "x" * len(found[0])


PAGES = [*page_files(), *(ROOT / name for name in ("CONTRIBUTING.md", "SECURITY.md"))]
FOR_USERS = [
    *(page for page in page_files() if page.parent.name in {"tutorial", "how-to", "explanation"}),
    ROOT / "README.md",
    ROOT / "docs/README.md",
]

WORDS = 20
"""A sentence with more words is long."""

LONG_IN_ALL = 210
LONG_IN_A_PAGE = 1 / 6
FEW = 3
"""Number of long sentences that even a short page may have."""

OURS = re.compile(
    r"\b(?:ours|chassis|wish(?:es|ed)?|rooms?|way back|foretold|foretells?|trap|dance|mend(?:s|ed)?|spelt|"
    r"has not got|tidies|is content|released by death|the core was ours|tells a reason|leads astray)\b",
    re.IGNORECASE,
)
"""Words that users cannot know, metaphors, and words that a native engineer would not use."""


LINES_OF_README = 110
MOST_PAGES = 48
"""The permitted number of pages, not counting generated ones."""


def test_readme_is_short_and_pages_are_few() -> None:
    assert len((ROOT / "README.md").read_text("utf-8").splitlines()) <= LINES_OF_README
    written = [page for page in (ROOT / "docs").rglob("*.md") if page.parent.name != "reference"]
    assert len(written) <= MOST_PAGES


def _long(page: Path) -> list[str]:
    return [each for each in sentences_of(page.read_text("utf-8")) if count_words(each) > WORDS]


def test_few_sentences_are_long() -> None:
    long = {page_name(page): len(_long(page)) for page in PAGES}
    assert sum(long.values()) <= LONG_IN_ALL, sorted(long.items(), key=lambda item: -item[1])[:10]


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_no_page_has_many_long_sentences(page: Path) -> None:
    allowed = max(FEW, LONG_IN_A_PAGE * len(sentences_of(page.read_text("utf-8"))))
    long = _long(page)
    assert len(long) <= allowed, "\n".join(long)


@pytest.mark.parametrize("page", FOR_USERS, ids=page_name)
def test_pages_for_users_are_in_their_words(page: Path) -> None:
    prose = re.sub(r"`[^`]*`|\]\([^)]*\)", " ", without_code(page.read_text("utf-8")))
    assert OURS.findall(prose) == []


def test_sentences_are_counted_as_a_reader_reads_them() -> None:
    prose = "# T\n\nOne `code span here` two. Three\nfour ([a link](b.md#c.d)).\n"
    text = f"{prose}\n- item, e.g. this\n  one\n\n| a | b c. d |"
    found = sentences_of(text)
    assert found == [
        "One `code span here` two.",
        "Three four ([a link](b.md#c.d)).",
        "item, e.g. this one",
        "a",
        "b c.",
        "d",
    ]
    assert [count_words(each) for each in found] == [3, 4, 4, 1, 2, 1]
