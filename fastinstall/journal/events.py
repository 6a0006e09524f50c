"""Read the lines of a journal as JSON objects, which is enough for doctor; `log` decodes them as `entries`.

Each line is durable before the next is written, so only the last line may be incomplete. After a kill, an incomplete
line has no newline. After a power failure, any blocks of the line may be missing on the disk. They are read as zero
bytes, which no valid line contains.
"""

from pathlib import Path, PurePath
from typing import Any

from fastinstall.core import foreign
from fastinstall.core.errors import DocumentError, LaterDocumentError
from fastinstall.core.parsing import json_data, parse_json
from fastinstall.model.stored_documents import refuse_other_schema

EVENTS = (
    *("begun", "moving", "moved", "external-change-begun", "external-change-ended", "moving-tree", "moved-tree"),
    *("adding", "committing", "committed", "conceding", "undoing"),
)
"""Names of all events that this version knows; `entries` has a class for each."""


def read_journal_events(file: Path) -> list[dict[str, Any]]:
    """Return the complete lines of a journal as JSON objects; an incomplete last line is dropped.

    Raises:
        LaterDocumentError: a later fastinstall wrote the journal: its schema or an event is unknown.
        DocumentError: the journal cannot be read, or a complete line is not an event; the message says where.
    """
    try:
        text = foreign.read_text(file, errors="surrogateescape")
    except OSError as error:
        raise DocumentError(file, "", f"cannot be read: {error.strerror}") from error
    return parse_journal_events(text, file)


def parse_journal_events(text: str, file: PurePath) -> list[dict[str, Any]]:
    """Return the complete lines of a journal's text, like `read_journal_events`; `file` is for error messages."""
    events: list[dict[str, Any]] = []
    for number, line in enumerate(split_whole_lines(text), start=1):
        where = f"{file}:{number}"
        event = parse_json(line, file=where)
        name = event.get("event") if isinstance(event, dict) else None
        if not isinstance(name, str):
            raise DocumentError(where, "event", f"expected one of {', '.join(EVENTS)}")
        version = str((events[0] if events else event).get("tool_version", ""))
        if name == "begun":
            refuse_other_schema("journal", event.get("schema"), file=where, version=version)
        if name not in EVENTS:
            raise LaterDocumentError(where, "event", f"expected one of {', '.join(EVENTS)}", version=version)
        events.append(event)
    return events


def read_sequence(file: Path) -> int | None:
    """Return the sequence number in the first line of a journal, or None if it cannot be read."""
    try:
        event = json_data(foreign.read_text(file, errors="surrogateescape").partition("\n")[0])
    except (OSError, ValueError):
        return None
    sequence = event.get("sequence") if isinstance(event, dict) else None
    return sequence if isinstance(sequence, int) else None


def split_whole_lines(text: str) -> list[str]:
    r"""Return the complete lines of a journal, without their newlines.

    >>> split_whole_lines("one\ntwo\nthr")
    ['one', 'two']
    """
    lines = text.split("\n")[:-1]
    return lines[:-1] if lines and "\0" in lines[-1] else lines


def measure_whole_lines(content: bytes) -> int:
    r"""Return the size in bytes of a journal's complete lines; an incomplete last line begins at this offset.

    >>> measure_whole_lines(b"one\ntwo\nthr"), measure_whole_lines(b"one\n\0\0\n")
    (8, 4)
    """
    end = content.rfind(b"\n") + 1
    start = content.rfind(b"\n", 0, max(end - 1, 0)) + 1
    return start if b"\0" in content[start:end] else end
