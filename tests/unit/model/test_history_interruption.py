from dataclasses import replace
from pathlib import PurePosixPath

import pytest
from support.suite.golden import Golden
from support.values.builders import PREFIX

from fastinstall.model.history import (
    Interruption,
    UnfinishedRun,
    Unreadable,
    describe_finished_interruption,
    describe_interruption,
    way_out,
)

AT = "2026-11-22T01:02:03Z"
FILE = PurePosixPath("/srv/images/env/share/fastinstall/tx/20261122T010203Z-3fa2c1/journal.jsonl")
WRITTEN = Interruption(kind=UnfinishedRun.SETUP, verb="setup", at=AT, file=FILE, id="20261122T010203Z-3fa2c1")
MAKE = f"fastinstall setup --yes --new-env {PREFIX}"
RECOVER = f"fastinstall rollback --interrupted --yes --prefix {PREFIX}"


@pytest.mark.parametrize(
    ("kind", "verb"),
    [
        (UnfinishedRun.SETUP, "guard install --pin"),
        (UnfinishedRun.ROLLBACK, "setup"),
        (UnfinishedRun.PREPARATION, ""),
        (UnfinishedRun.CLEANUP, ""),
        (UnfinishedRun.CREATION, "setup"),
    ],
)
def test_each_is_told_in_one_sentence_before_and_after(kind: UnfinishedRun, verb: str, golden: Golden) -> None:
    interruption = replace(WRITTEN, kind=kind, verb=verb)
    told = describe_interruption(interruption, PREFIX)
    assert told.endswith(f": {MAKE if kind is UnfinishedRun.CREATION else RECOVER}")
    golden(told, "before")
    golden(describe_finished_interruption(interruption), "after")


def test_where_nobody_knows_when_it_began_no_time_is_told(golden: Golden) -> None:
    golden(describe_finished_interruption(replace(WRITTEN, at="", verb="")))


def test_only_a_damaged_transaction_is_put_away() -> None:
    damaged = Unreadable(file=FILE, problem="damaged", transaction="20261122T010203Z-3fa2c1")
    forget = "fastinstall rollback --forget 20261122T010203Z-3fa2c1 --prefix /srv/images/env"
    assert way_out(damaged, PREFIX) == forget
    assert way_out(replace(damaged, is_later=True), PREFIX) is None
    assert way_out(replace(damaged, transaction=""), PREFIX) is None
