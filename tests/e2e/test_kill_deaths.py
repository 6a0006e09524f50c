"""SIGKILL at boundaries of commands that change an environment, and at random times; the next command recovers.

Only fastinstall itself is killed, as by `kill -9` or by the kernel when memory runs out; its children die with it. By
default, some boundaries of each kind are tried; with --every-row, all of them.
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
"""The next commands by default; only a few runs use others, as a setup takes seconds."""

STRIDE = {"published": 6}
"""By default a setup is killed at every sixth kind of boundary; `test_kill_states` covers all the others."""

COUNTS = {"published": 8, "rollback": 30, "guard-remove": 22} if ALL else {"published": 3, "rollback": 8}
"""Number of kills at random times, by scene."""

MOST_AIMED = 20
"""Limit of further kills, right after moves were announced, if no earlier kill has interrupted a transaction."""

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
    numbers = random.Random(7)  # noqa: S311 (no secret)
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
        # 5: there is nothing to undo; 6: no index can be reached; 7: as 5 or 6, but the interrupted command was undone
        # or completed first
        assert death.ended.code in (0, 5, 6) or (death.ended.code, INTERRUPTED in death.ended.text) == (7, True), death
        if death.phase in ("staging", "swapping", "verifying"):
            assert INTERRUPTED in death.ended.text, death


def _mostly_cheap(stage: Stage) -> Iterator[str]:
    """Yield the next commands: in one scene, first setup and doctor, which are slow; then only cheap ones, forever."""
    yield from ("setup", "doctor") if stage.scene.name == "published" else ()
    yield from cycle(CHEAP)


def _one_of_each_kind(boundaries: list[Boundary]) -> Iterator[Boundary]:
    """Yield the last boundary of each system call and call site, so that a loop over files counts once."""
    yield from {(boundary.call, boundary.site): boundary for boundary in boundaries}.values()
