"""How long a setup will take, and what is remembered of it."""

import json
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest
from published_schemas import SCHEMAS
from support.values.builders import environment
from support.values.sessions import a_session

from fastinstall.apply.eta import (
    FILE,
    USUAL,
    Durations,
    Moment,
    SetupForecast,
    announce_eta,
    describe_expected_gain,
    estimate_durations,
    estimate_remaining_time,
    forecast_setup,
    phase_of,
)
from fastinstall.core.errors import InterruptedAfterCompletion
from fastinstall.core.events import Event, Progressed, RemainingTime, Started
from fastinstall.model.artefact import Artefact, LevelTarget
from fastinstall.model.request import LinkMode, Request
from fastinstall.observe.session import Session
from fastinstall.plan.plan import Plan
from fastinstall.steps.build import Build
from fastinstall.steps.prove import Prove
from fastinstall.steps.swap import Swap

BUILD = Build(
    recipe="pillow-fast",
    source=None,
    base_wheel=None,
    distribution="pillow",
    version="13.0.0+simd.v3",
    targets=(LevelTarget(level="x86-64-v3", cflags=(), ldflags=()),),
    link=LinkMode.BUNDLE,
    libraries=(),
    jobs=2,
    reason="a test",
)
PLAN = Plan(
    environment=environment(),
    facts_digest="0",
    request=Request(),
    steps=(BUILD, Prove(reference=None, reason=""), Swap(removes=(), entries=(), installs="", reason="")),
    summary="a test",
)
ABSENT = ("environment", "equip", "conda")
SEEN = SetupForecast(phases={"compile": 30.0, "bundle": 2.0, "finish": 3.0}, measured=True)
EVENTS = (
    Started(stage="download", message="fetching pillow-13.0.0.tar.gz"),
    Started(stage="compile", message="compiling pillow"),
    Progressed(stage="compile", done=5, total=10),
    Started(stage="stage", message="staging it"),
    Started(stage="verify", message="running doctor's checks on it"),
)


def test_the_usual_figures_serve_where_nothing_was_measured_and_are_told_as_such() -> None:
    seen = forecast_setup(PLAN, Durations(), "")
    assert not seen.measured
    assert seen.seconds == sum(USUAL.values()) - sum(USUAL[name] for name in ABSENT)


def test_what_was_measured_here_goes_before_and_a_cached_build_is_not_made_again() -> None:
    known = {f"pillow-fast x86-64-v3 {name}": 2.0 for name in USUAL}
    assert forecast_setup(PLAN, Durations(phases=known), "") == SetupForecast(
        phases=dict.fromkeys((name for name in USUAL if name not in ABSENT), 2.0), measured=True
    )
    cached = forecast_setup(PLAN, Durations(phases=known, built=("same",)), "same")
    assert list(cached.phases) == ["stage", "try", "measure", "finish"]
    taken = replace(PLAN, steps=(replace(BUILD, cached="5d" * 32), *PLAN.steps[1:]))
    assert list(forecast_setup(taken, Durations(), "").phases) == ["prove", "stage", "try", "measure", "finish"]


@pytest.mark.parametrize(
    ("moment", "seconds"),
    [
        (Moment(phase="compile", elapsed=0.0), 35.0),
        (Moment(phase="compile", elapsed=10.0), 25.0),
        (Moment(phase="compile", elapsed=30.0, share=0.5), 27.5),
        (Moment(phase="compile", elapsed=27.0, share=0.9), 8.0),
        (Moment(phase="compile", elapsed=20.0), 15.0),
        (Moment(phase="compile", elapsed=60.0), 20.0),
        (Moment(phase="finish", elapsed=1.0), 2.0),
        (Moment(phase="bundle", elapsed=0.0), 5.0),
    ],
    ids=str,
)
def test_what_is_left_is_the_rest_of_a_phase_and_all_after_it(moment: Moment, seconds: float) -> None:
    told = estimate_remaining_time(SEEN, moment)
    assert told.seconds == pytest.approx(seconds)
    assert told.phase == moment.phase


def test_proving_a_wheel_and_trying_it_on_the_stage_are_two_phases() -> None:
    assert phase_of(Started(stage="prove", message="proving pillow.whl")) == "prove"
    assert phase_of(Started(stage="prove", message="running real operations")) == "try"
    assert phase_of(Started(stage="index", message="looking up pillow")) is None


def test_a_setup_that_ends_well_is_what_the_next_one_is_foretold_by(tmp_path: Path) -> None:
    heard: list[Event] = []
    session = replace(a_session(tmp_path), emit=heard.append)
    with announce_eta(session, PLAN) as telling:
        for event in EVENTS:
            telling.emit(event)
    *told, over = [event for event in heard if isinstance(event, RemainingTime)]
    assert over.seconds == 0
    assert len(told) == 1 + len(EVENTS), "the first before anything happens"
    jsonschema.validate(json.loads((session.directories.cache / FILE).read_text()), SCHEMAS["durations"]())
    seen = estimate_durations(session, PLAN)
    assert list(seen.phases) == ["stage", "try", "measure", "finish"], "the cache has the wheel"
    assert seen.phases["stage"] < 1.0
    assert seen.phases["measure"] == USUAL["measure"], "nothing was measured"


def test_a_setup_that_fails_leaves_nothing_to_foretell_by(tmp_path: Path) -> None:
    session = a_session(tmp_path)
    with pytest.raises(RuntimeError):
        _fail(session)
    assert estimate_durations(session, PLAN).seconds == sum(
        seconds for name, seconds in USUAL.items() if name not in ABSENT
    )


def test_a_file_that_cannot_be_read_is_as_if_it_were_not_there(tmp_path: Path) -> None:
    session = a_session(tmp_path)
    session.directories.cache.mkdir(parents=True)
    (session.directories.cache / FILE).write_text('{"schema": "fastinstall.durations/9"}')
    assert not estimate_durations(session, PLAN).measured


def _fail(session: Session) -> None:
    with announce_eta(session, PLAN) as telling:
        telling.emit(EVENTS[0])
        telling.emit(EVENTS[1])
        raise RuntimeError


def test_an_interruption_behind_the_work_is_told_as_late(tmp_path: Path) -> None:
    def interrupt(event: Event) -> None:
        if isinstance(event, RemainingTime) and event.seconds == 0:
            raise KeyboardInterrupt

    session = replace(a_session(tmp_path), emit=interrupt)
    with pytest.raises(InterruptedAfterCompletion), announce_eta(session, PLAN):
        pass


def test_a_gain_on_another_architecture_is_none_here(tmp_path: Path) -> None:
    build = replace(BUILD, targets=(LevelTarget(level="armv8-a", cflags=(), ldflags=()),))
    steps = (build, Prove(reference=None, reason=""))
    gain = describe_expected_gain(a_session(tmp_path), replace(PLAN, steps=steps))
    assert "aarch64" in gain
    assert "times" not in gain


@pytest.mark.parametrize(("official", "is_told_otherwise"), [("13.0.0", False), ("12.3.0", True)])
def test_a_gain_that_was_measured_against_another_pillow_is_told_as_such(
    tmp_path: Path, official: str, *, is_told_otherwise: bool
) -> None:
    wheel = Artefact(name="pillow", version=official, filename="w.whl", url="https://a/w.whl", sha256="0" * 64)
    steps = (BUILD, Prove(reference=wheel, baseline=wheel, reason=""))

    gain = describe_expected_gain(a_session(tmp_path), replace(PLAN, steps=steps))

    assert "13.0.0" in gain
    assert ("12.3.0" in gain) is is_told_otherwise
