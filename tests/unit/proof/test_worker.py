"""What the timing process reports: the least CPU time of a call."""

import time
from collections.abc import Iterator

import pytest

from fastinstall.proof._worker import best


def clock(monkeypatch: pytest.MonkeyPatch, *spent: float) -> None:
    """Make successive calls take these CPU times; the wall clock advances by a second each time it is read."""

    def readings() -> Iterator[float]:
        now = 100.0
        for seconds in spent:
            yield now
            now += seconds
            yield now

    monkeypatch.setattr(time, "process_time", readings().__next__)
    monkeypatch.setattr(time, "perf_counter", iter(range(100)).__next__)


def test_the_shortest_call_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    clock(monkeypatch, 0.5, 0.25, 0.75)
    assert best(list, seconds=2) == 0.25


def test_a_call_during_which_the_clock_stood_still_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    clock(monkeypatch, 0.5, 0.0, 0.75)
    assert best(list, seconds=2) == 0.5
