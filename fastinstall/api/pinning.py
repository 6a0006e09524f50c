"""The pin of a conda environment, put into its file and taken out of it by a transaction."""

from collections.abc import Sequence
from pathlib import Path

from fastinstall.journal.store import Store
from fastinstall.journal.transaction import Transaction
from fastinstall.model.facts import Facts
from fastinstall.model.receipt import Move, MoveKind
from fastinstall.rules.conda_pins import pin_line
from fastinstall.rules.conda_stack import is_ours
from fastinstall.rules.pins import PIN, PINNED, pin_in, pinned_text, unpinned_text
from fastinstall.system import files

_STAGED = "pinned"


def pin_of(prefix: Path) -> str:
    """Our line in the environment's pins; empty where it is not there."""
    return pin_in(_text(prefix))


def add_pin(prefix: Path, facts: Facts, transaction: Transaction) -> None:
    """Add our pin, unless it is there.

    Args:
        prefix: the environment.
        facts: of it; `refuse_unpinnable` has let them pass.
        transaction: whose undo takes the line out again, and nothing that others add later.
    """
    packages = facts.conda.packages if facts.conda is not None else ()
    stack = next((package for package in packages if is_ours(package) and package.name == "pillow"), None)
    existing = _text(prefix)
    added = pinned_text(existing, pin_line(stack) if stack is not None else PIN).removeprefix(existing)
    if added:
        transaction.add(PINNED, added)


def pin_removal(store: Store, stage: Path) -> Sequence[Move]:
    """The move that takes our pin away; nothing where it is not there.

    Args:
        store: of the environment.
        stage: of the transaction; what is left of the file is put there.
    """
    existing = _text(store.prefix)
    if not pin_in(existing):
        return ()
    left = unpinned_text(existing)
    if not left:
        return (Move(kind=MoveKind.OUT, live=PINNED, kept=f"aside/{_STAGED}"),)
    files.write_text(stage / _STAGED, left, mode=(store.prefix / PINNED).stat().st_mode & 0o7777)
    return (Move(kind=MoveKind.EXCHANGE, live=PINNED, kept=f"stage/{_STAGED}"),)


def _text(prefix: Path) -> str:
    file = prefix / PINNED
    return file.read_text(encoding="utf-8", errors="surrogateescape") if file.is_file() else ""
