"""The sentences of a page in Markdown, and how many words each has.

A paragraph, an item of a list and a cell of a table are read by themselves. Code counts as one word, a link as its
text. What stands between " · " in a line of links counts as a sentence of its own.
"""

import re
from collections.abc import Iterator

from support.docs.pages import without_code

_ITEM = re.compile(r"\s*(?:[-*]|\d+\.) +")
_CELL = re.compile(r"(?:\\\||`[^`]*`|[^|])+")
_RULE = re.compile(r"[|\-: ]+")
_ABBREVIATION = re.compile(r"\b(?:e\.g|i\.e|vs|etc|cf)\.")
_END = re.compile(r" · |[.!?][)\"*_]*(?:\s+|$)")
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_APART = re.compile(r"[\s/]+|--|\u2013|\u2014")


def sentences_of(text: str) -> list[str]:
    """The sentences of a page, without its code blocks and headings, with blanks for line breaks."""
    return [sentence for part in _parts(text) for sentence in _cut(part)]


def count_words(sentence: str) -> int:
    """How many words a reader reads; a code span is one."""
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
