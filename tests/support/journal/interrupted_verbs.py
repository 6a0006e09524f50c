"""Small versions of verbs that use the journal, for tests of interruptions: an environment, and changes to it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from support.conda.miniature import change_of_all_kinds, make_conda_environment, open_in
from support.journal.environments import FIRST, SITE, dies_at, make_environment, receipt_of, set_up, set_up_again
from support.suite import extent

from fastinstall.journal.forget import forget
from fastinstall.journal.rollback import recover, rollback
from fastinstall.journal.stamp import Stamp
from fastinstall.journal.store import JournalStore
from fastinstall.journal.transaction import begin
from fastinstall.model.history import Move, MoveKind

WHOLE = extent.every_row
"""True with --every-row."""

Picture = Mapping[str, tuple[object, ...]]
_THIRD = Stamp(id="20261121T101700Z-000003", at="2026-11-21T10:17:00Z")


@dataclass(frozen=True, kw_only=True)
class Verb:
    """A change of an environment.

    Attributes:
        scene: creates the environment.
        act: changes it.
    """

    scene: Callable[[Path], JournalStore]
    act: Callable[[JournalStore], object]


def timeless(looks: Picture) -> Picture:
    """Return a recorded disk state without times, and without the content of journals, which contains times."""
    return {path: () if path.endswith("journal.jsonl") else look[:2] for path, look in looks.items()}


def but_its_journals_times(looks: Picture) -> Picture:
    """Return a recorded disk state without the times of journals.

    Appending a line to a journal and removing it again changes only the journal's time.
    """
    return {path: look[:2] if path.endswith("journal.jsonl") else look for path, look in looks.items()}


def _stock_set_up(prefix: Path) -> JournalStore:
    store = make_environment(prefix)
    set_up(store)
    return store


def _twice_set_up(prefix: Path) -> JournalStore:
    store = _stock_set_up(prefix)
    set_up_again(store)
    return store


def _all_kinds(store: JournalStore) -> None:
    """Move files, change packages by an engine, and append lines, in one transaction."""
    with open_in(store) as transaction:
        change_of_all_kinds(store, transaction)
        transaction.commit(receipt_of(FIRST))


def _all_kinds_done(prefix: Path) -> JournalStore:
    store = make_conda_environment(prefix)
    _all_kinds(store)
    return store


def _cut_off(
    scene: Callable[[Path], JournalStore], act: Callable[[JournalStore], object], step: int
) -> Callable[[Path], JournalStore]:
    def make(prefix: Path) -> JournalStore:
        store = scene(prefix)
        assert dies_at(step, lambda: act(store))
        return store

    return make


def _retire(store: JournalStore) -> None:
    with begin(store, {"verb": "guard accept"}, site_packages=store.prefix / SITE, stamp=_THIRD) as transaction:
        transaction.perform((Move(kind=MoveKind.OUT, live=f"{SITE}/made/for/it.py", kept="aside/guard.py"),))
        transaction.retire(_THIRD.at)


VERBS = {
    "setup": Verb(scene=make_environment, act=set_up),
    "all kinds of acts": Verb(scene=make_conda_environment, act=_all_kinds),
    "rollback": Verb(scene=_stock_set_up, act=rollback),
    "rollback of all kinds": Verb(scene=_all_kinds_done, act=rollback),
    "forget": Verb(scene=_twice_set_up, act=lambda store: forget(store, FIRST.id)),
    "retire": Verb(scene=_stock_set_up, act=_retire),
    "recovery": Verb(scene=_cut_off(make_environment, set_up, 45), act=recover),
    "recovery of all kinds": Verb(scene=_cut_off(make_conda_environment, _all_kinds, 150), act=recover),
}
if WHOLE:
    VERBS["setup over a setup"] = Verb(scene=_stock_set_up, act=set_up_again)
