"""The gain of a candidate, computed from its ratios to the baseline in rounds of measurement."""

import pytest

from fastinstall.bench._timing import shortest
from fastinstall.bench.comparison import compute_gain


@pytest.mark.parametrize(
    ("ratios", "expected"),
    [([2.0, 2.5, 20.0], (2.5, 2.0, 20.0)), ([2.0, 2.0, 2.0], (2.0, 2.0, 2.0)), ([0.5], (0.5, 0.5, 0.5))],
)
def test_a_gain_is_the_median_of_the_rounds(ratios: list[float], expected: object) -> None:
    gain = compute_gain(ratios)
    assert (gain.ratio, gain.low, gain.high) == expected
    assert gain.rounds == len(ratios)


def test_a_range_of_many_rounds_leaves_out_extremes() -> None:
    gain = compute_gain([2.0, 2.1, 0.6, 2.0, 1.9, 2.0, 2.0, 7.4])
    assert (gain.ratio, gain.low, gain.high, gain.rounds) == (2.0, 1.9, 2.1, 8)
    assert compute_gain([2.0, 2.1, 0.6, 2.0]).low == 0.6


def test_the_shortest_pass_counts_by_groups_of_passes() -> None:
    assert shortest([5.0, 3.0, 9.0, 4.0, 1.0], 2) == 3.5
    assert shortest([5.0, 3.0, 9.0], 0) == 3.0
