"""Reading the guard's trace: newest events first, up to a limit; foreign lines are skipped."""

import json
from pathlib import Path

import pytest

from fastinstall.guard.status import read_events
from fastinstall.journal.layout import EVENTS, EVENTS_BEFORE
from fastinstall.model.guards import GuardEvent

EVENT = GuardEvent(
    at="2026-11-21T10:40:05Z", change="was replaced with Pillow 13.0.0", tool="uv", stack="12.1.1", found="13.0.0"
)


def line(number: int) -> str:
    event = {"at": f"2026-11-21T10:40:{number:02}Z", "change": EVENT.change, "tool": EVENT.tool}
    return json.dumps({**event, "stack": EVENT.stack, "found": EVENT.found})


def put(prefix: Path, *lines: str, name: str = EVENTS) -> None:
    (prefix / name).parent.mkdir(parents=True, exist_ok=True)
    (prefix / name).write_text("".join(f"{line}\n" for line in lines))


def test_without_a_trace_there_are_no_events(tmp_path: Path) -> None:
    assert read_events(tmp_path) == ()


def test_an_event_is_what_was_written(tmp_path: Path) -> None:
    put(tmp_path, line(5))
    assert read_events(tmp_path) == (EVENT,)


def test_the_newest_come_first_and_the_file_before_goes_on(tmp_path: Path) -> None:
    put(tmp_path, line(1), line(2), name=EVENTS_BEFORE)
    put(tmp_path, line(3), line(4))
    assert [event.at[-3:-1] for event in read_events(tmp_path)] == ["04", "03", "02", "01"]
    assert [event.at[-3:-1] for event in read_events(tmp_path, limit=3)] == ["04", "03", "02"]
    assert read_events(tmp_path, limit=0) == ()


@pytest.mark.parametrize(
    "garbage",
    ["", "{", "[]", "null", "7", '{"at": 1, "change": "x"}', '{"at": "x"}', "[" * 100_000, line(9)[:40], "\udcff"],
)
def test_a_line_that_is_none_of_ours_is_passed_over(tmp_path: Path, garbage: str) -> None:
    put(tmp_path)
    content = f"{line(5)}\n{garbage}\n{line(5)}".encode("utf-8", "surrogateescape")
    (tmp_path / EVENTS).write_bytes(content)
    assert read_events(tmp_path) == (EVENT, EVENT)


def test_what_a_later_guard_may_add_is_no_hindrance(tmp_path: Path) -> None:
    put(tmp_path, json.dumps({**json.loads(line(5)), "more": [1]}), '{"at": "2027", "change": "was removed"}')
    assert read_events(tmp_path) == (GuardEvent(at="2027", change="was removed"), EVENT)


def test_a_directory_in_its_place_is_no_trace(tmp_path: Path) -> None:
    (tmp_path / EVENTS).mkdir(parents=True)
    assert read_events(tmp_path) == ()
