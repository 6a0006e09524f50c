"""An attacker's environment, whose journal names paths outside the environment: nothing outside is touched."""

import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from support.journal.environments import FIRST, SITE, make_environment, open_transaction, picture, set_up, write_tree

from fastinstall.core.errors import DocumentError, ExitCode, FastinstallError, RefusedError, UsageError
from fastinstall.journal.forget import forget, move_damaged_transaction_away
from fastinstall.journal.layout import JOURNAL, KEPT, ROOT, TRANSACTIONS
from fastinstall.journal.rollback import recover, rollback
from fastinstall.journal.store import JournalStore
from fastinstall.model.history import Move, MoveKind

OWN = f"{TRANSACTIONS}/{FIRST.id}"


@pytest.fixture
def store(tmp_path: Path) -> JournalStore:
    """Return an environment after a setup, beside the directory of a victim."""
    write_tree(tmp_path / "victim", {"letters/one.txt": "dear", "lib/x.py": "x", ".netrc": "machine"})
    made = make_environment(tmp_path / "env")
    set_up(made)
    return made


def _rewritten(store: JournalStore, old: str, other: str) -> None:
    file = store.prefix / OWN / JOURNAL
    text = file.read_text("utf-8")
    assert old in text
    file.write_text(text.replace(old, other), "utf-8")


def _opened(store: JournalStore) -> None:
    """Remove the commit from the journal, as if the setup had been interrupted."""
    file = store.prefix / OWN / JOURNAL
    file.write_text(
        "".join(line for line in file.read_text("utf-8").splitlines(keepends=True) if "committ" not in line)
    )


REWRITTEN = {
    "live": (f'"live":"{SITE}/made/for/it.py"', '"live":"../victim/letters"'),
    "absolute": (f'"live":"{SITE}/made/for/it.py"', '"live":"/nowhere/of/ours"'),
    "kept": ('"kept":"aside/pillow-13.0.0.dist-info"', '"kept":"../../../../../victim/letters"'),
    "work": (f'"work":"{OWN}"', '"work":"../victim"'),
    "whole prefix": (f'"work":"{OWN}"', '"work":"."'),
    "id": (f'"id":"{FIRST.id}"', '"id":"../../.."'),
    "created": ('"created":["share"', '"created":["../victim/letters","share"'),
}


@pytest.mark.parametrize("undo", [recover, rollback])
@pytest.mark.parametrize("name", REWRITTEN)
def test_a_journal_with_outside_paths_is_refused_by_line_and_key(
    store: JournalStore, name: str, undo: Callable[[JournalStore], object]
) -> None:
    _rewritten(store, *REWRITTEN[name])
    if undo is recover:
        _opened(store)
    before = picture(store.prefix.parent)
    with pytest.raises(DocumentError, match=rf"{JOURNAL}:\d+: ") as refusal:
        undo(store)
    assert refusal.value.exit_code is ExitCode.USAGE
    assert picture(store.prefix.parent) == before


def test_a_transaction_naming_outside_files_cannot_be_forgotten(store: JournalStore) -> None:
    _rewritten(store, *REWRITTEN["work"])
    before = picture(store.prefix.parent)
    with pytest.raises(UsageError):
        forget(store, FIRST.id)
    assert picture(store.prefix.parent) == before


def _behind_a_link(store: JournalStore, path: str) -> None:
    """Move a path of the environment into the victim's directory, and link to it from its old place."""
    elsewhere = store.prefix.parent / "victim" / "moved"
    shutil.move(store.prefix / path, elsewhere)
    (store.prefix / path).symlink_to(elsewhere)


LINKED = ["share", ROOT, TRANSACTIONS, f"{OWN}/aside", f"{OWN}/stage", "lib", SITE, f"{SITE}/made"]


@pytest.mark.parametrize("path", LINKED)
def test_nothing_is_undone_behind_a_link_that_leads_out(store: JournalStore, path: str) -> None:
    _behind_a_link(store, path)
    before = picture(store.prefix.parent)
    with pytest.raises(RefusedError, match="leads outside the environment, to ") as refusal:
        rollback(store)
    assert str(store.prefix.parent / "victim") in refusal.value.message
    assert picture(store.prefix.parent) == before


def test_a_link_inside_the_environment_leads_nowhere_else(store: JournalStore) -> None:
    shutil.move(store.prefix / "lib", store.prefix / "lib-real")
    (store.prefix / "lib").symlink_to("lib-real")
    rollback(store)
    assert not os.path.lexists(store.prefix / ROOT)


def test_a_loose_journal_that_means_others_removes_nothing(store: JournalStore) -> None:
    loose = store.prefix / f".fastinstall-{FIRST.id}.jsonl"
    text = (store.prefix / OWN / JOURNAL).read_text("utf-8").splitlines(keepends=True)[0]
    loose.write_text(text.replace(f'"work":"{OWN}"', '"work":"../victim"'), "utf-8")
    before = picture(store.prefix.parent)
    with pytest.raises(FastinstallError):
        recover(store)
    assert picture(store.prefix.parent) == before


def _linked_out(store: JournalStore, path: str) -> Path:
    """Replace a path of the environment with a link to the victim's directory; return that directory."""
    victim = store.prefix.parent / "victim" / "letters"
    (store.prefix / path).symlink_to(victim)
    return victim


@pytest.mark.parametrize("live", ["etc/x", "etc/deep/er/x", "condarc.d/fastinstall.yml"])
def test_nothing_is_put_behind_a_link_that_leads_out(store: JournalStore, live: str) -> None:
    _linked_out(store, live.partition("/")[0])
    before = picture(store.prefix.parent)
    with open_transaction(store, replace(FIRST, id="20261121T101600Z-0000aa")) as transaction:
        write_tree(transaction.stage, {"x": "ours"})
        with pytest.raises(RefusedError, match="leads outside the environment, to "):
            transaction.perform((Move(kind=MoveKind.IN, live=live, kept="stage/x"),))
    assert picture(store.prefix.parent) == before


@pytest.mark.parametrize("path", ["pip.conf", "conda-meta/pinned"])
def test_nothing_is_added_through_a_link_that_leads_out(store: JournalStore, path: str) -> None:
    (store.prefix / path).parent.mkdir(exist_ok=True)
    (store.prefix / path).symlink_to(store.prefix.parent / "victim" / ".netrc")
    before = picture(store.prefix.parent)
    with (
        open_transaction(store, replace(FIRST, id="20261121T101600Z-0000aa")) as transaction,
        pytest.raises(RefusedError, match="leads outside the environment"),
    ):
        transaction.add(path, "ours\n")
    assert picture(store.prefix.parent) == before


def test_a_damaged_transaction_behind_an_outside_link_stays_put(store: JournalStore) -> None:
    (store.prefix / OWN / JOURNAL).write_text("{")
    _linked_out(store, KEPT)
    before = picture(store.prefix.parent)
    (damaged,) = store.unreadable()
    with pytest.raises(RefusedError, match="leads outside the environment"):
        move_damaged_transaction_away(store, damaged)
    assert picture(store.prefix.parent) == before


def test_a_journal_that_is_a_link_is_none(store: JournalStore) -> None:
    journal = store.prefix / OWN / JOURNAL
    elsewhere = store.prefix.parent / "victim" / "journal"
    shutil.move(journal, elsewhere)
    journal.symlink_to(elsewhere)
    before = picture(store.prefix.parent)
    with pytest.raises(FastinstallError):
        rollback(store, to=FIRST.id)
    with pytest.raises(DocumentError, match="a link to"):
        store.read(FIRST.id)
    assert picture(store.prefix.parent) == before
