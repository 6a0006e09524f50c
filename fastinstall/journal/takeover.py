"""Another program that overran an open transaction: either its work stays or ours is undone.

If the metadata that we brought in is gone or replaced, an installer has taken over: it replaced or removed our files by
its own rules and continues from there. Then nothing is restored under its hands, and the former content is kept for the
user. Any other alteration is not an installer's: everything is undone, and foreign content is kept.
"""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from fastinstall.core.errors import FailedError, FastinstallError, RefusedError
from fastinstall.core.messages import quote
from fastinstall.journal import moves
from fastinstall.journal.acts import Batch, is_metadata, locate_act
from fastinstall.journal.fingerprints import KnownFiles
from fastinstall.journal.intruding_records import find_intruding_records
from fastinstall.journal.store import JournalStore
from fastinstall.journal.undo import UndoResult, UndoTerms, undo
from fastinstall.model.move import MoveKind


def is_taken_over(store: JournalStore, identifier: str) -> bool:
    """Return whether an installer has replaced or removed what a transaction brought in, once all was moved."""
    log = store.journal(identifier).read()
    if log.begun is None or log.undoing is not None:
        return False
    acts = tuple(locate_act(log, act, store.prefix, store.prefix / log.begun.work) for act in log.acts)
    certain = [item for act in acts if isinstance(act, Batch) for item in act.items if item.certain]
    replaced = any(_is_replaced(item, log.known) for item in certain)
    return replaced or any(_list_metadata_beside(certain)) or bool(find_intruding_records(store.prefix, log))


def give_way(store: JournalStore, identifier: str, reason: str) -> FastinstallError:
    """Undo what is still ours, and leave the place to the installer that has taken it; says so.

    Raises:
        FastinstallError: as `undo` says.
    """
    undone = undo(store, identifier, UndoTerms(reason=reason, conceding=True))
    return RefusedError(
        f"{store.prefix}: another program replaced the same files: its files stay, and this setup was undone",
        hint=f"after it has ended, run: fastinstall doctor --prefix {quote(store.prefix)}",
        details=(*_describe_kept_files("what was there before", undone), reason),
    )


def undo_taken_over_transaction(store: JournalStore, identifier: str, reason: str) -> FastinstallError:
    """Undo all of it, and keep what somebody has altered meanwhile; says so.

    Raises:
        FastinstallError: as `undo` says.
    """
    undone = undo(store, identifier, UndoTerms(reason=reason, force=True))
    return FailedError(
        f"{store.prefix}: another program altered what this setup had installed: the environment is as it was before",
        hint=f"find out what changes files there, then run again: fastinstall setup --prefix {quote(store.prefix)}",
        details=(*_describe_kept_files("what was altered", undone), reason),
    )


def _is_replaced(item: moves.LocatedMove, known: KnownFiles) -> bool:
    if not is_metadata(item.move.live):
        return False
    return moves.is_blocking(item, known) or (item.move.kind is not MoveKind.OUT and not os.path.lexists(item.live))


def _list_metadata_beside(certain: Sequence[moves.LocatedMove]) -> Iterator[str]:
    """Yield metadata of the same distributions that has come beside ours, as conda leaves pip's where it is."""
    own = {item.live for item in certain if is_metadata(item.move.live) and item.live.suffix != ".json"}
    names = {_get_distribution_name(path) for path in own}
    for directory in {path.parent for path in own}:
        for path in directory.iterdir() if directory.is_dir() else ():
            if is_metadata(path.name) and _get_distribution_name(path) in names and path not in own:
                yield path.name


def _get_distribution_name(path: Path) -> str:
    return path.name.partition("-")[0].lower()


def _describe_kept_files(what: str, undone: UndoResult) -> tuple[str, ...]:
    return tuple(f"{what}: {path}" for path in undone.kept)
