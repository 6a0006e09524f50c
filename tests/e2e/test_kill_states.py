"""`kill -9` at every boundary of every verb that changes an environment: every state left on disk is recovered.

Each verb runs once, and the scene's files are copied before each change (`faults.film`). Then every copied state is
restored and recovered. By default, writing in the staging directory is recorded for only one verb.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from faults.deaths import phase_of
from faults.film import Film, Frame, beside_the_stage, distinct, everything, film
from faults.forked import command, forked
from faults.scenes import SCENES, Materials, Scene, make_scene, materials
from faults.trees import Pool, Tree
from faults.verdicts import Verdict, environment, judged, python_sees, unlike_paths, works
from support.journal.environments import swift_directory
from support.suite import extent

ALL = extent.every_row
IN_FULL = tuple(SCENES) if ALL else ("published",)
_LONG = () if ALL else ("ours", "fix", "guard-pin", "guard-accept")
FILMED = tuple(name for name in SCENES if name not in ("new-env", *_LONG))
"""All scenes except `new-env` (see `test_kill_creation`); by default also without scenes that resemble others."""

IN_FORCE = pytest.mark.parametrize("filmed", ["published"], indirect=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Filmed:
    """A scene, and all disk states that a killed command could leave behind."""

    scene: Scene
    film: Film
    pool: Pool


@pytest.fixture(scope="module")
def given(shared_cache: Path) -> Materials:
    return materials(shared_cache)


@pytest.fixture(scope="module", params=FILMED)
def filmed(
    request: pytest.FixtureRequest, given: Materials, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Filmed]:
    with swift_directory(tmp_path_factory.mktemp("kills")) as space:
        scene = make_scene(request.param, space / "scene", given)
        looked_at = everything if request.param in IN_FULL else beside_the_stage
        work = command(scene.argv, scene.variables, scene.space)
        taken = film(work, scene.live, space / "pool", looked_at=looked_at)
        assert taken.ended.code == 0, taken.ended.text
        yield Filmed(scene=scene, film=taken, pool=Pool(space / "pool"))


def test_any_disk_state_after_a_kill_recovers_to_before_or_after(filmed: Filmed) -> None:
    found = list(judged(filmed.scene, filmed.film, filmed.pool))
    lost = [f"{each.frame}: {each.unlike[:5]}" for each in found if each.verdict is Verdict.LOST]
    assert lost == []
    assert {each.verdict for each in found} == {Verdict.BEFORE, Verdict.AFTER}
    assert any(each.recovered for each in found)
    assert filmed.film.boundaries > 20, "every change of the disk is counted"
    assert filmed.pool.written_through() == [], "no existing file is opened for writing"


def test_pil_works_on_every_disk_before_anybody_recovers(filmed: Filmed) -> None:
    states = list(distinct(filmed.film.frames, python_sees))
    broken = []
    for frame, tree in states:
        if any(path.endswith("site-packages/PIL") for path in tree):
            frame.lay(filmed.pool, filmed.scene.live)
            if not works(filmed.scene.prefix):
                broken.append(str(frame))
        elif filmed.scene.name not in ("bare", "new-env"):
            broken.append(f"no PIL at all: {frame}")
    assert broken == []


@IN_FORCE
@pytest.mark.parametrize("phase", ["swapping", "committing"] if ALL else ["swapping"])
def test_a_recovery_that_dies_is_taken_up_by_the_next_command(filmed: Filmed, phase: str) -> None:
    scene, pool = filmed.scene, filmed.pool
    frame = _last_in(filmed, phase)
    frame.lay(pool, scene.live)
    work = command(("rollback", "--yes", "--prefix", str(scene.prefix)), scene.variables, scene.space)
    looked_at = everything if ALL else beside_the_stage
    recovery = film(work, scene.live, scene.space / f"recovery-{phase}", looked_at=looked_at)
    assert recovery.ended.code == 0, recovery.ended.text
    assert "had been interrupted" in recovery.ended.text
    again = Pool(scene.space / f"recovery-{phase}")
    assert unlike_paths(environment(recovery.after), environment(filmed.film.before), pool) == ()
    found = list(judged(scene, recovery, again))
    assert [f"{each.frame}: {each.unlike[:5]}" for each in found if each.verdict is not Verdict.AFTER] == []
    assert len(found) > 20


@IN_FORCE
def test_a_setup_works_from_every_cache_that_a_death_leaves(filmed: Filmed) -> None:
    scene = filmed.scene
    caches = list(distinct(filmed.film.frames, _cache))
    assert len(caches) > 10
    for _, cache in caches if ALL else caches[3::9]:
        rest = {path: entry for path, entry in filmed.film.before.items() if not _is_of_cache(path)}
        filmed.pool.lay({**rest, **cache}, scene.live)
        ended = forked(command(scene.argv, scene.variables, scene.space))
        assert ended.code == 0, ended.text
        assert works(scene.prefix)


def _last_in(filmed: Filmed, phase: str) -> Frame:
    found = []
    for frame in filmed.film.frames[-120:]:
        frame.lay(filmed.pool, filmed.scene.live)
        if phase_of(filmed.scene.prefix) == phase:
            found.append(frame)
    return found[-1]


def _cache(tree: Tree) -> Tree:
    return {path: entry for path, entry in tree.items() if _is_of_cache(path)}


def _is_of_cache(path: str) -> bool:
    return path == "cache" or path.startswith("cache/")
