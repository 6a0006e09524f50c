"""Journals and receipts of another fastinstall version: changes that this version understands can be undone."""

import json
from pathlib import Path
from typing import Any

import pytest
from support.journal.environments import (
    FIRST,
    SECOND,
    live,
    make_environment,
    open_transaction,
    picture,
    receipt_of,
    set_up,
    swap_moves,
)

from fastinstall.core.errors import DocumentError, LaterDocumentError
from fastinstall.journal.layout import JOURNAL
from fastinstall.journal.rollback import recover, rollback
from fastinstall.journal.store import JournalStore


@pytest.fixture
def store(tmp_path: Path) -> JournalStore:
    """Return an environment with stock Pillow."""
    return make_environment(tmp_path / "env")


def _change(file: Path, changes: dict[str, Any]) -> None:
    file.write_text(json.dumps({**json.loads(file.read_text()), **changes}))


def _with_keys(store: JournalStore, identifier: str, changes: dict[str, Any]) -> None:
    """Set these keys in every entry of a transaction's journal."""
    journal = store.directory(identifier) / JOURNAL
    lines = [json.dumps({**json.loads(line), **changes}) for line in journal.read_text().splitlines()]
    journal.write_text("".join(f"{line}\n" for line in lines))


def test_keys_of_a_later_version_do_not_prevent_an_undo(store: JournalStore) -> None:
    before = picture(store.prefix)
    set_up(store)
    _with_keys(store, FIRST.id, {"host": "gpu-7", "checked": [1, 2]})
    _change(store.receipt_file, {"signed_by": "somebody"})
    assert store.read_receipt() == receipt_of(FIRST)
    assert rollback(store).ids == (FIRST.id,)
    assert picture(store.prefix) == before


def test_an_open_transaction_with_later_keys_is_recovered(store: JournalStore) -> None:
    before = picture(store.prefix)
    open_transaction(store).perform(swap_moves())
    _with_keys(store, FIRST.id, {"host": "gpu-7"})
    assert recover(store) is not None
    assert picture(store.prefix) == before


@pytest.mark.parametrize("content", ["{", "", '{"schema": "fastinstall.receipt/2", "tool_version": "7.1"}'])
def test_an_unreadable_receipt_does_not_block_its_rollback(store: JournalStore, content: str) -> None:
    before = picture(store.prefix)
    set_up(store)
    store.receipt_file.write_text(content)
    result = rollback(store)
    assert (result.ids, result.receipt) == ((FIRST.id,), None)
    assert picture(store.prefix) == before


def test_a_receipt_that_cannot_be_read_comes_back_as_it_was(store: JournalStore) -> None:
    set_up(store)
    later = '{"schema": "fastinstall.receipt/2", "tool_version": "7.1"}'
    store.receipt_file.write_text(later)
    with open_transaction(store, SECOND) as transaction:
        transaction.commit(receipt_of(SECOND))
    assert rollback(store).ids == (SECOND.id,)
    assert store.receipt_file.read_text() == later
    with pytest.raises(LaterDocumentError, match=r"fastinstall 7\.1"):
        store.read_receipt()


@pytest.mark.parametrize(
    "line", ['{"event": "linking", "paths": ["a"]}', '{"event": "begun", "schema": "fastinstall.journal/2"}']
)
def test_what_a_later_version_did_is_left_alone(store: JournalStore, line: str) -> None:
    set_up(store)
    journal = store.directory(FIRST.id) / JOURNAL
    first, *others = journal.read_text().splitlines()
    lines = (line, *others) if "begun" in line else (first, line, *others)
    journal.write_text("".join(f"{each}\n" for each in lines))
    before = picture(store.prefix)
    for act in (rollback, recover):
        with pytest.raises(LaterDocumentError) as caught:
            act(store)
        assert "upgrade" in str(caught.value.hint)
    assert picture(store.prefix) == before


@pytest.mark.parametrize("damage", ["", "not JSON\n", '{"event": "committed", "at": ""}\n', None])
def test_a_damaged_journal_is_named_with_a_hint_and_left_alone(store: JournalStore, damage: str | None) -> None:
    set_up(store)
    journal = store.directory(FIRST.id) / JOURNAL
    if damage is None:
        journal.unlink()
    else:
        journal.write_text(damage)
    before = live(store.prefix)
    with pytest.raises(DocumentError, match=r"journal\.jsonl") as caught:
        rollback(store)
    assert f"fastinstall rollback --forget {FIRST.id}" in str(caught.value.hint)
    assert [each.transaction for each in store.unreadable()] == [FIRST.id]
    assert live(store.prefix) == before


def test_a_rewritten_receipt_keeps_the_keys_of_a_later_version(store: JournalStore) -> None:
    set_up(store)
    _change(store.receipt_file, {"signed_by": "somebody"})
    with open_transaction(store, SECOND) as transaction:
        transaction.commit(receipt_of(FIRST))  # with the receipt of the setup, as `guard install` does
    assert json.loads(store.receipt_file.read_text())["signed_by"] == "somebody"


def test_another_setup_does_not_inherit_it(store: JournalStore) -> None:
    set_up(store)
    _change(store.receipt_file, {"signed_by": "somebody"})
    with open_transaction(store, SECOND) as transaction:
        transaction.commit(receipt_of(SECOND))
    assert "signed_by" not in json.loads(store.receipt_file.read_text())


def test_a_journal_names_the_version_that_writes_it(store: JournalStore) -> None:
    set_up(store)
    begun = json.loads((store.directory(FIRST.id) / JOURNAL).read_text().splitlines()[0])
    assert begun["schema"] == "fastinstall.journal/1"
    assert begun["tool_version"]
