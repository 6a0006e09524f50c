"""What becomes of an open transaction whose work another program has overrun: theirs stays, or ours goes as it came.

Where the metadata that we had brought in is gone or another's, an installer has taken the place: it has replaced or
removed ours by its own rules, and goes on from there. Then nothing of before comes back under its hands; it is kept for
people. Anything else that was altered is no installer's: all is undone, and what is foreign is kept.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from fastinstall.errors import FailedError, FastinstallError, RefusedError
from fastinstall.journal import moves
from fastinstall.journal.acts import Batch, Placed, placed
from fastinstall.journal.intruders import intruders
from fastinstall.journal.known import Known
from fastinstall.journal.store import Store
from fastinstall.journal.undo import Terms, Undone, undo
from fastinstall.journal.yielding import is_absent, is_metadata
from fastinstall.model.receipt import MoveKind
from fastinstall.rules.messages import quote


def is_taken_over(store: Store, identifier: str) -> bool:
    """Whether an installer has replaced or removed what a transaction brought in, after all of its moves were done."""
    log = store.journal(identifier).read()
    if log.begun is None or log.undoing is not None:
        return False
    acts = tuple(placed(log, act, store.prefix, store.prefix / log.begun.work) for act in log.acts)
    certain = _certain(acts)
    replaced = any(_is_replaced(item, log.known) for item in certain)
    return replaced or any(_beside(certain)) or bool(intruders(store.prefix, log))


def give_way(store: Store, identifier: str, reason: str) -> FastinstallError:
    """Undo what is still ours, and leave the place to the installer that has taken it; says so.

    Raises:
        FastinstallError: as `undo` says.
    """
    undone = undo(store, identifier, Terms(reason=reason, yielding=True))
    return RefusedError(
        f"{store.prefix}: another program has replaced what this one was about to set up: what it left stays, and "
        "nothing of this setup does",
        hint=f"once it has ended: fastinstall doctor --prefix {quote(store.prefix)}",
        details=(*_kept("what was there before", undone), reason),
    )


def put_aside(store: Store, identifier: str, reason: str) -> FastinstallError:
    """Undo all of it, and keep what somebody has altered meanwhile; says so.

    Raises:
        FastinstallError: as `undo` says.
    """
    undone = undo(store, identifier, Terms(reason=reason, force=True))
    return FailedError(
        f"{store.prefix}: another program has altered what this one had put there: the environment is as it was before",
        hint=f"see what changes files there, then again: fastinstall setup --prefix {quote(store.prefix)}",
        details=(*_kept("what was altered", undone), reason),
    )


def _certain(acts: Sequence[Placed]) -> list[moves.Placed]:
    return [item for act in acts if isinstance(act, Batch) for item in act.items if item.certain]


def _is_replaced(item: moves.Placed, known: Known) -> bool:
    if not is_metadata(item.move.live):
        return False
    return moves.blocks(item, known) or (item.move.kind is not MoveKind.OUT and is_absent(item.live))


def _beside(certain: Sequence[moves.Placed]) -> Iterator[str]:
    """Metadata of the same distributions that has come beside ours, as conda leaves pip's where it is."""
    own = {item.live for item in certain if is_metadata(item.move.live) and item.live.suffix != ".json"}
    names = {_distribution(path) for path in own}
    for directory in {path.parent for path in own}:
        for path in directory.iterdir() if directory.is_dir() else ():
            if is_metadata(path.name) and _distribution(path) in names and path not in own:
                yield path.name


def _distribution(path: Path) -> str:
    return path.name.partition("-")[0].lower()


def _kept(what: str, undone: Undone) -> tuple[str, ...]:
    return tuple(f"{what}: {path}" for path in undone.kept)
