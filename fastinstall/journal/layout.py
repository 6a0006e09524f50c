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

Everything there is fastinstall's; nothing of the environment's own lies there. While an environment is being made, a
note of that lies in the environment's directory itself.

Of a journal, each line is durable before the next, so only the last one may be incomplete. A killed process leaves it
without its newline. A power failure may leave one whose later blocks reached the disk and whose earlier ones did not;
these read as zeros, which no valid line contains.
"""

from pathlib import Path

SHARE = "share"
ROOT = "share/fastinstall"
RECEIPT = "share/fastinstall/receipt.json"
TRANSACTIONS = "share/fastinstall/tx"
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
    """Return whether there is a transaction in an environment, finished or not, that can be undone from its journal."""
    return any(prefix.glob(f"{TRANSACTIONS}/*/{JOURNAL}"))


def split_whole_lines(text: str) -> list[str]:
    r"""Return the whole lines, without their newlines.

    >>> split_whole_lines("one\ntwo\nthr")
    ['one', 'two']
    """
    lines = text.split("\n")[:-1]
    return lines[:-1] if lines and "\0" in lines[-1] else lines


def measure_whole_lines(content: bytes) -> int:
    r"""Return how many bytes from the start of the file hold whole lines.

    >>> measure_whole_lines(b"one\ntwo\nthr"), measure_whole_lines(b"one\n\0\0\n")
    (8, 4)
    """
    end = content.rfind(b"\n") + 1
    start = content.rfind(b"\n", 0, max(end - 1, 0)) + 1
    return start if b"\0" in content[start:end] else end
