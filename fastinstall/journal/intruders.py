"""Records of conda packages that have come since, and would contradict those that come back."""

from collections.abc import Iterator, Mapping
from pathlib import Path, PurePath

from fastinstall.journal import records
from fastinstall.journal.log import Log
from fastinstall.model.receipt import MoveKind


def intruders(prefix: Path, log: Log, standing: Mapping[str, Path] | None = None) -> tuple[str, ...]:
    """Such records with the files that they claim, relative to the prefix.

    Two records of one package would make every engine stumble, and files that an abandoned stretch was about are
    claimed by a stranger only if somebody has installed something over the wreck.

    Args:
        prefix: of the environment.
        log: of the transaction that is undone.
        standing: the records that there are then, by their names; None for those that are there.
    """
    if standing is None:
        standing = {name: prefix / records.RECORDS / name for name in records.names(prefix)}
    moved = [move for batch in log.batches for move in batch.moves]
    touched = [copied.path for stretch in log.stretches for copied in stretch.copies]
    returning = (*(move.live for move in moved if move.kind is not MoveKind.IN), *touched)
    known = {PurePath(path).name for path in (*(move.live for move in moved), *_announced(log))}
    found = records.strangers(standing, known, tuple(filter(records.is_record, returning)))
    return (*found, *_over_the_wreck(prefix, log, known))


def _announced(log: Log) -> Iterator[str]:
    for stretch in log.stretches:
        yield from stretch.records
        yield from stretch.paths
        outcome = log.outcome(stretch)
        yield from outcome.manifest if outcome is not None else ()


def _over_the_wreck(prefix: Path, log: Log, known: set[str]) -> Iterator[str]:
    dark = [stretch for stretch in log.stretches if log.outcome(stretch) is None]
    if not dark:
        return
    paths = frozenset(path for stretch in dark for path in stretch.paths)
    for name in records.names(prefix):
        claimed = records.claims(prefix, name) if name not in known else {}
        if not paths.isdisjoint(claimed):
            yield f"{records.RECORDS}/{name}"
            yield from claimed
