"""The summary figure of a build's speed, and which operations count as slower."""

from dataclasses import replace

import pytest
from support.suite.golden import Golden

from fastinstall.model.speed import HEADLINE, SpeedRow, SpeedTable

LOADING = SpeedRow(operation=HEADLINE, before_ms=20.0, after_ms=8.0, low=2.3, high=2.6)
SLOWER = SpeedRow(operation="chops add", before_ms=0.8, after_ms=1.0, low=0.7, high=0.9)
TABLE = SpeedTable(
    baseline="pillow 13.0.0 (wheel)",
    candidate="pillow 13.0.0+simd.v3",
    cpu="AMD EPYC",
    measured_at="2026-11-28T10:00:00+00:00",
    geomean=4.0,
    rows=(LOADING, SLOWER),
    noise=0.02,
)


def test_the_figure_is_of_what_loaders_do_and_not_a_mean(golden: Golden) -> None:
    golden(TABLE.gain, "of loaders")
    golden(replace(TABLE, rows=(SLOWER,)).gain, "a mean where JPEG is not there")


@pytest.mark.parametrize("after_ms", [19.7, 20.0, 20.3])
def test_a_build_against_itself_is_as_fast(after_ms: float) -> None:
    same = replace(TABLE, rows=(replace(LOADING, after_ms=after_ms, low=0.98, high=1.02),))
    assert same.gain.startswith("as fast as pillow 13.0.0 ")
    assert same.slower == ()


@pytest.mark.parametrize(
    ("ratio", "noise", "times"),
    [
        (1.1, 0.02, "1.1 times as fast"),
        (1.1, 0.06, "as fast"),  # a wheel timed against itself on a busy machine
        (0.9, 0.06, "as fast"),
        (0.8, 0.06, "0.8 times as fast"),
        (1.2, 0.9, "as fast"),
        (2.0, 0.9, "2.0 times as fast"),  # so much noise is an outlier, and must not hide a gain of 2
    ],
)
def test_a_figure_that_noise_explains_is_none(ratio: float, noise: float, times: str) -> None:
    loading = replace(LOADING, before_ms=20.0, after_ms=20.0 / ratio, low=ratio - 0.01, high=ratio + 0.01)
    assert replace(TABLE, rows=(loading,), noise=noise).gain.startswith(f"{times} as pillow 13.0.0 (wheel) at ")


def test_one_wild_round_hides_no_gain() -> None:
    assert replace(TABLE, rows=(replace(LOADING, low=0.7),)).gain.startswith("2.5 times as fast as ")


def test_a_small_gain_that_rounds_disagree_on_is_none() -> None:
    loading = replace(LOADING, after_ms=20.0 / 1.3, low=0.98, high=1.4)
    assert replace(TABLE, rows=(loading,)).gain.startswith("as fast as ")


def test_a_mean_that_noise_explains_is_as_fast() -> None:
    table = replace(TABLE, rows=(SLOWER,), geomean=1.08, noise=0.1)
    assert table.gain.startswith("as fast as pillow 13.0.0 ")


def test_slower_means_in_each_round_and_beyond_the_noise() -> None:
    assert (TABLE.faster, TABLE.slower) == ((LOADING,), (SLOWER,))
    assert replace(TABLE, noise=0.13).slower == (), "the old one differs from itself by half as much"
    assert replace(TABLE, rows=(replace(SLOWER, high=1.01),)).slower == ()


def test_a_ratio_is_told_with_those_of_its_rounds() -> None:
    assert LOADING.range == "2.5x (2.3 to 2.6)"
    assert replace(LOADING, low=None, high=None).range == "2.5x"


def test_a_figure_within_the_noise_is_given_with_its_reason() -> None:
    loading = replace(LOADING, before_ms=14.0, after_ms=10.0, low=1.2, high=2.1)
    gain = replace(TABLE, rows=(loading,), noise=0.3).gain
    assert gain.endswith("a 1080p photo, within this machine's noise: 1.4x (1.2 to 2.1)")
    same = replace(loading, before_ms=10.2, low=0.98, high=1.05)
    assert replace(TABLE, rows=(same,)).gain.endswith("a 1080p photo")
