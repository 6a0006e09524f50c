"""What the tests of the merge share: short C functions, and a comparison that sees no white space."""

from collections.abc import Collection

from fastinstall.cmerge.documents import TextOrigin
from fastinstall.cmerge.file_merge import ItemOutcome, MergedText, merge_texts
from fastinstall.cmerge.syntax import tokens


def function(*statements: str, head: str = "static int run(image *im, int n)") -> str:
    return f"{head} {{\n" + "".join(f"    {statement}\n" for statement in statements) + "}\n"


def outcomes(merged: MergedText) -> dict[str, TextOrigin]:
    return {outcome.name: outcome.origin for outcome in merged.outcomes}


def expect_merge(texts: tuple[str, str, str], expected: str, origin: TextOrigin = TextOrigin.MERGED) -> None:
    merged = merge_texts(*texts)
    assert tokens(merged.text) == tokens(expected), merged.text
    assert [outcome.origin for outcome in merged.outcomes] == [origin]


def expect_conflict(texts: tuple[str, str, str], keep: Collection[str] = ()) -> ItemOutcome:
    """The one item is in conflict, and its text is upstream's."""
    merged = merge_texts(*texts, keep)
    conflicts = [outcome for outcome in merged.outcomes if outcome.origin is TextOrigin.CONFLICT]
    assert conflicts, merged.text
    assert merged.text == texts[1]
    return conflicts[0]
