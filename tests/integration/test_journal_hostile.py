"""An environment that somebody else has made, with a journal that means others: nothing outside of it is touched."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from journaled import FIRST, SITE, make_environment, picture, set_up, write_tree

from fastinstall.errors import DocumentError, ExitCode, FastinstallError, RefusedError, UsageError
from fastinstall.journal.forget import forget
from fastinstall.journal.layout import JOURNAL, ROOT, TRANSACTIONS
from fastinstall.journal.recover import recover, rollback
from fastinstall.journal.store import Store

OWN = f"{TRANSACTIONS}/{FIRST.id}"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """An environment with a setup, beside a directory of somebody's."""
    write_tree(tmp_path / "victim", {"letters/one.txt": "dear", "lib/x.py": "x", ".netrc": "machine"})
    made = make_environment(tmp_path / "env")
    set_up(made)
    return made


def _rewritten(store: Store, old: str, other: str) -> None:
    file = store.prefix / OWN / JOURNAL
    text = file.read_text("utf-8")
    assert old in text
    file.write_text(text.replace(old, other), "utf-8")


def _opened(store: Store) -> None:
    """The setup reads as one that was interrupted."""
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
def test_a_journal_with_paths_that_lead_out_is_refused_by_file_line_and_key(
    store: Store, name: str, undo: Callable[[Store], object]
) -> None:
    _rewritten(store, *REWRITTEN[name])
    if undo is recover:
        _opened(store)
    before = picture(store.prefix.parent)
    with pytest.raises(DocumentError, match=rf"{JOURNAL}:\d+: ") as refusal:
        undo(store)
    assert refusal.value.exit_code is ExitCode.USAGE
    assert picture(store.prefix.parent) == before


def test_a_transaction_that_means_others_is_none_that_can_be_forgotten(store: Store) -> None:
    _rewritten(store, *REWRITTEN["work"])
    before = picture(store.prefix.parent)
    with pytest.raises(UsageError):
        forget(store, FIRST.id)
    assert picture(store.prefix.parent) == before


def _behind_a_link(store: Store, path: str) -> None:
    """What lies there lies elsewhere now."""
    elsewhere = store.prefix.parent / "victim" / "moved"
    shutil.move(store.prefix / path, elsewhere)
    (store.prefix / path).symlink_to(elsewhere)


LINKED = ["share", ROOT, TRANSACTIONS, f"{OWN}/aside", f"{OWN}/stage", "lib", SITE, f"{SITE}/made"]


@pytest.mark.parametrize("path", LINKED)
def test_nothing_is_undone_behind_a_link_that_leads_out(store: Store, path: str) -> None:
    _behind_a_link(store, path)
    before = picture(store.prefix.parent)
    with pytest.raises(RefusedError, match="leads out of the environment, to ") as refusal:
        rollback(store)
    assert str(store.prefix.parent / "victim") in refusal.value.message
    assert picture(store.prefix.parent) == before


def test_a_link_inside_the_environment_leads_nowhere_else(store: Store) -> None:
    shutil.move(store.prefix / "lib", store.prefix / "lib-real")
    (store.prefix / "lib").symlink_to("lib-real")
    rollback(store)
    assert not os.path.lexists(store.prefix / ROOT)


def test_a_loose_journal_that_means_others_removes_nothing(store: Store) -> None:
    loose = store.prefix / f".fastinstall-{FIRST.id}.jsonl"
    text = (store.prefix / OWN / JOURNAL).read_text("utf-8").splitlines(keepends=True)[0]
    loose.write_text(text.replace(f'"work":"{OWN}"', '"work":"../victim"'), "utf-8")
    before = picture(store.prefix.parent)
    with pytest.raises(FastinstallError):
        recover(store)
    assert picture(store.prefix.parent) == before
