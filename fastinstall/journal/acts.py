"""Undo what a transaction did, act by act, and find what stands in the way of that.

One kind of act adds text to a file that belongs to another program: it is added whole or not at all, and removed
without touching the rest. It goes to the end of files that other programs append to (`conda-meta/history`,
`conda-meta/pinned`), or to a place in files that people write (`pip.conf`). What others write later stays when our text
goes; if nobody wrote since, the file is restored to the byte and to its modification time.
"""

import errno
import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path, PurePath

from fastinstall.core import files, foreign
from fastinstall.core.values import immutable
from fastinstall.journal import external_undo, fingerprints, moves
from fastinstall.journal.entries import Adding, Conceding, ExternalChangeBegun
from fastinstall.journal.external_undo import LocatedExternalChange
from fastinstall.journal.fingerprints import KnownFiles, remember
from fastinstall.journal.log import Act, Log
from fastinstall.journal.moves import Mover
from fastinstall.journal.store import JournalStore


@immutable
class Batch:
    """Moves that were announced together.

    Attributes:
        items: each, with its ends.
        created: parents that were made for them, outermost first.
    """

    items: tuple[moves.LocatedMove, ...]
    created: tuple[str, ...]


Placed = Batch | LocatedExternalChange | Adding
"""An act, and where its ends lie."""


def locate_act(log: Log, act: Act, prefix: Path, work: Path) -> Placed:
    """An act as its journal tells it.

    Args:
        log: the journal.
        act: one of its announcements.
        prefix: of the environment.
        work: of the transaction.
    """
    match act:
        case ExternalChangeBegun():
            return LocatedExternalChange(begun=act, ended=log.outcome(act), prefix=prefix, work=work)
        case Adding():
            return act
        case _:
            return Batch(items=moves.batch(log, act, prefix, work), created=act.created)


def find_files_in_the_way(act: Placed, known: KnownFiles) -> Iterator[str]:
    """Foreign content, relative to the prefix, that undoing the act would have to put away."""
    match act:
        case LocatedExternalChange():
            yield from external_undo.foreign(act, known)
        case Batch():
            yield from (item.move.live for item in act.items if moves.is_blocking(item, known))


def probe_renames(acts: Sequence[Placed], left: Conceding | None = None) -> None:
    """Look at every rename that undoing will do, before the first: a copy of an environment may be arranged otherwise.

    Raises:
        OSError: what the kernel would say to one of them; nothing has changed.
    """
    for act in acts:
        for item in act.items if isinstance(act, Batch) else ():
            if left is None or item.move.live not in left.paths:
                for source, target in moves.list_undo_renames(item):
                    _probe_rename(source, target)


def _probe_rename(source: Path, target: Path) -> None:
    place = next(parent for parent in target.parents if os.path.lexists(parent))
    if not place.is_dir():
        raise OSError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(place))
    if place.stat().st_dev != source.parent.stat().st_dev and not source.is_dir():
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), str(source), None, str(target))
    for directory in (place, source.parent):
        if not os.access(directory, os.W_OK | os.X_OK):
            number = errno.EROFS if os.statvfs(directory).f_flag & os.ST_RDONLY else errno.EACCES
            raise OSError(number, os.strerror(number), str(directory))


def take_back(act: Placed, store: JournalStore, mover: Mover, left: Conceding | None = None) -> None:
    """Undo an act; nothing to do where that has happened already.

    Args:
        act: which.
        store: of the environment.
        mover: of the transaction.
        left: to another program, where something is.

    Raises:
        OSError: as the kernel says; nothing of before has been overwritten.
    """
    match act:
        case LocatedExternalChange():
            external_undo.undo(act, mover)
        case Adding():
            withdraw(store, (act,))
        case Batch():
            for item in reversed(act.items):
                if left is None:
                    moves.undo(item, mover)
                elif item.move.live not in left.paths:
                    moves.undo(moves.make_plain_arrival(item) if item.move.live in left.dropped else item, mover)
            fingerprints.remove_empty(store.prefix, act.created)
            for directory in dict.fromkeys(
                (*moves.parents(act.items), *fingerprints.list_changed_directories(store.prefix, act.created))
            ):
                files.sync_directory(directory)


def find_lost_by_acts(acts: Sequence[Placed]) -> Iterator[str]:
    """What can come back from nowhere, unless it came by these very acts and has gone with them."""
    brought: set[str] = set()
    for act in acts:
        match act:
            case LocatedExternalChange():
                lost = external_undo.find_unrestorable(act)
                came = (*(act.ended.manifest if act.ended is not None else ()), *act.begun.appearing)
            case Batch():
                lost = (item.move.live for item in act.items if moves.is_lost(item))
                came = tuple(path for item in act.items for path in item.brought.digests)
            case _:
                continue
        yield from (path for path in lost if path not in brought)
        for path in came:
            brought.update((path, *parents_of(path)))


def parents_of(path: str) -> set[str]:
    """The directories on the way to a path."""
    return {parent.as_posix() for parent in PurePath(path).parents}


def describe(store: JournalStore, identifier: str, path: str, text: str, place: int = -1) -> Adding:
    """What is about to be added, for the journal; arguments as of `Transaction.add`."""
    live = store.prefix / path
    before = _read(live)
    directory = Path(path).parent.as_posix()
    return Adding(
        path=path,
        text=text,
        size=len(before) if before is not None else -1,
        sha256=hashlib.sha256(before or b"").hexdigest(),
        mtime_ns=live.stat().st_mtime_ns if before is not None else 0,
        draft=f"{directory}/.fastinstall-{identifier}.draft",
        directories=remember(store.prefix, (directory,)),
        place=place,
    )


def add(store: JournalStore, adding: Adding) -> None:
    """Put the text at its place.

    Raises:
        OSError: as the kernel says; the file is as it was.
    """
    before = _read(store.prefix / adding.path) or b""
    place = adding.place if adding.place >= 0 else len(before)
    _write(store, adding, before[:place] + adding.text.encode() + before[place:])


def withdraw(store: JournalStore, additions: Iterable[Adding]) -> None:
    """Take texts out of their files again, the last one first; nothing to do where that has happened, or it is gone.

    Raises:
        OSError: as the kernel says; the file is as it was.
    """
    for adding in reversed(tuple(additions)):
        (store.prefix / adding.draft).unlink(missing_ok=True)
        _withdraw(store, adding)


def remove_addition(content: bytes, adding: Adding) -> bytes:
    """The content of a file less our text: from the place where it was put, else from where it stands, once.

    Of a text that has a place, and that somebody has written into, those lines go that are ours as they were.
    """
    text, place = adding.text.encode(), adding.place if adding.place >= 0 else max(adding.size, 0)
    if content[place : place + len(text)] == text:
        return content[:place] + content[place + len(text) :]
    before, found, after = content.rpartition(text)
    if found:
        return before + after
    return content if adding.place < 0 else _remove_lines(content, text)


def remove_added_text(content: bytes, adding: Adding) -> bytes | None:
    """Return a file's content without our text, or None if we created the file and it is to be removed."""
    rest = content if _is_as_before(content, adding) else remove_addition(content, adding)
    return rest if rest or adding.size >= 0 else None


def _remove_lines(content: bytes, text: bytes) -> bytes:
    """The content less our lines, from where the first of them stands to where the last one does.

    Where a program has written the file anew without comments, as `pip config set` does, our settings go wherever they
    stand: one that stayed would name a file that goes.
    """
    ours = [line.rstrip(b"\r") for line in text.strip(b"\n").split(b"\n")]
    lines = content.split(b"\n")
    bare = [line.rstrip(b"\r") for line in lines]
    if ours[0] not in bare or ours[-1] not in bare[bare.index(ours[0]) :]:
        is_rewritten = ours[0] not in bare and ours[-1] not in bare
        settings = [line for line in ours if not line.startswith((b"#", b"["))] if is_rewritten else []
        return b"\n".join(line for line, each in zip(lines, bare, strict=True) if each not in settings)
    first = bare.index(ours[0])
    last = bare.index(ours[-1], first)
    within = zip(lines[first : last + 1], bare[first : last + 1], strict=True)
    return b"\n".join((*lines[:first], *(line for line, each in within if each not in ours), *lines[last + 1 :]))


def _withdraw(store: JournalStore, adding: Adding) -> None:
    live = store.prefix / adding.path
    content = _read(live)
    if content is None:
        return
    rest = remove_added_text(content, adding)
    if rest is None:
        live.unlink()
        files.sync_directory(live.parent)
        return
    if rest != content:
        _write(store, adding, rest)
    if adding.size >= 0 and _is_as_before(rest, adding):
        os.utime(live, ns=(live.stat().st_atime_ns, adding.mtime_ns))
        files.sync_tree(live)


def _is_as_before(content: bytes, adding: Adding) -> bool:
    return hashlib.sha256(content).hexdigest() == adding.sha256


def _write(store: JournalStore, adding: Adding, content: bytes) -> None:
    """By a draft beside it, whose name the journal knows."""
    live, draft = store.prefix / adding.path, store.prefix / adding.draft
    files.make_directories(live.parent)
    mode = live.stat().st_mode & 0o7777 if live.exists() else 0o644
    draft.unlink(missing_ok=True)
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(content)
        stream.flush()
        os.fchmod(stream.fileno(), mode)
        os.fsync(stream.fileno())
    os.replace(draft, live)
    files.sync_directory(live.parent)


def _read(path: Path) -> bytes | None:
    try:
        return foreign.read_bytes(path)
    except FileNotFoundError:
        return None
