"""The line that shows a run's progress; its text is computed from given times, without a terminal."""

import pytest
from support.suite.golden import Golden

from fastinstall.cli.console import Console
from fastinstall.cli.progress import ProgressLines, ProgressState, advance_state, describe_state
from fastinstall.core.events import Event, Finished, Progressed, Started

COMPILING = Started(stage="compile", message="compiling pillow for x86-64-v2 and x86-64-v3")
MAKING = Started(stage="environment", message="making the virtual environment /srv/env")


def _after(*events: tuple[float, Event]) -> ProgressState:
    state = ProgressState()
    for now, event in events:
        state = advance_state(state, event, now)
    return state


def test_while_somebody_may_be_asked_nothing_is_told() -> None:
    state = _after((0.0, COMPILING))
    assert advance_state(state, Started(stage="index", message="looking up pillow"), 1.0) == ProgressState()


def test_the_line_shows_progress_elapsed_time_and_megabytes(golden: Golden) -> None:
    fetching = Started(stage="download", message="fetching pillow-13.0.0.tar.gz")
    state = _after((1.0, fetching), (2.0, Progressed(stage="download", done=5_000_000, total=20_000_000)))
    golden(describe_state(state, 3.0))


def test_units_are_counted_and_those_of_another_stage_are_not(golden: Golden) -> None:
    state = _after((0.0, COMPILING), (1.0, Progressed(stage="compile", done=0, total=84)))
    state = advance_state(state, Progressed(stage="download", done=9, total=10), 10.0)
    state = advance_state(state, Progressed(stage="compile", done=21, total=84), 11.0)
    golden(describe_state(state, 11.0))


def test_downloads_are_told_while_nothing_else_is_counted() -> None:
    state = _after((0.0, MAKING), (1.0, Progressed(stage="download", done=3_000_000, total=9_000_000)))
    state = advance_state(state, Progressed(stage="download", done=1_000_000, total=2_000_000), 2.0)
    assert describe_state(state, 2.0).endswith(", 1 of 2 MB, 2 s so far")


def test_a_phase_of_several_stages_has_one_clock() -> None:
    state = _after((0.0, Started(stage="headers", message="a.deb")), (5.0, Started(stage="download", message="b.whl")))
    assert describe_state(state, 7.0) == "fetching, 7 s so far"
    assert describe_state(advance_state(state, COMPILING, 8.0), 9.0) == "compiling Pillow, 1 s so far"


@pytest.mark.parametrize("width", [40, 50, 80])
def test_a_line_without_room_cuts_the_title_and_keeps_the_rest(width: int) -> None:
    making = Started(stage="environment", message=f"making the virtual environment /srv/{'images/' * 9}env")
    line = describe_state(_after((0.0, making)), 40.0, width)
    assert len(line) <= width
    assert line.endswith("..., 40 s so far")


def test_the_end_of_another_stage_leaves_what_goes_on() -> None:
    state = _after((0.0, COMPILING))
    assert advance_state(state, Finished(stage="library", message="compiled zlib-ng", seconds=3.0), 1.0) == state
    ended = advance_state(state, Finished(stage="compile", message="compiled it", seconds=1.0), 1.0)
    assert ended == ProgressState()


def test_lines_say_each_work_of_a_setup_once_and_name_no_files(capsys: pytest.CaptureFixture[str]) -> None:
    with ProgressLines(Console()) as show:
        for stage in ("headers", "toolchain", "download", "library", "library", "compile", "prove", "stage", "swap"):
            show(Started(stage=stage, message="about a-1.0-py3-none-any.whl"))
    told = capsys.readouterr().err
    assert len(told.splitlines()) == 6
    assert ".whl" not in told
