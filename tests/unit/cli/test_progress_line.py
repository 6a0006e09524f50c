"""The line that tells how a run stands, without a terminal and without waiting."""

import pytest
from support.suite.golden import Golden

from fastinstall.cli.console import Console
from fastinstall.cli.progress import (
    ProgressLines,
    ProgressState,
    advance_state,
    describe_state,
    line_of,
)
from fastinstall.core.events import Event, Finished, Progressed, RemainingTime, Started

COMPILING = Started(stage="compile", message="compiling pillow for x86-64-v2 and x86-64-v3")


def _after(*events: tuple[float, Event]) -> ProgressState:
    state = ProgressState()
    for now, event in events:
        state = advance_state(state, event, now)
    return state


def test_while_somebody_may_be_asked_nothing_is_told() -> None:
    state = _after((0.0, COMPILING))
    assert advance_state(state, Started(stage="index", message="looking up pillow"), 1.0) == ProgressState()


def test_it_tells_what_is_done_and_how_long_it_has_taken_and_bytes_as_megabytes(golden: Golden) -> None:
    fetching = Started(stage="download", message="fetching pillow-13.0.0.tar.gz")
    state = _after((1.0, fetching), (2.0, Progressed(stage="download", done=5_000_000, total=20_000_000)))
    golden(describe_state(state, 3.0))


def test_units_are_counted_and_those_of_another_stage_are_not(golden: Golden) -> None:
    state = _after((0.0, COMPILING), (1.0, Progressed(stage="compile", done=0, total=84)))
    state = advance_state(state, Progressed(stage="download", done=9, total=10), 10.0)
    state = advance_state(state, Progressed(stage="compile", done=21, total=84), 11.0)
    golden(describe_state(state, 11.0))


def test_what_is_left_of_a_setup_is_told_across_its_stages_until_the_estimate_is_used_up() -> None:
    state = _after((0.0, RemainingTime(seconds=100.0)), (0.0, COMPILING))
    assert describe_state(state, 2.0).endswith("2 s so far (about 2 min left)")
    state = advance_state(state, Finished(stage="compile", message="done", seconds=1.0), 60.0)
    state = advance_state(state, Started(stage="stage", message="staging it"), 60.0)
    assert describe_state(state, 61.0) == "still staging it, 1 s so far (about 40 s left)"
    assert describe_state(state, 101.0) == "still staging it, 41 s so far"


@pytest.mark.parametrize("width", [40, 50, 80, 200])
def test_the_line_fits_and_its_bar_is_plain_and_goes_where_there_is_no_room(width: int) -> None:
    state = _after((0.0, COMPILING), (0.0, Progressed(stage="compile", done=21, total=84)))
    line = line_of(state, 40.0, width=width)
    assert len(line) <= width
    assert line.isascii()
    assert "21/84, 40 s so far" in line
    assert ("[#####...............]" in line) is (width >= 80)


def test_the_end_of_another_stage_leaves_what_goes_on() -> None:
    ended = Finished(stage="library", message="compiled zlib-ng", seconds=3.0)
    assert advance_state(_after((0.0, COMPILING)), ended, 1.0).stage == "compile"
    assert (
        advance_state(_after((0.0, COMPILING)), Finished(stage="compile", message="done", seconds=1.0), 1.0).stage == ""
    )


def test_lines_say_each_work_of_a_setup_once_and_name_no_files(capsys: pytest.CaptureFixture[str]) -> None:
    with ProgressLines(Console()) as show:
        show(RemainingTime(seconds=60.0))
        for stage in ("toolchain", "library", "compile", "prove", "stage", "prove", "measure", "swap", "verify"):
            show(Started(stage=stage, message="about a-1.0-py3-none-any.whl"))
    told = capsys.readouterr().err
    assert len(told.splitlines()) == 5
    assert ".whl" not in told
