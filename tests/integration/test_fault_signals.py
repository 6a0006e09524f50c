"""An interruption at every change of the disk: an unfinished change is undone, an unfinished undo is completed."""

import logging
import signal
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import pytest
from faults.errors import boundaries_of, calling, told_by
from support.journal.environments import picture, swift_directory
from support.journal.interrupted_verbs import VERBS, WHOLE, Picture, Verb, timeless

from fastinstall.core import files
from fastinstall.journal.rollback import recover

_LOG = logging.getLogger(__name__)
_SETS_UP = {"setup": 1, "retire": 1, "all kinds of acts": 2}
_UNDOES = {"recovery": 1, "forget": 1, "rollback of all kinds": 2}
"""Verbs, each with the stride at which its boundaries are sampled in short runs."""

_ONCE, _TWICE = (signal.SIGINT,), (signal.SIGINT, signal.SIGINT)


@pytest.fixture
def scenery(tmp_path: Path) -> Iterator[Path]:
    """Yield the directory for a test's environments."""
    with swift_directory(tmp_path) as directory:
        yield directory


@pytest.mark.parametrize("name", _SETS_UP)
def test_an_interruption_is_undone_despite_a_second_interruption(scenery: Path, name: str) -> None:
    verb = VERBS[name]
    model = verb.scene(scenery / "model" / "env")
    passed = boundaries_of(lambda: verb.act(model), model.prefix)
    outcomes = Counter(
        _interrupted(verb, number, by, scenery / f"{number} {len(by)}")
        for number in range(0, len(passed), 1 if WHOLE else _SETS_UP[name])
        for by in _signals(number)
    )
    _LOG.info("%s: %d boundaries, %s", name, len(passed), dict(outcomes))
    assert set(outcomes) == {"before"}


@pytest.mark.parametrize("name", _UNDOES)
def test_an_interrupted_undo_is_finished_by_the_next_command(scenery: Path, name: str) -> None:
    verb = VERBS[name]
    model = verb.scene(scenery / "model" / "env")
    passed = boundaries_of(lambda: verb.act(model), model.prefix)
    after = timeless(picture(model.prefix))
    outcomes = Counter(
        _cut_short(verb, number, by, after, scenery / f"{number} {len(by)}")
        for number in range(0, len(passed), 1 if WHOLE else _UNDOES[name])
        for by in _signals(number)
    )
    _LOG.info("%s: %d boundaries, %s", name, len(passed), dict(outcomes))
    assert outcomes["after"]


def _signals(number: int) -> Sequence[Sequence[signal.Signals]]:
    return (_ONCE, _TWICE) if WHOLE else (_ONCE,) if number % 2 else (_TWICE,)


def _interrupted(verb: Verb, number: int, by: Sequence[signal.Signals], place: Path) -> str:
    store = verb.scene(place / "env")
    before = picture(store.prefix)
    told = told_by(lambda: verb.act(store), partial(calling, number, by), store.prefix)
    assert told.kind == "interrupted", f"{number} {told.reached}: {told.kind} {told.message}\n{told.trace}"
    assert picture(store.prefix) == before, told.reached
    files.discard(place)
    return "before"


def _cut_short(verb: Verb, number: int, by: Sequence[signal.Signals], after: Picture, place: Path) -> str:
    store = verb.scene(place / "env")
    before = timeless(picture(store.prefix))
    told = told_by(lambda: verb.act(store), partial(calling, number, by), store.prefix)
    assert told.kind == "interrupted", f"{number} {told.reached}: {told.kind} {told.message}\n{told.trace}"
    at_once = timeless(picture(store.prefix))
    recover(store)
    now = timeless(picture(store.prefix))
    assert now in (before, after), told.reached
    files.discard(place)
    return "before" if now == before else "after" if at_once == after else "after, with the next command"
