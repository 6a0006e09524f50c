"""Signals that ask for an end: heard once, and not at all where the parent has ignored them."""

import signal
from collections.abc import Iterator

import pytest

from fastinstall.cli import interruption
from fastinstall.cli.interruption import interruptible

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@pytest.fixture(autouse=True)
def _handlers() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in ENDING}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", ENDING)
def test_each_of_them_interrupts(number: signal.Signals) -> None:
    with pytest.raises(KeyboardInterrupt), interruptible():
        signal.raise_signal(number)


def test_what_follows_at_once_is_the_same_wish() -> None:
    with interruptible():
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        for number in ENDING:
            signal.raise_signal(number)


def test_what_follows_later_is_heard_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interruption, "_ONE_WISH_SECONDS", 0.0)
    with interruptible():
        for number in ENDING:
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(number)


def test_what_the_parent_ignores_stays_ignored() -> None:
    """As under nohup(1)."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with interruptible():
        signal.raise_signal(signal.SIGHUP)
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)


def test_behind_the_block_all_is_as_before() -> None:
    before = [signal.getsignal(number) for number in ENDING]
    with interruptible():
        assert [signal.getsignal(number) for number in ENDING] != before
    assert [signal.getsignal(number) for number in ENDING] == before
