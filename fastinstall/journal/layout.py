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
"""

from pathlib import Path

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
    """Return whether there is a transaction in an environment, finished or not, that can be undone from its journal."""
    return any(prefix.glob(f"{TRANSACTIONS}/*/{JOURNAL}"))
