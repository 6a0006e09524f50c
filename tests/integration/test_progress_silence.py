"""Messages that fastinstall is still running while a step reports nothing; the tests use a real clock."""

import time

import pytest

from fastinstall.cli.console import Console
from fastinstall.cli.progress import ProgressLines
from fastinstall.core.events import Started

PATIENCE, SILENCE = 0.05, 0.5
STAGES = ("headers", "compile", "prove", "stage")


def test_each_reported_silence_is_longer_than_the_one_before(capsys: pytest.CaptureFixture[str]) -> None:
    start = time.monotonic()
    with ProgressLines(Console(), PATIENCE) as show:
        for stage in STAGES:
            show(Started(stage=stage, message=stage))
            time.sleep(SILENCE)
    elapsed = time.monotonic() - start
    told = capsys.readouterr().err.splitlines()
    waits = sum(line.startswith("still ") for line in told)
    assert waits > 0, told
    assert PATIENCE * (2**waits - 1) <= elapsed, told
    assert len(told) == waits + len(STAGES), told
