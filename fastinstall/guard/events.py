"""What the start-up guard has told, as it wrote it down: one JSON line for each time. Reads, and changes nothing."""

from collections.abc import Iterator
from pathlib import Path

from fastinstall.journal.layout import EVENTS, EVENTS_BEFORE
from fastinstall.model.parsing import json_data
from fastinstall.model.pins import GuardEvent
from fastinstall.system import foreign

_FIELDS = ("at", "change", "tool", "stack", "found")


def read_events(prefix: Path, limit: int = 20) -> tuple[GuardEvent, ...]:
    """The last events, newest first; none where nothing was told, or nothing could be written down.

    A line that is not one of ours (a disk was full, somebody edited it) is passed over.

    Args:
        prefix: of the environment.
        limit: how many at most.
    """
    events = (event for name in (EVENTS, EVENTS_BEFORE) for event in _backwards(prefix / name))
    return tuple(event for event, _ in zip(events, range(limit), strict=False))


def _backwards(file: Path) -> Iterator[GuardEvent]:
    try:
        lines = foreign.read_bytes(file).splitlines()
    except OSError:
        return
    for line in reversed(lines):
        event = _event(line)
        if event is not None:
            yield event


def _event(line: bytes) -> GuardEvent | None:
    try:
        data = json_data(line)
    except ValueError:
        return None
    if not isinstance(data, dict):
        return None
    words = {name: data.get(name, "") for name in _FIELDS}
    if not all(isinstance(word, str) for word in words.values()) or not words["at"] or not words["change"]:
        return None
    return GuardEvent(**words)
