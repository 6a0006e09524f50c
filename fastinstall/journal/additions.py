"""Add text to another program's file, whole or not at all, and remove it without touching the rest.

Text is appended to files that other programs append to (`conda-meta/history`, `conda-meta/pinned`), or inserted into
files that people edit (`pip.conf`). Removal keeps text that others wrote later. If nobody did, the file gets its
previous content and modification time again.
"""

import hashlib
import os
from pathlib import Path

from fastinstall.core import files, foreign, rights
from fastinstall.journal.entries import Adding
from fastinstall.journal.remembered_directories import record
from fastinstall.journal.store import JournalStore


def describe_addition(store: JournalStore, identifier: str, path: str, text: str, place: int = -1) -> Adding:
    """Return the journal entry that announces an addition; the arguments are those of `Transaction.add`."""
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
        directories=record(store.prefix, (directory,)),
        place=place,
    )


def add(store: JournalStore, adding: Adding) -> None:
    """Insert the text of a journal entry into its file.

    Raises:
        OSError: the file could not be written; it is unchanged.
    """
    before = _read(store.prefix / adding.path) or b""
    place = adding.place if adding.place >= 0 else len(before)
    _write(store, adding, before[:place] + adding.text.encode() + before[place:])


def withdraw(store: JournalStore, adding: Adding) -> None:
    """Remove an added text from its file; do nothing if the text or the file is already gone.

    Raises:
        OSError: the file could not be written; it is unchanged.
    """
    (store.prefix / adding.draft).unlink(missing_ok=True)
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


def remove_added_text(content: bytes, adding: Adding) -> bytes | None:
    """Return a file's content without our text, or None if we created the file and nothing else is left in it."""
    rest = content if _is_as_before(content, adding) else _remove_addition(content, adding)
    return rest if rest or adding.size >= 0 else None


def _remove_addition(content: bytes, adding: Adding) -> bytes:
    """Return the content of a file without the added text.

    The text is removed at its recorded offset, or else at its last occurrence. If it does not occur, somebody has
    edited it; then its unchanged lines are removed, unless the text was appended to the file.
    """
    text, place = adding.text.encode(), adding.place if adding.place >= 0 else max(adding.size, 0)
    if content[place : place + len(text)] == text:
        return content[:place] + content[place + len(text) :]
    before, found, after = content.rpartition(text)
    if found:
        return before + after
    return content if adding.place < 0 else _remove_lines(content, text)


def _remove_lines(content: bytes, text: bytes) -> bytes:
    """Return the content without our lines; lines of others between them are kept.

    Our lines are removed only from our first line to our last one. If neither of these two is found, a program such as
    `pip config set` has rewritten the file without comments. Then our settings are removed wherever they are, because
    a remaining setting would name a file that is about to be removed.
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


def _is_as_before(content: bytes, adding: Adding) -> bool:
    return hashlib.sha256(content).hexdigest() == adding.sha256


def _write(store: JournalStore, adding: Adding, content: bytes) -> None:
    """Write a draft beside the file, then rename it over the file; the journal records the draft's name."""
    live, draft = store.prefix / adding.path, store.prefix / adding.draft
    rights.make_given_directories(live.parent)
    draft.unlink(missing_ok=True)
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(content)
    if live.exists():
        files.copy_rights(live, draft)
    else:
        rights.give_entry(draft, rights.read_rights(live.parent))
    files.sync_tree(draft)
    os.replace(draft, live)
    files.sync_directory(live.parent)


def _read(path: Path) -> bytes | None:
    try:
        return foreign.read_bytes(path)
    except FileNotFoundError:
        return None
