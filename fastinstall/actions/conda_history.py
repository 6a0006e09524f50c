"""Tell conda's history what came and went: its solvers take from it what the user asked for, and so what to keep.

Measured on 2026-11-21 with conda 24.7.1: without this revision `update --all` removes the guard package and puts
its own Pillow back.
"""

from datetime import datetime
from pathlib import Path

from fastinstall.installers.conda.history import history_revision
from fastinstall.journal.revisions import HISTORY
from fastinstall.journal.transaction import Transaction
from fastinstall.model.conda import Conda, CondaChange, CondaStack
from fastinstall.model.steps import Pin, Swap
from fastinstall.system import foreign


def record_revision(stack: CondaStack, swap: Swap, conda: Conda, now: datetime, transaction: Transaction) -> None:
    """Add a revision to the history.

    Args:
        stack: what came.
        swap: names what went.
        conda: what was installed before.
        now: of this run.
        transaction: whose undo takes the revision out again.
    """
    existing = _text(Path(conda_prefix(stack)) / HISTORY)
    revised = history_revision(existing, now.astimezone(), "fastinstall setup", _change(stack, swap, conda))
    transaction.add(HISTORY, revised.removeprefix(existing))


def record_pin(step: Pin, prefix: Path, transaction: Transaction) -> None:
    """Add a pin to the file that solvers read, on a line of its own."""
    existing = _text(prefix / step.file)
    start = "\n" if existing and not existing.endswith("\n") else ""
    transaction.add(step.file, f"{start}{step.line}\n")


def conda_prefix(stack: CondaStack) -> Path:
    """The environment that holds the stack's channel."""
    return Path(stack.channel).parents[2]


def _change(stack: CondaStack, swap: Swap, conda: Conda) -> CondaChange:
    linked = tuple(package for package in (stack.package, stack.guard) if package is not None)
    names = {package.name for package in linked}
    gone = (package for package in conda.packages if package.dist in swap.records or package.name in names)
    return CondaChange(linked=linked, unlinked=tuple(gone))


def _text(file: Path) -> str:
    return foreign.text_if_there(file)
