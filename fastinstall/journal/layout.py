"""The layout of fastinstall's directory inside an environment, relative to its prefix.

    <prefix>/share/fastinstall/
        receipt.json                    the current setup
        tx/<id>/plan.json               what a transaction set out to do
        tx/<id>/journal.jsonl           what it did
        tx/<id>/{stage,aside}/          what it brings in, what it moved aside
        tx/<id>/previous-receipt.json   the receipt that it replaced
        guard-events.jsonl{,.1}         what the start-up guard reported, and the file before that one
        kept/<id>/                      foreign content that a rollback moved out of the way
        kept/<id>/transaction/          an unreadable transaction, put away by `rollback --forget <id>`
        project                         the directory of the project that is pinned to what is in place

Everything there is fastinstall's; nothing of the environment's own lies there. While an environment is being made, a
note of that lies in the environment's directory itself.

The module also reads single files of that layout: the receipt, which a transaction writes when it commits; the title of
a transaction from its plan, for display, leaving out what cannot be read; and the disk space that would be freed.

Each line of a journal is durable before the next, so only the last one may be incomplete. A killed process leaves it
without its newline. A power failure may leave one whose later blocks reached the disk and whose earlier ones did not;
these read as zeros, which no valid line contains.
"""

import os
import stat
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from fastinstall.core import foreign
from fastinstall.core.errors import DocumentError, LaterDocumentError
from fastinstall.core.messages import quote
from fastinstall.core.parsing import json_data
from fastinstall.core.values import immutable
from fastinstall.model.receipt import Receipt
from fastinstall.model.stored_documents import open_stored

SHARE = "share"
ROOT = "share/fastinstall"
RECEIPT = "share/fastinstall/receipt.json"
TRANSACTIONS = "share/fastinstall/tx"
PROJECT = "share/fastinstall/project"
EVENTS = "share/fastinstall/guard-events.jsonl"
EVENTS_BEFORE = "share/fastinstall/guard-events.jsonl.1"
KEPT = "share/fastinstall/kept"
CREATION = ".fastinstall-creation"
JOURNAL = "journal.jsonl"
"""Of a transaction, in its directory."""
PLAN = "plan.json"
"""Likewise."""
LOOSE = r"\.fastinstall-([0-9]{8}T[0-9]{6}Z-[0-9a-f]+)\.jsonl"
"""The name of a journal while the directories of its transaction are made or removed; see `store`."""


def is_journaled(prefix: Path) -> bool:
    """Whether there is a transaction in an environment, finished or not, that can be undone from its journal."""
    return any(prefix.glob(f"{TRANSACTIONS}/*/{JOURNAL}"))


_SETUP = "setup"


@immutable
class Title:
    """What a transaction was.

    Attributes:
        verb: what was called ("setup", "guard install --pin"); empty if nobody wrote it down.
        stack: what that brought ("pillow 13.0.0+simd.v2.v3"); empty if it brought none.
    """

    verb: str = ""
    stack: str = ""


def title_of(directory: Path) -> Title:
    """The title of the transaction whose directory this is."""
    try:
        plan = json_data(foreign.read_bytes(directory / PLAN))
    except (OSError, ValueError):
        return Title()
    if not isinstance(plan, dict):
        return Title()
    return Title(verb=find_verb(plan), stack=_find_stack(plan))


def find_verb(plan: Mapping[str, object]) -> str:
    """Return what was called, as a plan says it.

    A plan of an earlier fastinstall does not say it; that of a guard bears it as its summary.
    """
    verb, summary = plan.get("verb"), plan.get("summary")
    if isinstance(verb, str) and verb:
        return verb
    return summary if isinstance(summary, str) and summary.startswith("guard ") else _SETUP


def _find_stack(plan: dict[str, Any]) -> str:
    steps = plan.get("steps")
    found = (step for step in steps if isinstance(step, dict)) if isinstance(steps, list) else ()
    build = next((step for step in found if step.get("kind") == "build"), {})
    parts = (build.get("distribution"), build.get("version"))
    return " ".join(part for part in parts if isinstance(part, str))


_BLOCK = 512
"""The unit of `st_blocks`; see stat(2)."""


def measure_freed_bytes(paths: Iterable[Path]) -> int:
    """The bytes that removing files and trees would free; those that are not there hold nothing.

    A file with hard links elsewhere (in a package cache) would stay there, so it does not count.
    """
    links: Counter[tuple[int, int]] = Counter()
    sizes: dict[tuple[int, int], tuple[int, int]] = {}
    directories = 0
    for status, is_directory in (found for path in paths for found in _walk_statuses(path)):
        if is_directory:
            directories += status.st_blocks * _BLOCK
            continue
        key = (status.st_dev, status.st_ino)
        links[key] += 1
        sizes[key] = (status.st_nlink, status.st_blocks * _BLOCK)
    return directories + sum(size for key, (count, size) in sizes.items() if links[key] >= count)


def _walk_statuses(path: Path | str) -> Iterator[tuple[os.stat_result, bool]]:
    try:
        status = os.lstat(path)
    except OSError:
        return
    is_directory = stat.S_ISDIR(status.st_mode)
    yield status, is_directory
    if is_directory:
        try:
            with os.scandir(path) as entries:
                names = [entry.path for entry in entries]
        except OSError:
            return
        for name in names:
            yield from _walk_statuses(name)


def split_whole_lines(text: str) -> list[str]:
    """The lines, without their newlines."""
    lines = text.split("\n")[:-1]
    return lines[:-1] if lines and "\0" in lines[-1] else lines


def measure_whole_lines(content: bytes) -> int:
    """Return how many bytes from the start of the file hold whole lines."""
    end = content.rfind(b"\n") + 1
    start = content.rfind(b"\n", 0, max(end - 1, 0)) + 1
    return start if b"\0" in content[start:end] else end


def read_receipt(prefix: Path) -> Receipt | None:
    """Return the receipt of an environment's current setup, or None if it has none.

    Raises:
        LaterDocumentError: a later fastinstall wrote it, in a form that cannot be read.
        DocumentError: it is malformed; names the file and the key, and what to do.
    """
    try:
        return _load_receipt(prefix / RECEIPT)
    except LaterDocumentError:
        raise
    except DocumentError as error:
        file, where = quote(prefix / RECEIPT), quote(prefix)
        raise error.hinting(
            f"set up again without it: mv {file} {file}.damaged; fastinstall setup --prefix {where}"
        ) from None


def receipt_data(prefix: Path) -> dict[str, Any] | None:
    """Return the receipt as stored, with all its keys, or None if there is none.

    Raises:
        DocumentError: it is not a JSON object.
    """
    file = prefix / RECEIPT
    if not os.path.lexists(file):
        return None
    data = foreign.read_json(file)
    if not isinstance(data, dict):
        raise DocumentError(file, "", "expected a table of keys at the top")
    return data


def _load_receipt(file: Path) -> Receipt | None:
    data = receipt_data(file.parents[2])
    return open_stored(Receipt, "receipt", data, file=file) if data is not None else None
