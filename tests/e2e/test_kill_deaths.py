"""Real SIGKILLs: at boundaries of what changes the environment, and at any time; the next command makes it whole.

Who is killed is fastinstall alone, as by `kill -9` and by the kernel short of memory; its children die with it.
In CI they die at boundaries of each kind; --every-row kills them at every one.
"""

import random
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path

import pytest
from faults.deaths import TURNS, Death, Stage, acts, die_after, die_at, moments, stage_of
from faults.doors import Boundary
from faults.scenes import Materials, make_scene, materials
from faults.verdicts import Verdict
from support.journal.environments import swift_directory
from support.suite import extent

ALL = extent.every_row
CHEAP = ("rollback",)
"""The next command in CI, but for a few: a setup takes seconds."""

STRIDE = {"published": 6}
"""In CI a setup dies at every sixth kind of boundary: `test_kill_states` has what every death leaves."""

COUNTS = {"published": 8, "rollback": 30, "guard-remove": 22} if ALL else {"published": 3, "rollback": 8}
"""So many deaths at any time."""

MOST_AIMED = 20
"""So many further deaths are aimed where a busy machine let none fall between begin and end."""

INTERRUPTED = "had been interrupted"


@pytest.fixture(scope="module")
def given(shared_cache: Path) -> Materials:
    return materials(shared_cache)


@pytest.fixture(scope="module", params=COUNTS)
def stage(
    request: pytest.FixtureRequest, given: Materials, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Stage]:
    with swift_directory(tmp_path_factory.mktemp("deaths")) as space:
        yield stage_of(make_scene(request.param, space / "scene", given))


def test_the_next_command_repairs_a_kill_at_a_live_tree_boundary(stage: Stage) -> None:
    turns = cycle(TURNS) if ALL else _mostly_cheap(stage)
    boundaries = acts(stage) if ALL else list(_one_of_each_kind(acts(stage)))[:: STRIDE.get(stage.scene.name, 1)]
    deaths = [die_at(stage, boundary.number, turn) for boundary, turn in zip(boundaries, turns, strict=False)]
    _assert_none_lost(deaths)
    phases = {death.phase for death in deaths}
    assert ("undoing" if stage.scene.name == "rollback" else "swapping") in phases
    assert len(phases) > 1
    assert len(deaths) > 5


def test_a_death_at_any_time_is_made_good_by_the_next_command(stage: Stage) -> None:
    count = COUNTS[stage.scene.name] * (5 if ALL else 1)
    numbers = random.Random(7)  # noqa: S311 (of no secret)
    when = moments(numbers, count, stage.seconds, 0.01)
    turns = cycle(TURNS) if ALL else _mostly_cheap(stage)
    deaths = [die_after(stage, seconds, turn, aimed=aimed) for (seconds, aimed), turn in zip(when, turns, strict=False)]
    while not any(map(_is_amid, deaths)) and len(deaths) < count + MOST_AIMED:
        deaths.append(die_after(stage, 0.0, "rollback", aimed=True))
    _assert_none_lost(deaths)
    assert any(map(_is_amid, deaths))


def _is_amid(death: Death) -> bool:
    return death.phase not in ("nothing begun", "held")


def _assert_none_lost(deaths: list[Death]) -> None:
    assert [death for death in deaths if death.verdict is Verdict.LOST] == []
    assert [death for death in deaths if not death.worked] == [], "PIL works before anybody recovers"
    for death in deaths:
        # 5: nothing to undo; 6: no index is reached; 7: likewise, behind the end of what was interrupted
        assert death.ended.code in (0, 5, 6) or (death.ended.code, INTERRUPTED in death.ended.text) == (7, True), death
        if death.phase in ("staging", "swapping", "verifying"):
            assert INTERRUPTED in death.ended.text, death


def _mostly_cheap(stage: Stage) -> Iterator[str]:
    """Setup and doctor once each, where they recover something; else the command that does nothing more."""
    yield from ("setup", "doctor") if stage.scene.name == "published" else ()
    yield from cycle(CHEAP)


def _one_of_each_kind(boundaries: list[Boundary]) -> Iterator[Boundary]:
    """One boundary of each call at each place in the code, the last one: a loop over files counts once."""
    yield from {(boundary.call, boundary.site): boundary for boundary in boundaries}.values()
