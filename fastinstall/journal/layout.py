"""The layout of fastinstall's directory inside an environment, relative to its prefix.

    <prefix>/share/fastinstall/
        receipt.json                    the current setup
        tx/<id>/plan.json               the plan of a transaction
        tx/<id>/journal.jsonl           the transaction's journal
        tx/<id>/{stage,aside}/          its incoming files, and the files that it moved aside
        tx/<id>/previous-receipt.json   the receipt that the transaction replaced
        guard-events.jsonl{,.1}         reports of the start-up guard; .1 is the previous file, which is full
        kept/<id>/                      foreign content that a rollback moved out of the way
        kept/<id>/transaction/          an unreadable transaction, put away by `rollback --forget <id>`

The directory holds only fastinstall's files. While an environment is being created, a note that says so is in the
prefix itself (`creation_note`).

Each line of a journal is durable before the next is written, so only the last line may be incomplete. After a kill, it
has no newline. After a power failure, some of its blocks may be missing on the disk, even before others that are there;
missing blocks read as zero bytes, which no valid line contains.
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
"""File name of the journal in a transaction's directory."""
PLAN = "plan.json"
"""File name of the plan in a transaction's directory."""
LOOSE = r"\.fastinstall-([0-9]{8}T[0-9]{6}Z-[0-9a-f]+)\.jsonl"
"""Pattern of a journal's name while directories are made or removed; see `transaction_directories`."""


def is_journaled(prefix: Path) -> bool:
    """Return whether an environment has a transaction with a journal, finished or not."""
    return any(prefix.glob(f"{TRANSACTIONS}/*/{JOURNAL}"))


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
