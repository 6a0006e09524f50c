"""Records of conda packages that arrived since a transaction, and contradict those that its undoing brings back."""

from collections.abc import Iterator, Mapping
from pathlib import Path, PurePath

from fastinstall.journal import conda_records
from fastinstall.journal.log import Log
from fastinstall.model.move import MoveKind


def find_intruding_records(prefix: Path, log: Log, records: Mapping[str, Path] | None = None) -> tuple[str, ...]:
    """Find records that arrived since, with the files that they claim, relative to the prefix.

    Two records of one package would make every engine stumble, and files of an abandoned external change are
    claimed by a stranger only if somebody has installed something over the wreck.

    Args:
        prefix: of the environment that they lie in.
        log: of the transaction that is undone.
        records: the records that there are then, by their names; None for those that are there.
    """
    if records is None:
        records = {name: prefix / conda_records.RECORDS / name for name in conda_records.list_record_names(prefix)}
    moved = [move for batch in log.batches for move in batch.moves]
    touched = [copied.path for change in log.begun_changes for copied in change.copies]
    returning = (*(move.live for move in moved if move.kind is not MoveKind.IN), *touched)
    known = {PurePath(path).name for path in (*(move.live for move in moved), *_list_announced_paths(log))}
    found = conda_records.find_foreign_records(records, known, tuple(filter(conda_records.is_record, returning)))
    return (*found, *_list_unknown_changes(prefix, log, known))


def _list_announced_paths(log: Log) -> Iterator[str]:
    for change in log.begun_changes:
        yield from change.records
        yield from change.paths
        outcome = log.outcome(change)
        yield from outcome.manifest if outcome is not None else ()


def _list_unknown_changes(prefix: Path, log: Log, known: set[str]) -> Iterator[str]:
    dark = [change for change in log.begun_changes if log.outcome(change) is None]
    if not dark:
        return
    paths = frozenset(path for change in dark for path in change.paths)
    for name in conda_records.list_record_names(prefix):
        claimed = conda_records.claims(prefix, name) if name not in known else {}
        if not paths.isdisjoint(claimed):
            yield f"{conda_records.RECORDS}/{name}"
            yield from claimed
