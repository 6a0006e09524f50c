from dataclasses import replace
from pathlib import PurePosixPath

import pytest
from support.values.builders import PREFIX

from fastinstall.model.history import Unreadable, way_out
from fastinstall.model.interruption import (
    Interruption,
    UnfinishedRun,
    describe_finished_interruption,
    describe_interruption,
)

AT = "2026-11-22T01:02:03Z"
PIN = PurePosixPath("/srv/gallery/.fastinstall/pin.json")
WRITTEN = Interruption(cut=UnfinishedRun.SETUP, verb="setup", at=AT, file=PIN, id="20261122T010203Z-3fa2c1")
MAKE = f"fastinstall setup --yes --new-env {PREFIX}"
RECOVER = f"fastinstall rollback --interrupted --yes --prefix {PREFIX}"


@pytest.mark.parametrize(
    ("cut", "verb", "told_now", "told_then"),
    [
        (
            UnfinishedRun.SETUP,
            "guard install --pin",
            f"the guard install --pin of {AT} was interrupted; to restore the environment: {RECOVER}",
            f"the guard install --pin of {AT} had been interrupted; the environment is restored",
        ),
        (
            UnfinishedRun.ROLLBACK,
            "setup",
            f"undoing the setup of {AT} was interrupted; to finish it: {RECOVER}",
            f"undoing the setup of {AT} had been interrupted; it is finished: the environment is restored",
        ),
        (
            UnfinishedRun.BEGINNING,
            "",
            f"the run of {AT} was interrupted; to finish it: {RECOVER}",
            f"the run of {AT} had been interrupted; it had changed nothing; its leftovers are removed",
        ),
        (
            UnfinishedRun.END,
            "",
            f"clearing up after the run of {AT} was interrupted; to finish it: {RECOVER}",
            f"clearing up after the run of {AT} had been interrupted; it is finished",
        ),
        (
            UnfinishedRun.CREATION,
            "setup",
            f"creating the environment at {AT} was interrupted; to start again: {MAKE}",
            f"creating the environment at {AT} had been interrupted; it is used as it is",
        ),
    ],
)
def test_each_is_told_in_one_sentence_before_and_after(
    cut: UnfinishedRun, verb: str, told_now: str, told_then: str
) -> None:
    interruption = replace(WRITTEN, cut=cut, verb=verb)
    assert describe_interruption(interruption, PREFIX) == told_now
    assert describe_finished_interruption(interruption) == told_then


def test_where_nobody_knows_when_it_began_no_time_is_told() -> None:
    unknown = replace(WRITTEN, at="", verb="")
    assert describe_finished_interruption(unknown) == "the run had been interrupted; the environment is restored"


def test_only_a_damaged_transaction_is_put_away() -> None:
    damaged = Unreadable(file=PIN, problem="damaged", transaction="20261122T010203Z-3fa2c1")
    forget = "fastinstall rollback --forget 20261122T010203Z-3fa2c1 --prefix /srv/images/env"
    assert way_out(damaged, PREFIX) == forget
    assert way_out(replace(damaged, is_later=True), PREFIX) is None
    assert way_out(replace(damaged, transaction=""), PREFIX) is None
