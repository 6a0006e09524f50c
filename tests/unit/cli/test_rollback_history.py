from support.suite.golden import Golden

from fastinstall.cli.commands.rollback import history_text
from fastinstall.cli.console import Page
from fastinstall.model.history import Phase
from fastinstall.verbs.history import PastTransaction, Transactions

SETUP = PastTransaction(
    id="20261121T100000Z-000001",
    at="2026-11-21T10:00:00Z",
    state=Phase.COMMITTED,
    verb="setup",
    stack="pillow 13.0.0+simd.v2.v3",
    sequence=1,
    held="22.5 MB",
    held_bytes=22_500_000,
)
DAMAGED = PastTransaction(
    id="20261122T100000Z-000002",
    at="",
    state=Phase.DAMAGED,
    verb="",
    stack="",
    sequence=0,
    held="512 B",
    held_bytes=512,
    problem="journal.jsonl:2: not JSON",
)


def test_columns_are_aligned_and_end_with_a_total(golden: Golden) -> None:
    text = history_text(Transactions(transactions=(DAMAGED, SETUP), held_bytes=22_500_512), Page())
    golden(text)


def test_a_narrow_terminal_breaks_words_and_no_figure() -> None:
    text = history_text(Transactions(transactions=(SETUP,), held_bytes=22_500_000), Page(width=60))
    assert all(len(line) <= 60 for line in text.split("\n"))
    assert "22.5 MB" in text.split("\n")[1]


def test_where_there_is_nothing_that_is_said(golden: Golden) -> None:
    nothing = Transactions(transactions=(), held_bytes=0)
    golden(history_text(nothing, Page()))
