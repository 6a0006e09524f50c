from dataclasses import replace

import pytest

from fastinstall.bench._timing import shortest
from fastinstall.bench.comparison import Round, compute_drift, compute_gain, compute_ratios, compute_timing
from fastinstall.bench.loading import LoadingMeasurement
from fastinstall.bench.report import Stage


def measured(read: float, decode: float, *, peak: int = 0) -> LoadingMeasurement:
    stages = {"read": read, "decode": decode}
    whole = read + decode
    return LoadingMeasurement(ms=whole, least_ms=whole, stages=stages, images=2, passes=1, peak_bytes=peak, failed={})


def turns(baseline: list[float], other: list[float]) -> list[Round]:
    return [(measured(0, one), measured(0, another)) for one, another in zip(baseline, other, strict=True)]


def test_the_gain_is_the_median_of_the_rounds_and_not_the_ratio_of_their_sums() -> None:
    gain = compute_gain(compute_ratios(turns([10, 10, 100], [5, 4, 5])))
    assert (gain.ratio, gain.low, gain.high, gain.rounds) == (2.5, 2.0, 20.0, 3)


def test_rounds_are_compared_with_their_neighbour_so_that_a_machine_that_slows_down_does_no_harm() -> None:
    gain = compute_gain(compute_ratios(turns([10, 20, 40], [5, 10, 20])))
    assert (gain.ratio, gain.low, gain.high) == (2.0, 2.0, 2.0)


def test_rounds_are_compared_by_their_shortest_passes() -> None:
    disturbed = LoadingMeasurement(ms=90, least_ms=10, stages={}, images=2, passes=3, peak_bytes=0, failed={})
    quiet = LoadingMeasurement(ms=6, least_ms=5, stages={}, images=2, passes=3, peak_bytes=0, failed={})
    assert compute_ratios([(disturbed, quiet)]) == [2.0]


def test_less_than_one_is_slower() -> None:
    assert compute_gain(compute_ratios(turns([5], [10]))).ratio == 0.5


def test_the_stages_add_up_to_the_whole() -> None:
    timing = compute_timing([measured(1, 8, peak=7), measured(2, 4, peak=9), measured(3, 6, peak=8)])
    assert [(each.stage, each.ms) for each in timing.stages] == [(Stage.READ, 2), (Stage.DECODE, 6)]
    assert timing.ms == 8
    assert timing.images_per_second == 125
    assert sum(each.share for each in timing.stages) == pytest.approx(1)
    assert timing.peak_bytes == 9


def test_a_rate_is_told_as_at_the_time_when_the_baseline_was_measured_so_that_it_fits_the_gain() -> None:
    alone, later = [measured(0, 8), measured(0, 8)], turns([16, 16], [4, 4])
    scale = compute_drift(later, alone)
    assert scale == 0.5
    assert (
        compute_timing(alone).ms / compute_timing([each for _, each in later], scale).ms
        == compute_gain(compute_ratios(later)).ratio
    )


def test_a_baseline_on_other_images_tells_nothing_of_the_machine() -> None:
    assert compute_drift(turns([16], [4]), [replace(measured(0, 8), images=1)]) == 1.0
    assert compute_drift(turns([16], [4]), []) == 1.0


def test_of_many_rounds_those_in_which_another_program_ran_do_not_widen_the_range() -> None:
    gain = compute_gain([2.0, 2.1, 0.6, 2.0, 1.9, 2.0, 2.0, 7.4])
    assert (gain.ratio, gain.low, gain.high, gain.rounds) == (2.0, 1.9, 2.1, 8)
    assert compute_gain([2.0, 2.1, 0.6, 2.0]).low == 0.6


def test_the_faster_way_takes_the_shortest_of_as_many_passes_as_the_slower_one() -> None:
    assert shortest([5.0, 3.0, 9.0, 4.0, 1.0], 2) == 3.5
    assert shortest([5.0, 3.0, 9.0], 0) == 3.0
