"""The line that tells how a run stands, without a terminal and without waiting."""

import pytest
from support.suite.golden import Golden

from fastinstall.cli.progress import (
    ProgressState,
    advance_state,
    describe_state,
    describe_time_left,
    format_rough_duration,
    line_of,
)
from fastinstall.core.events import Event, Finished, Progressed, RemainingTime, Started

COMPILING = Started(stage="compile", message="compiling pillow for x86-64-v2 and x86-64-v3")


def _after(*events: tuple[float, Event]) -> ProgressState:
    state = ProgressState()
    for now, event in events:
        state = advance_state(state, event, now)
    return state


def test_what_is_left_counts_down_between_events_and_never_up() -> None:
    state = _after((0.0, COMPILING), (0.0, RemainingTime(seconds=40.0)))
    told = [describe_time_left(state, now) for now in (0.0, 15.0, 32.0)]
    assert told == ["about 40 s left", "about 25 s left", "about 8 s left"]
    assert describe_time_left(state, 80.0) == "about 20 s left", "what takes longer than it should goes on a while"


def test_when_all_is_over_nothing_is_told_any_more() -> None:
    state = _after((0.0, COMPILING), (0.0, RemainingTime(seconds=40.0)))
    assert advance_state(state, RemainingTime(seconds=0.0), 1.0) == ProgressState()


def test_while_somebody_may_be_asked_nothing_is_told() -> None:
    state = _after((0.0, COMPILING), (0.0, RemainingTime(seconds=40.0)))
    assert advance_state(state, Started(stage="index", message="looking up pillow"), 1.0) == ProgressState()


def test_a_phase_that_takes_longer_leaves_the_time_of_those_behind_it() -> None:
    left = RemainingTime(seconds=40.0, phase="compile", after=30.0)
    assert describe_time_left(_after((0.0, COMPILING), (0.0, left)), 40.0) == "about 40 s left"


def test_a_setup_is_told_by_its_phases_and_bytes_as_megabytes(golden: Golden) -> None:
    left = RemainingTime(seconds=40.0, phase="environment")
    fetching = Started(stage="download", message="fetching pillow-13.0.0.tar.gz")
    state = _after((0.0, left), (1.0, fetching), (2.0, Progressed(stage="download", done=5_000_000, total=20_000_000)))
    golden(describe_state(state, 3.0))


def test_units_are_counted_and_where_nothing_is_foretold_their_rate_tells_the_end_of_the_stage(
    golden: Golden,
) -> None:
    state = _after((0.0, COMPILING), (1.0, Progressed(stage="compile", done=0, total=84)))
    assert describe_time_left(state, 5.0) == ""
    state = advance_state(state, Progressed(stage="compile", done=21, total=84), 11.0)
    assert "30 s" in describe_time_left(state, 11.0)
    assert describe_state(state, 11.0).endswith(describe_time_left(state, 11.0))
    golden(describe_state(state, 11.0))


@pytest.mark.parametrize("width", [40, 60, 80, 200])
def test_the_line_fits_and_its_bar_is_plain_and_goes_where_there_is_no_room(width: int) -> None:
    state = _after((0.0, COMPILING), (0.0, Progressed(stage="compile", done=21, total=84)))
    line = line_of(advance_state(state, RemainingTime(seconds=40.0), 0.0), 0.0, width=width)
    assert len(line) <= width
    assert line.isascii()
    assert "21/84, about 40 s left" in line
    assert ("[#####...............]" in line) is (width >= 80)


def test_the_end_of_another_stage_leaves_what_goes_on() -> None:
    ended = Finished(stage="library", message="compiled zlib-ng", seconds=3.0)
    assert advance_state(_after((0.0, COMPILING)), ended, 1.0).stage == "compile"
    assert (
        advance_state(_after((0.0, COMPILING)), Finished(stage="compile", message="done", seconds=1.0), 1.0).stage == ""
    )


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.2, "about 1 s"), (7.4, "about 7 s"), (23.0, "about 25 s"), (62.0, "about 60 s"), (200.0, "about 3 min")],
)
def test_a_duration_is_no_finer_than_it_can_be_known(seconds: float, words: str) -> None:
    assert format_rough_duration(seconds) == words
