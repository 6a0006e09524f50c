"""Read a journal: the state that its lines amount to, and the file on disk that they are appended to.

Lines are only ever appended, and each is durable before its act.

A journal is undone only inside its environment, whoever wrote it. Undoing moves and removes what the journal names, and
a journal may lie in an environment that somebody else made. So no path in it may be absolute or contain ".."
(`refuse_escapes`, from the text alone), and none may pass through a symbolic link that leads outside
(`refuse_ways_out`, from the disk).

`find_intruding_records` finds records of conda packages that arrived since and would contradict those that come back.
"""

import contextlib
import os
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from pathlib import Path, PurePath

from fastinstall.core import files, foreign
from fastinstall.core.errors import DocumentError, RefusedError
from fastinstall.core.messages import quote
from fastinstall.core.values import get_key, immutable
from fastinstall.journal import external_changes
from fastinstall.journal.entries import (
    Adding,
    Committed,
    Committing,
    Conceding,
    Entry,
    ExternalChangeBegun,
    ExternalChangeEnded,
    Moved,
    Moving,
    Spread,
    Spreading,
    TransactionBegun,
    Undoing,
    format_entry_line,
    parse_entry_line,
)
from fastinstall.journal.external_changes import is_record
from fastinstall.journal.fingerprints import HISTORY, Directory, KnownFiles, directories_below, merge_manifests
from fastinstall.journal.layout import KEPT, ROOT, TRANSACTIONS, measure_whole_lines, split_whole_lines
from fastinstall.model.move import MoveKind

Act = Moving | ExternalChangeBegun | Adding
"""What is undone as one, in the reverse order of the journal."""


class TransactionState(StrEnum):
    """How far a transaction came."""

    OPEN = "open"
    COMMITTED = "committed"
    UNDOING = "undoing"


@immutable
class Log:
    """A journal, read.

    Attributes:
        entries: its lines, oldest first.
    """

    entries: tuple[Entry, ...]

    @property
    def begun(self) -> TransactionBegun | None:
        """The first line, or None if the process died before writing it."""
        first = self.entries[0] if self.entries else None
        return first if isinstance(first, TransactionBegun) else None

    def require_begun(self, file: PurePath) -> TransactionBegun:
        """The first line.

        Raises:
            DocumentError: there is none; names the file, which only the message needs.
        """
        if self.begun is None:
            raise DocumentError(f"{file}:1", "event", "expected 'begun'")
        return self.begun

    @property
    def state(self) -> TransactionState:
        """Whether it is open, committed, or being undone."""
        if self.undoing is not None:
            return TransactionState.UNDOING
        return TransactionState.COMMITTED if self.committed else TransactionState.OPEN

    @property
    def committed(self) -> bool:
        """Whether it ever held, undone since or not."""
        return any(isinstance(entry, Committed) for entry in self.entries)

    @property
    def undoing(self) -> Undoing | None:
        """Why it is being undone, if it is."""
        return next((entry for entry in self.entries if isinstance(entry, Undoing)), None)

    @property
    def conceding(self) -> Conceding | None:
        """What is left to another program when it is undone, if something is."""
        return next((entry for entry in self.entries if isinstance(entry, Conceding)), None)

    @property
    def acts(self) -> tuple[Act, ...]:
        """Every announcement of what changes the environment, in order."""
        return tuple(entry for entry in self.entries if isinstance(entry, Moving | ExternalChangeBegun | Adding))

    @property
    def batches(self) -> tuple[Moving, ...]:
        """Every announcement of moves."""
        return tuple(entry for entry in self.entries if isinstance(entry, Moving))

    @property
    def begun_changes(self) -> tuple[ExternalChangeBegun, ...]:
        """Every announcement of another program's changes."""
        return tuple(entry for entry in self.entries if isinstance(entry, ExternalChangeBegun))

    def happened(self, batch: Moving) -> bool:
        """Whether all of its moves are done, and none of them is undone yet."""
        following = self.entries[self.entries.index(batch) + 1 :]
        outcome = next((entry for entry in following if isinstance(entry, Moving | Moved)), None)
        return isinstance(outcome, Moved) and self.undoing is None

    def outcome(self, begun: ExternalChangeBegun) -> ExternalChangeEnded | None:
        """What an external change came to; None if the process died in it."""
        following = self.entries[self.entries.index(begun) + 1 :]
        outcome = next(
            (entry for entry in following if isinstance(entry, Moving | ExternalChangeBegun | ExternalChangeEnded)),
            None,
        )
        return outcome if isinstance(outcome, ExternalChangeEnded) else None

    @property
    def known(self) -> KnownFiles:
        """Everything that stood somewhere by this transaction's doing, or before an external change of it."""
        brought = [entry.manifest for entry in self.entries if isinstance(entry, Moving | ExternalChangeEnded)]
        before = ({copied.path: copied.digest for copied in change.copies} for change in self.begun_changes)
        dark = [change for change in self.begun_changes if self.outcome(change) is None]
        unwatched = (
            *(path for change in dark for path in change.paths),
            *(path for manifest in brought for path in filter(is_record, manifest)),
            HISTORY,
        )
        return merge_manifests((*brought, *before), unwatched, self.begun.home if self.begun is not None else "")

    @property
    def directories(self) -> tuple[Directory, ...]:
        """Directories as they were before the transaction, less those that it had brought in itself."""
        first = {directory.path: directory for directory in (self.begun.directories if self.begun else ())}
        brought: set[str] = set()
        for act in self.acts:
            for directory in act.directories:
                if brought.isdisjoint((directory.path, *map(str, PurePath(directory.path).parents))):
                    first.setdefault(directory.path, directory)
            brought.update(move.live for move in (act.moves if isinstance(act, Moving) else ()))
        return tuple(first.values())

    @property
    def committing(self) -> Committing | None:
        """The announcement of the receipt's change."""
        return next((entry for entry in self.entries if isinstance(entry, Committing)), None)

    @property
    def unfinished_spread(self) -> Spreading | None:
        """The tree that was being moved file by file when the process died."""
        spreads = [entry for entry in self.entries if isinstance(entry, Spreading | Spread)]
        return spreads[-1] if spreads and isinstance(spreads[-1], Spreading) else None


def parse_journal(text: str, *, file: PurePath) -> Log:
    """Read a journal; a last line that death or a power failure interrupted is dropped.

    Raises:
        LaterDocumentError: a later fastinstall wrote it, in a form that cannot be understood.
        DocumentError: a whole line is malformed; names the file, the line and the key.
    """
    lines = [(f"{file}:{number}", line) for number, line in enumerate(split_whole_lines(text), start=1)]
    entries = [parse_entry_line(line, where=where) for where, line in lines[:1]]
    version = next((entry.tool_version for entry in entries if isinstance(entry, TransactionBegun)), "")
    return Log(entries=(*entries, *(parse_entry_line(line, where=where, version=version) for where, line in lines[1:])))


_CACHE = "__pycache__"
Named = tuple[str, str]
"""The key of an entry, and a path that stands there."""


def refuse_escapes(log: Log, file: PurePath) -> None:
    """Raise if a path of a journal is not one inside the environment.

    Args:
        log: the journal.
        file: where it was read: in the directory of its transaction, or beside it under the name of that.

    Raises:
        DocumentError: names file, line and key.
    """
    begun = log.begun
    if begun is not None:
        _refuse_other_place(begun, file)
    for number, entry in enumerate(log.entries, start=1):
        for key, path in list_entry_paths(entry):
            if _is_outside(path):
                raise _make_malformed_error(file, number, key, f"{path!r} leads outside the environment")
        for key, path in list_entry_paths(entry, _WORKPLACE_PATHS):
            if _is_outside(path) or path.partition("/")[0] not in ("stage", "aside") or not path.partition("/")[2]:
                raise _make_malformed_error(file, number, key, f"{path!r} is not inside a transaction")


def refuse_ways_out(prefix: Path, log: Log) -> None:
    """Raise if something that undoing a journal would touch lies behind a symbolic link out of the environment.

    Raises:
        RefusedError: names the directory and where it leads; nothing has been touched.
    """
    refuse_outside(prefix, _list_touched_directories(prefix, log))


def refuse_outside(prefix: Path, directories: Iterable[str]) -> None:
    """Raise if a directory, relative to the prefix, lies behind a symbolic link out of the environment.

    Raises:
        RefusedError: names the directory and where it leads; nothing has been touched.
    """
    home = os.path.realpath(prefix)
    for directory in dict.fromkeys(directories):
        where = os.path.realpath(prefix / directory)
        if where != home and not where.startswith(f"{home}{os.sep}"):
            raise RefusedError(
                f"{prefix / directory}: leads outside the environment, to {where}; nothing is changed there",
                hint=f"find out who made that link: ls -ld {quote(prefix / directory)}",
            )


_PATHS: dict[type, tuple[str, ...]] = {
    TransactionBegun: ("directories.path", "created", "work"),
    Moving: ("directories.path", "created", "moves.live", "manifest"),
    ExternalChangeBegun: ("directories.path", "created", "copies.path", "appearing", "own_places", "records"),
    ExternalChangeEnded: ("manifest", "untouched", "removed"),
    Spreading: ("source", "target", "directories.path"),
    Adding: ("directories.path", "path", "draft"),
    Conceding: ("paths", "dropped"),
}
"""Fields that hold paths relative to the prefix; of lists of values, with the field that does."""

_WORKPLACE_PATHS: dict[type, tuple[str, ...]] = {
    Moving: ("moves.kept",),
    ExternalChangeBegun: ("area",),
    Conceding: ("areas",),
}
"""Likewise, relative to the transaction's workplace."""


def list_entry_paths(entry: Entry, places: Mapping[type, tuple[str, ...]] = _PATHS) -> Iterator[Named]:
    """Every path of an entry that is relative to the prefix, with its key; others by another table of its fields."""
    for place in places.get(type(entry), ()):
        name, _, inner = place.partition(".")
        key, value = get_key(type(entry).__dataclass_fields__[name]), getattr(entry, name)
        if isinstance(value, str):
            yield key, value
            continue
        for index, each in enumerate(value):
            yield (f"{key}[{index}].{inner}", getattr(each, inner)) if inner else (f"{key}[{index}]", each)


def _refuse_other_place(begun: TransactionBegun, file: PurePath) -> None:
    identifier = begun.id
    if identifier not in (file.parent.name, file.name.removeprefix(".fastinstall-").removesuffix(".jsonl")):
        raise _make_malformed_error(file, 1, "id", f"{identifier!r} does not belong to this transaction")
    own, beside = f"{TRANSACTIONS}/{identifier}", f".fastinstall-{identifier}"
    if begun.work != own and PurePath(begun.work).name != beside:
        raise _make_malformed_error(file, 1, "work", f"{begun.work!r} is not a work directory of {identifier}")


def _is_outside(path: str) -> bool:
    return not path or path.startswith("/") or "\0" in path or ".." in path.split("/")


def _make_malformed_error(file: PurePath, number: int, key: str, problem: str) -> DocumentError:
    return DocumentError(f"{file}:{number}", key, problem)


def _list_touched_directories(prefix: Path, log: Log) -> Iterator[str]:
    """The directories whose entries or times undoing may change."""
    begun = log.begun
    if begun is None:
        return
    yield from (ROOT, KEPT, f"{TRANSACTIONS}/{begun.id}", f"{begun.work}/stage", f"{begun.work}/aside")
    for entry in log.entries:
        for key, path in list_entry_paths(entry):
            if isinstance(entry, Moving) and key.startswith("manifest"):
                continue  # moved as a whole and read at most; where it goes, a link to elsewhere may have stood before
            whole = key.startswith(("directories", "created", "removed")) and not isinstance(entry, Spreading)
            yield path if whole or path == HISTORY or isinstance(entry, Adding) else _get_parent(path)
            if path.endswith(".py"):
                yield f"{_get_parent(path)}/{_CACHE}"
        for _, path in list_entry_paths(entry, _WORKPLACE_PATHS):
            yield _get_parent(f"{begun.work}/{path}")
        if isinstance(entry, Spreading):
            yield from (f"{top}/{each.path}" for top in (entry.source, entry.target) for each in entry.directories)
        if isinstance(entry, ExternalChangeBegun):
            for pattern in entry.own_places:
                yield from (_get_parent(found.relative_to(prefix).as_posix()) for found in prefix.glob(pattern))
                yield from directories_below(prefix, pattern)


def _get_parent(path: str) -> str:
    return path.rpartition("/")[0] or "."


class Journal:
    """The log of one transaction.

    Args:
        file: where it lies.
    """

    def __init__(self, file: Path) -> None:
        self.file = file

    def append(self, entry: Entry) -> None:
        """Write one line and force it to the disk.

        Raises:
            OSError: it could not be written; the journal reads as if it had not been tried.
        """
        self._cut_torn_line()
        whole = self.file.stat().st_size if self.file.exists() else 0
        try:
            files.append_line(self.file, format_entry_line(entry))
        except OSError:
            with contextlib.suppress(OSError):  # a line that may not last must not count now
                self._cut(whole)
            raise

    def read(self) -> Log:
        """All whole lines.

        Raises:
            DocumentError: the file is missing, one of its lines is malformed, or a path leads out of the environment.
        """
        if self.file.is_symlink():
            raise DocumentError(self.file, "", f"a link to {self.file.readlink()}: a journal is never a link")
        try:
            text = foreign.read_text(self.file, errors="surrogateescape")
        except OSError as error:
            raise DocumentError(self.file, "", f"cannot be read: {error.strerror}") from error
        log = parse_journal(text, file=self.file)
        refuse_escapes(log, self.file)
        return log

    def _cut_torn_line(self) -> None:
        if not self.file.exists():
            return
        content = foreign.read_bytes(self.file)
        whole = measure_whole_lines(content)
        if whole < len(content):
            self._cut(whole)

    def _cut(self, size: int) -> None:
        """Shorten the file, and nothing that a link in its place leads to."""
        descriptor = os.open(self.file, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            os.ftruncate(descriptor, size)
        finally:
            os.close(descriptor)


def find_intruding_records(prefix: Path, log: Log, records: Mapping[str, Path] | None = None) -> tuple[str, ...]:
    """Such records with the files that they claim, relative to the prefix.

    Two records of one package would make every engine stumble, and files of an abandoned external change are
    claimed by a stranger only if somebody has installed something over the wreck.

    Args:
        prefix: of the environment.
        log: of the transaction that is undone.
        records: the records that there are then, by their names; None for those that are there.
    """
    if records is None:
        records = {name: prefix / external_changes.RECORDS / name for name in external_changes.names(prefix)}
    moved = [move for batch in log.batches for move in batch.moves]
    touched = [copied.path for change in log.begun_changes for copied in change.copies]
    returning = (*(move.live for move in moved if move.kind is not MoveKind.IN), *touched)
    known = {PurePath(path).name for path in (*(move.live for move in moved), *_list_announced_paths(log))}
    found = external_changes.find_foreign_records(records, known, tuple(filter(external_changes.is_record, returning)))
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
    for name in external_changes.names(prefix):
        claimed = external_changes.claims(prefix, name) if name not in known else {}
        if not paths.isdisjoint(claimed):
            yield f"{external_changes.RECORDS}/{name}"
            yield from claimed
