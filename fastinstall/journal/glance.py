"""What doctor asks of our directory inside an environment: the receipt, and whether something is unfinished.

Journals are read by the names of their events alone, and none of the values of `entries` is made:
doctor only asks whether there is something to undo. Whoever undoes it reads them whole.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fastinstall.errors import DocumentError
from fastinstall.journal.layout import JOURNAL, RECEIPT, TRANSACTIONS
from fastinstall.model.codec import open_document
from fastinstall.model.receipt import Receipt
from fastinstall.rules.messages import quote

_BEGUN, _COMMITTED, _UNDOING = "begun", "committed", "undoing"


def read_receipt(prefix: Path) -> Receipt | None:
    """The receipt of the setup that holds in an environment; None where there is none.

    Raises:
        DocumentError: it is malformed; names the file and the key, and what to do.
    """
    try:
        return _receipt(prefix / RECEIPT)
    except DocumentError as error:
        file, where = quote(prefix / RECEIPT), quote(prefix)
        raise error.hinting(
            f"set up again without it: mv {file} {file}.damaged; fastinstall setup --prefix {where}"
        ) from None


def _receipt(file: Path) -> Receipt | None:
    try:
        text = file.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise DocumentError(file, "", f"cannot be read: {error}") from error
    try:
        data = json.loads(text)
    except ValueError as error:
        raise DocumentError(file, "", f"not JSON: {error}") from None
    return open_document(Receipt, "receipt", data, file=file)


def unfinished_transaction(prefix: Path) -> str | None:
    """The newest transaction of an environment that neither committed nor was undone to its end, by its identifier.

    Raises:
        DocumentError: a journal is malformed; names the file and the line.
    """
    journals = (_events(file) for file in _journals(prefix))
    unfinished = (events[0] for events in journals if not _holds({event["event"] for event in events}))
    newest = max(unfinished, key=lambda begun: int(begun["sequence"]), default=None)
    return str(newest["id"]) if newest is not None else None


def _holds(names: set[str]) -> bool:
    return _COMMITTED in names and _UNDOING not in names


def _journals(prefix: Path) -> Iterator[Path]:
    directory = prefix / TRANSACTIONS
    if directory.is_dir():
        yield from (file for each in directory.iterdir() if (file := each / JOURNAL).is_file())


def _events(file: Path) -> list[dict[str, Any]]:
    """The lines of a journal, of which the first says what was begun; one without its newline was never written."""
    try:
        lines = file.read_text(encoding="utf-8", errors="surrogateescape").split("\n")[:-1]
    except OSError as error:
        raise DocumentError(file, "", f"cannot be read: {error.strerror}") from error
    events = [_event(line, f"{file}:{number}") for number, line in enumerate(lines, start=1)]
    if not events or events[0]["event"] != _BEGUN or not {"id", "sequence"} <= events[0].keys():
        raise DocumentError(f"{file}:1", "event", f"expected {_BEGUN!r}")
    return events


def _event(line: str, where: str) -> dict[str, Any]:
    try:
        data = json.loads(line)
    except ValueError as error:
        raise DocumentError(where, "", f"not JSON: {error}") from None
    if not isinstance(data, dict) or not isinstance(data.get("event"), str):
        raise DocumentError(where, "event", "expected the name of an event")
    return data
