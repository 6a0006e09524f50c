"""The line that tells how a run stands, without a terminal and without waiting."""

import pytest
from support.suite.golden import Golden

from fastinstall.cli.console import Console
from fastinstall.cli.progress import (
    ProgressLines,
    ProgressState,
    advance_state,
    describe_state,
    estimate_remaining_seconds,
    estimate_share,
    line_of,
)
from fastinstall.core.events import Event, Expected, ExpectedPhase, Finished, Progressed, Started

COMPILING = Started(stage="compile", message="compiling pillow for x86-64-v2 and x86-64-v3")


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


RUN = Expected(
    phases=(
        ExpectedPhase(title="fetching", stages=("environment", "download"), seconds=10.0, download_bytes=50_000_000),
        ExpectedPhase(title="compiling libraries", stages=("library",), seconds=20.0),
        ExpectedPhase(title="compiling Pillow", stages=("compile",), seconds=40.0),
        ExpectedPhase(title="testing and timing", stages=("stage", "measure"), seconds=10.0),
    )
)


def _compile_slowly(times_as_long: float) -> ProgressState:
    """Return a run that has fetched in time, compiled no library, and a quarter of Pillow at a pace."""
    began, quarter = 10.0, 10.0 * times_as_long
    return _after((0.0, RUN), (began, COMPILING), (began + quarter, Progressed(stage="compile", done=21, total=84)))


def test_what_is_left_follows_what_was_measured() -> None:
    in_time, slow = _compile_slowly(1.0), _compile_slowly(4.0)
    assert estimate_remaining_seconds(in_time, 20.0) == pytest.approx(40.0)
    # Of 10 expected seconds 40 were needed; the estimate goes most of the way.
    assert 80.0 < estimate_remaining_seconds(slow, 50.0) < 160.0
    assert describe_state(slow, 50.0) == "still compiling Pillow, 21 of 84; about 2 min left"


def test_a_count_of_uneven_units_says_nothing_of_the_time() -> None:
    comparing = ExpectedPhase(title="comparing pixels", stages=("prove",), seconds=40.0, is_even=False)
    state = _after((0.0, Expected(phases=(comparing,))), (0.0, Started(stage="prove", message="comparing them")))
    counted = advance_state(state, Progressed(stage="prove", done=1, total=6), 30.0)
    assert estimate_remaining_seconds(counted, 30.0) == estimate_remaining_seconds(state, 30.0) == pytest.approx(10.0)


def test_an_estimate_never_ends_before_the_work_does() -> None:
    state = _after((0.0, RUN), (10.0, Started(stage="stage", message="staging it")))
    assert estimate_remaining_seconds(state, 1000.0) > 0
    assert describe_state(state, 1000.0) == "still testing and timing; about 10 s left"
    assert "99 %" in line_of(state, 100_000.0)


def test_one_bar_is_for_the_whole_run_and_never_goes_back() -> None:
    state, shares = ProgressState(), []
    events = (
        (0.0, RUN),
        (0.6, Started(stage="environment", message="making it")),
        (2.0, Progressed(stage="download", done=20_000_000, total=20_000_000)),
        (4.0, Progressed(stage="download", done=30_000_000, total=30_000_000)),
        (5.0, Started(stage="library", message="compiling zlib-ng")),
        (90.0, Finished(stage="library", message="compiled zlib-ng", seconds=85.0)),
        (91.0, COMPILING),
        (92.0, Progressed(stage="compile", done=1, total=84)),
        (200.0, Progressed(stage="compile", done=80, total=84)),
        (210.0, Started(stage="stage", message="staging it")),
        (211.0, Started(stage="prove", message="a stage of no phase that is to come")),
        (212.0, Started(stage="measure", message="timing it")),
    )
    for now, event in events:
        state = advance_state(state, event, now)
        shares += [estimate_share(state, now), estimate_share(state, now + 0.5)]
    assert shares == sorted(shares)
    assert shares[-1] < 1


def test_bytes_of_several_files_are_one_count() -> None:
    state = _after((0.0, RUN), (0.0, Started(stage="environment", message="making it")))
    for done in (10_000_000, 20_000_000, 5_000_000, 10_000_000):
        state = advance_state(state, Progressed(stage="download", done=done, total=20_000_000), 2.0)
    assert describe_state(state, 2.0).startswith("still fetching, 30 of 50 MB; ")


@pytest.mark.parametrize("width", [40, 59, 79, 200])
def test_the_bar_fits_and_names_no_file(width: int) -> None:
    state = _after((0.0, RUN), (9.0, Started(stage="compile", message="compiling a-1.0-py3-none-any.whl")))
    line = line_of(advance_state(state, Progressed(stage="compile", done=21, total=84), 19.0), 19.0, width=width)
    assert len(line) <= width
    assert line.isascii()
    assert line.startswith("[###")
    assert ".whl" not in line
    assert width < 60 or line.endswith("left: compiling Pillow, 21/84")


@pytest.mark.parametrize("width", [40, 50, 80, 200])
def test_the_line_fits_and_drops_its_plain_bar_without_room(width: int) -> None:
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
        show(RUN)
        for stage in ("environment", "download", "library", "compile", "stage", "prove", "measure"):
            show(Started(stage=stage, message="about a-1.0-py3-none-any.whl"))
    told = capsys.readouterr().err
    assert len(told.splitlines()) == 4
    assert ".whl" not in told
