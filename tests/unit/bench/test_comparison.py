"""Rounds of two processes as gains and times, pictures as differences, and numbers of workers to try."""

from dataclasses import replace

import pytest

from fastinstall.bench._timing import shortest
from fastinstall.bench.comparison import (
    Round,
    choose_thread_counts,
    choose_worker_counts,
    compare_pictures,
    compute_drift,
    compute_gain,
    compute_ratios,
    compute_timing,
    explain_wrong_picture,
)
from fastinstall.bench.loading import LoadingMeasurement, Picture
from fastinstall.bench.report import Stage
from fastinstall.model.machine import LoaderLimits


def measured(read: float, decode: float, *, peak: int = 0) -> LoadingMeasurement:
    stages, whole = {"read": read, "decode": decode}, read + decode
    return LoadingMeasurement(ms=whole, least_ms=whole, stages=stages, images=2, passes=1, peak_bytes=peak, failed={})


def turns(baseline: list[float], other: list[float]) -> list[Round]:
    return [(measured(0, one), measured(0, another)) for one, another in zip(baseline, other, strict=True)]


@pytest.mark.parametrize(
    ("baseline", "other", "expected"),
    [
        ([10, 10, 100], [5, 4, 5], (2.5, 2.0, 20.0)),
        ([10, 20, 40], [5, 10, 20], (2.0, 2.0, 2.0)),
        ([5], [10], (0.5, 0.5, 0.5)),
    ],
)
def test_a_gain_is_the_median_of_the_rounds(baseline: list[float], other: list[float], expected: object) -> None:
    gain = compute_gain(compute_ratios(turns(baseline, other)))
    assert (gain.ratio, gain.low, gain.high) == expected
    assert gain.rounds == len(baseline)


def test_a_range_of_many_rounds_leaves_out_extremes() -> None:
    gain = compute_gain([2.0, 2.1, 0.6, 2.0, 1.9, 2.0, 2.0, 7.4])
    assert (gain.ratio, gain.low, gain.high, gain.rounds) == (2.0, 1.9, 2.1, 8)
    assert compute_gain([2.0, 2.1, 0.6, 2.0]).low == 0.6


def test_rounds_are_compared_by_their_shortest_passes() -> None:
    disturbed, quiet = replace(measured(0, 90), least_ms=10), replace(measured(0, 6), least_ms=5)
    assert compute_ratios([(disturbed, quiet)]) == [2.0]
    assert shortest([5.0, 3.0, 9.0, 4.0, 1.0], 2) == 3.5
    assert shortest([5.0, 3.0, 9.0], 0) == 3.0


def test_stages_add_up_to_the_whole() -> None:
    timing = compute_timing([measured(1, 8, peak=7), measured(2, 4, peak=9), measured(3, 6, peak=8)])
    assert [(each.stage, each.ms) for each in timing.stages] == [(Stage.READ, 2), (Stage.DECODE, 6)]
    assert (timing.ms, timing.images_per_second, timing.peak_bytes) == (8, 125, 9)
    assert sum(each.share for each in timing.stages) == pytest.approx(1)


def test_a_rate_fits_the_gain_on_a_machine_that_slows_down() -> None:
    alone, later = [measured(0, 8), measured(0, 8)], turns([16, 16], [4, 4])
    scale = compute_drift(later, alone)
    assert compute_timing(alone).ms / compute_timing([each for _, each in later], scale).ms == 4
    assert compute_drift(later, [replace(measured(0, 8), images=1)]) == compute_drift(later, []) == 1.0


def picture(data: bytes, *shape: int) -> Picture:
    return Picture(shape=shape or (len(data),), data=data)


def test_differences_count_by_pixels() -> None:
    small, large = picture(bytes(10)), picture(bytes(30))
    found = compare_pictures((small, large), (picture(bytes([4] * 10)), large))
    assert (found.mean, found.highest, found.images, found.same_shape) == (1.0, 4, 2, True)
    one, other = bytes(left for left in range(256) for _ in range(256)), bytes(range(256)) * 256
    every_pair = compare_pictures((picture(one),), (picture(other),))
    assert every_pair.mean == pytest.approx((256 * 256 - 1) / (3 * 256))
    assert every_pair.highest == 255


@pytest.mark.parametrize("other", [picture(bytes(12), 1, 4, 3), picture(bytes(9), 2, 2, 3)])
def test_pictures_of_another_shape_are_not_compared(other: Picture) -> None:
    assert not compare_pictures((picture(bytes(12), 2, 2, 3),), (other,)).same_shape


PHOTO = picture(bytes([120, 100, 80]) * 8, 2, 4, 3)
WRONG = {
    "black": picture(bytes(24), 2, 4, 3),
    "darker": picture(bytes([40, 30, 20]) * 8, 2, 4, 3),
    "cut otherwise": picture(bytes([120, 100, 80]) * 16, 4, 4, 3),
}
RIGHT = {
    "the same": PHOTO,
    "other colours": picture(bytes([140, 80, 70]) * 8, 2, 4, 3),
    "turned": picture(bytes([120, 100, 80]) * 8, 4, 2, 3),
    "no picture": picture(bytes(24)),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_picture_is_explained(name: str) -> None:
    assert explain_wrong_picture(PHOTO, WRONG[name], is_same_pipeline=True)
    explained = explain_wrong_picture(PHOTO, WRONG[name], is_same_pipeline=False)
    assert bool(explained) is (name == "black"), "an own loader may resize and normalise otherwise"


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_picture_is_not_wrong(name: str) -> None:
    assert explain_wrong_picture(PHOTO, RIGHT[name], is_same_pipeline=True) == ""


@pytest.mark.parametrize(
    ("cores", "quota", "workers", "threads"),
    [
        (1, None, (0, 1), (1,)),
        (4, None, (0, 1, 2, 4), (1, 4)),
        (6, None, (0, 1, 2, 4, 6), (1, 6)),
        (64, 12.0, (0, 1, 2, 4, 8, 12), (1, 12)),
        (8, 0.5, (0, 1), (1,)),
    ],
)
def test_powers_of_two_up_to_the_quota_are_tried(
    cores: int, quota: float | None, workers: tuple[int, ...], threads: tuple[int, ...]
) -> None:
    machine = LoaderLimits(cpu="", cores=cores, quota=quota)
    assert choose_worker_counts(machine, quick=False) == workers
    assert choose_thread_counts(machine, quick=False) == threads
    assert choose_worker_counts(machine, quick=True) == (0, workers[-1])
    assert choose_thread_counts(machine, quick=True) == ()
