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
"""Pattern of a loose journal's name: a journal whose transaction's directories are being made or removed."""


def is_journaled(prefix: Path) -> bool:
    """Return whether an environment has a transaction with a journal, finished or not."""
    return any(prefix.glob(f"{TRANSACTIONS}/*/{JOURNAL}"))


def list_transaction_directories(prefix: Path) -> list[Path]:
    """Return the directories of an environment's transactions, sorted by time."""
    directory = prefix / TRANSACTIONS
    return sorted(each for each in directory.iterdir() if each.is_dir()) if directory.is_dir() else []
