"""What can be undone, as a table."""

from fastinstall.model.history import PastTransaction, Transactions
from fastinstall.rules.holdings import in_words

_HEAD = ("ID", "BEGAN", "STATE", "HOLDS", "WHAT")
_RIGHT = _HEAD.index("HOLDS")
_GAP = "  "


def history_text(found: Transactions) -> str:
    """One line for each transaction, the newest first, and what they hold together.

    Args:
        found: what is on record.
    """
    if not found.transactions:
        return "nothing to undo: fastinstall has set up nothing here"
    rows = [_HEAD, *(_row(each) for each in found.transactions)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEAD))]
    problems = [f"{each.id}: {each.problem}" for each in found.transactions if each.problem]
    total = f"they hold {in_words(found.held_bytes)} in all"
    return "\n".join([*(_line(row, widths) for row in rows), *problems, total])


def _row(each: PastTransaction) -> tuple[str, ...]:
    return (each.id, each.at or "unknown", str(each.state), each.held, each.title)


def _line(row: tuple[str, ...], widths: list[int]) -> str:
    cells = (
        text.rjust(width) if column == _RIGHT else text.ljust(width)
        for column, (text, width) in enumerate(zip(row, widths, strict=True))
    )
    return _GAP.join(cells).rstrip()
