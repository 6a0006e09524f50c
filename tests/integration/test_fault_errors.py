"""The disk refuses one change, whichever it is: each verb of the journal then reports the environment's true state."""

import errno
import logging
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from faults.doors import Boundary, Side
from faults.errors import Fault, Told, boundaries_of, breaking, spread_over, told_by
from faults.hooks import dies_at as kills
from support.journal.environments import make_environment, picture, set_up, swift_directory
from support.journal.interrupted_verbs import VERBS, WHOLE, Picture, Verb, but_its_journals_times, timeless

from fastinstall.core import files
from fastinstall.core.messages import recover_command
from fastinstall.journal.rollback import recover
from fastinstall.journal.store import JournalStore

_LOG = logging.getLogger(__name__)


@pytest.fixture
def scenery(tmp_path: Path) -> Iterator[Path]:
    """Yield the directory for a test's environments."""
    with swift_directory(tmp_path) as directory:
        yield directory


@pytest.mark.parametrize("name", VERBS)
def test_what_a_verb_says_of_a_disk_that_refuses_is_true(scenery: Path, name: str) -> None:
    verb = VERBS[name]
    model = verb.scene(scenery / "model" / "env")
    passed = boundaries_of(lambda: verb.act(model), model.prefix)
    after = timeless(picture(model.prefix))
    faults = spread_over([each.number for each in passed], whole=WHOLE)
    outcomes = Counter(_outcome(verb, fault, after, scenery / str(fault)) for fault in faults)
    _LOG.info("%s: %d boundaries, %s", name, len(passed), dict(outcomes))
    assert outcomes.total() >= len(passed)


def _outcome(verb: Verb, fault: Fault, after: Picture, place: Path) -> str:
    store = verb.scene(place / "env")
    before = picture(store.prefix)
    told = told_by(lambda: verb.act(store), partial(breaking, fault), store.prefix)
    outcome = _true_outcome(told, store, before, after)
    files.discard(place)
    return outcome


def _true_outcome(told: Told, store: JournalStore, before: Picture, after: Picture) -> str:
    """Assert that the verb's message is true, and that a recovery repairs any damage; return the outcome."""
    where = f"{told.reached}: {told.message}\n{told.trace}"
    if told.kind == "done":
        assert timeless(picture(store.prefix)) == after, where
        return told.kind
    assert told.kind in ("as before", "damaged"), where
    assert str(store.prefix) in told.message, f"it names no path: {where}"
    assert told.hint, where
    if told.kind == "as before":
        assert but_its_journals_times(picture(store.prefix)) == but_its_journals_times(before), where
        return told.kind
    assert recover_command(store.prefix) in told.hint, f"it names no command that only recovers: {where}"
    is_as_before = but_its_journals_times(picture(store.prefix)) == but_its_journals_times(before)
    assert store.unfinished() is not None or not is_as_before, f"it is as before: {where}"
    recover(store)
    now = timeless(picture(store.prefix))
    assert now in (after, timeless(before)), where
    return f"damaged, and with the next command {'after' if now == after else 'before'}"


def test_a_kill_during_an_unannounced_undo_does_not_swap_twice(scenery: Path) -> None:
    """The full disk keeps the undo from being written into the journal; then the process is killed as well."""
    model = make_environment(scenery / "model/env")
    passed = boundaries_of(lambda: set_up(model), model.prefix)
    lines = [each.number for each in passed if each.call == "write" and each.paths[0].endswith("journal.jsonl")]
    announced_commit = lines[2]
    killed = [
        _full_then_dead(scenery / str(number), announced_commit, number)
        for number in range(announced_commit + 1, announced_commit + 40, 1 if WHOLE else 2)
    ]
    assert killed.count(True) > 10


def _full_then_dead(place: Path, full_from: int, dead_at: int) -> bool:
    full, dead = breaking(Fault(number=full_from, error=errno.ENOSPC, lasting=True)), kills(dead_at)

    def hook(boundary: Boundary, side: Side, arguments: tuple[object, ...]) -> None:
        dead(boundary, side, arguments)
        full(boundary, side, arguments)

    store = make_environment(place / "env")
    before = picture(store.prefix, times=False)
    told = told_by(lambda: set_up(store), lambda _struck: hook, store.prefix)
    recover(store)
    assert picture(store.prefix, times=False) == before, dead_at
    return told.kind == "killed"
