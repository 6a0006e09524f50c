"""Simulate undoing several transactions in order, to find every obstacle before the first one is undone.

Nothing on disk is changed. The simulation tracks where the content of each path comes from at each step: from its
present path on disk, or from the directory to which a later transaction moved it.
"""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePath

from fastinstall.core.foreign import read_bytes
from fastinstall.core.values import immutable
from fastinstall.journal import additions, conda_meta, external_changes, moves
from fastinstall.journal.acts import (
    Act,
    Batch,
    find_intruding_records,
    is_metadata,
    is_pillow,
    list_moves,
    locate_acts,
    parents_of,
)
from fastinstall.journal.entries import Adding
from fastinstall.journal.external_changes import LocatedExternalChange
from fastinstall.journal.fingerprints import KnownFiles, files_of, is_bytecode, is_known_file
from fastinstall.journal.log import Log
from fastinstall.journal.path_rules import refuse_ways_out
from fastinstall.journal.store import JournalStore
from fastinstall.model.history import MoveKind


@immutable
class Step:
    """The simulated undo of one transaction; paths are relative to the prefix.

    Attributes:
        id: the transaction's identifier.
        foreign_entries: the argument of this name for `undo`: paths that contradict the restored files, and that exist
            when this step begins.
        foreign: paths with foreign content that this step must move away. The content is there before the first step.
        returning: paths with foreign content that this step must move away. An earlier step restores the content.
    """

    id: str
    foreign_entries: tuple[str, ...]
    foreign: tuple[str, ...]
    returning: tuple[str, ...]


def foresee_undo(store: JournalStore, identifiers: Sequence[str], intruding: Sequence[str]) -> tuple[Step, ...]:
    """Simulate the undo of committed transactions, and return one step for each.

    Args:
        store: the store of the environment, which is only read.
        identifiers: the identifiers of the transactions, newest first.
        intruding: paths that would contradict a restored stack (`foreign_entries` of `undo`).

    Raises:
        RefusedError: a link leads out of the environment.
        DocumentError: a journal is malformed.
    """
    scene = _Scene(store.prefix)
    metadata = dict.fromkeys(intruding)
    return tuple(_foresee_step(store, scene, identifier, metadata) for identifier in identifiers)


def extend_to_intact_stack(store: JournalStore, chosen: Sequence[str], older: Sequence[str]) -> tuple[str, ...]:
    """Return the transactions to undo so that the restored receipt describes the restored files.

    A setup, such as a repair, may have replaced a stack that another program had altered. Undoing only that setup would
    restore the altered files with an older receipt that does not describe them. So the older setup is undone too.

    Args:
        store: the store of the environment, which is only read.
        chosen: the transactions that the caller wants to undo, newest first.
        older: the transactions that are older than `chosen`, newest first.

    Returns:
        `chosen`, followed by as many of `older` as needed.

    Raises:
        RefusedError: a link leads out of the environment.
        DocumentError: a journal is malformed.
    """
    scene, undone, passed = _Scene(store.prefix), list(chosen), list[str]()
    metadata: dict[str, None] = {}
    for identifier in chosen:
        _foresee_step(store, scene, identifier, metadata)
    for identifier in older:
        passed.append(identifier)
        log = store.journal(identifier).read()
        brought = tuple(_list_stack_files(log))
        if not brought:
            continue
        committing = store.journal(undone[-1]).read().committing
        restores_receipt = committing is not None and committing.replaces
        if not restores_receipt or scene.holds(brought, log.known):
            break
        for each in passed:
            _foresee_step(store, scene, each, metadata)
        undone, passed = [*undone, *passed], []
    return tuple(undone)


def _list_stack_files(log: Log) -> Iterator[str]:
    """Yield the files of Pillow, its libraries and its metadata that a setup installed, but not those of guards."""
    for batch in log.batches:
        own = {move.live for move in batch.moves if is_pillow(move.live) or is_metadata(move.live)}
        yield from (path for path in batch.manifest if (parents_of(path) | {path}) & own)


def _foresee_step(store: JournalStore, scene: "_Scene", identifier: str, metadata: dict[str, None]) -> Step:
    journal = store.journal(identifier)
    log = journal.read()
    log.require_begun(journal.file)
    refuse_ways_out(store.prefix, log.entries)
    acts = locate_acts(log, store.prefix)
    own = {item.move.live for item in list_moves(acts)}
    # Another stack's metadata is in the way only if this undo restores a stack.
    whole = any(map(_is_distribution_metadata, own))
    named = tuple(path for path in metadata if whole and path not in own and scene.stands(path))
    found = dict.fromkeys((*_list_obstacles(store.prefix, scene, acts, log), *named))
    outermost = tuple(path for path in found if not parents_of(path) & found.keys())
    foreign = tuple(path for path in outermost if scene.is_in_place(path))
    for path in outermost:
        scene.put(path, None)
    for act in reversed(acts):
        metadata.update(dict.fromkeys(_take_back(scene, act)))
    returning = tuple(path for path in outermost if path not in foreign)
    return Step(id=identifier, foreign_entries=named, foreign=foreign, returning=returning)


def _list_obstacles(prefix: Path, scene: "_Scene", acts: Sequence[Act], log: Log) -> Iterator[str]:
    known = log.known
    for act in acts:
        match act:
            case LocatedExternalChange():
                back, brought = _list_changes(scene, act)
                yield from (
                    path
                    for path in dict.fromkeys((*back, *brought))
                    if not is_bytecode(path) and scene.is_foreign(path, known)
                )
            case Batch():
                for item in act.items:
                    if not moves.is_before(item) and scene.is_foreign(item.move.live, known):
                        yield item.move.live
    own = {item.move.live for item in list_moves(acts)}
    found = find_intruding_records(prefix, log, scene.records())
    yield from (path for path in found if path not in own and scene.stands(path))


def _is_distribution_metadata(path: str) -> bool:
    """Return whether a path is a distribution's metadata directory; conda records do not count.

    Contradicting conda records are found by their package names instead (`find_intruding_records`).
    """
    return is_metadata(path) and not conda_meta.is_record(path)


def _list_changes(scene: "_Scene", act: LocatedExternalChange) -> tuple[dict[str, Path], tuple[str, ...]]:
    """Return the files that undoing an external change restores, with their copies, and the files that it removes.

    Both are empty if the change is undone already.
    """
    if act.is_over:
        return {}, ()
    return external_changes.list_returning(act, scene.stands), external_changes.list_brought_files(act)


def _take_back(scene: "_Scene", act: Act) -> Iterator[str]:
    """Simulate the undo of an act, and yield the metadata paths of distributions that the undo restores."""
    match act:
        case LocatedExternalChange():
            back, brought = _list_changes(scene, act)
            for path in brought:
                scene.put(path, None)
            for path, copy in back.items():
                scene.put(path, copy)
        case Batch():
            for item in reversed(act.items):
                before = moves.find_previous_entry(item)
                if before is not None:
                    scene.put(item.move.live, before)
                    if _is_distribution_metadata(item.move.live):
                        yield item.move.live
                elif item.move.kind is MoveKind.IN and not moves.is_before(item):
                    scene.put(item.move.live, None)
        case _:
            scene.withdraw(act)


class _Scene:
    """The simulated content of an environment, which begins as the content on disk.

    Only changed paths are recorded, each with the path on disk where its simulated content is, with a changed text, or
    with None if it is removed. A path without a record follows its nearest recorded parent, or else has the content on
    disk.

    Args:
        prefix: prefix of the environment.
    """

    def __init__(self, prefix: Path) -> None:
        self._prefix = prefix
        self._changed: dict[str, Path | bytes | None] = {}

    def stands(self, path: str) -> bool:
        """Return whether a path exists."""
        return any(self._find(each) is not None for each in (path, *self._list_changed_below(path)))

    def is_in_place(self, path: str) -> bool:
        """Return whether a file at or below a path is unmoved: its content is there on disk, or is changed text."""
        return any(isinstance(lies, bytes) or lies == self._prefix / key for key, lies in self._list_files(path))

    def is_foreign(self, path: str, known: KnownFiles) -> bool:
        """Return whether any file at or below a path has content that is not in `known`."""
        return not all(is_known_file(lies, key, known) for key, lies in self._list_files(path))

    def holds(self, paths: Sequence[str], known: KnownFiles) -> bool:
        """Return whether all paths exist with known content; bytecode is ignored."""
        nodes = ((path, self._find(path)) for path in paths if not is_bytecode(path))
        return all(node is not None and is_known_file(node, path, known) for path, node in nodes)

    def put(self, path: str, node: Path | bytes | None) -> None:
        """Put a file, a directory or text at a path, replacing its content; None removes the content."""
        for each in self._list_changed_below(path):
            del self._changed[each]
        self._changed[path] = node

    def withdraw(self, adding: Adding) -> None:
        """Remove an added text from a file."""
        lies = self._find(adding.path)
        if lies is not None:
            content = lies if isinstance(lies, bytes) else read_bytes(lies)
            self.put(adding.path, additions.remove_added_text(content, adding))

    def records(self) -> dict[str, Path]:
        """Return the paths on disk of the simulated environment's conda records, by file name."""
        found = ((key, lies) for key, lies in self._list_files(conda_meta.RECORDS) if conda_meta.is_record(key))
        return {PurePath(key).name: lies for key, lies in found if isinstance(lies, Path)}

    def _find(self, path: str) -> Path | bytes | None:
        """Return where a path's content is on disk, or its changed text; None if the path itself does not exist.

        A path that exists only because of a changed path below it also gives None.
        """
        for top in (path, *map(str, PurePath(path).parents)):
            if top in self._changed:
                lies, rest = self._changed[top], path[len(top) + 1 :]
                if not isinstance(lies, Path):
                    return None if rest else lies
                return lies / rest if os.path.lexists(lies / rest) else None
        return self._prefix / path if os.path.lexists(self._prefix / path) else None

    def _list_changed_below(self, path: str) -> list[str]:
        return [each for each in self._changed if each.startswith(f"{path}/")]

    def _list_files(self, path: str) -> Iterator[tuple[str, Path | bytes]]:
        """Yield every file of a tree except bytecode: its path in the environment, and its path on disk or its text."""
        for top in (path, *self._list_changed_below(path)):
            lies, inner = self._find(top), set(self._list_changed_below(top))
            if isinstance(lies, bytes):
                yield top, lies
            elif lies is not None and (top == path or not is_bytecode(top)):
                yield from (each for each in files_of(lies, top) if inner.isdisjoint((each[0], *parents_of(each[0]))))
