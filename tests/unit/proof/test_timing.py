"""The verdict on an operation's speed, from rounds that time two stacks and the first one again."""

import math

from fastinstall.proof.timing import summarize_rounds


def test_medians_count_and_the_range_uses_both_old_processes() -> None:
    rounds = [(10.0, 5.0, 11.0), (12.0, 4.0, 10.0), (10.0, 5.0, 10.0)]
    row, noise = summarize_rounds("chops add", rounds) or (None, 1.0)
    assert row is not None
    assert (row.before_ms, row.after_ms) == (10.0, 5.0)
    assert (row.low, row.high) == (2.0, 3.0)
    assert noise == 0.0


def test_noise_is_how_much_the_old_one_differs_from_its_own() -> None:
    row, noise = summarize_rounds("chops add", [(10.0, 9.0, 8.0), (10.0, 9.0, 8.0)]) or (None, 0.0)
    assert row is not None
    assert noise == 0.25
    assert row.low is not None
    assert row.low < 1, "faster than one process of the old one only"


def test_one_round_has_no_range_and_what_fails_has_no_row() -> None:
    row, _ = summarize_rounds("chops add", [(10.0, 5.0, 10.0)]) or (None, 0.0)
    assert row is not None
    assert (row.low, row.high) == (None, None)
    assert summarize_rounds("chops add", [(10.0, math.inf, 10.0)]) is None
