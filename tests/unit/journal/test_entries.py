"""Journal entries are read as they were written; an entry that was cut off when the process died does not count."""

import dataclasses
import json
from pathlib import PurePosixPath

import pytest

from fastinstall.core.errors import DocumentError
from fastinstall.journal.entries import (
    Adding,
    Committed,
    Committing,
    Copied,
    Entry,
    ExternalChangeBegun,
    ExternalChangeEnded,
    Moved,
    MovedTree,
    Moving,
    MovingTree,
    TransactionBegun,
    TreeDirectory,
    Undoing,
    format_entry_line,
)
from fastinstall.journal.events import parse_journal_events
from fastinstall.journal.log import Log, decode_log
from fastinstall.journal.remembered_directories import Directory
from fastinstall.model.history import Move, MoveKind, Phase

FILE = PurePosixPath("journal.jsonl")
BEGUN = TransactionBegun(
    id="20261121T101500Z-3fa2c1",
    at="2026-11-21T10:15:00Z",
    sequence=2,
    work="share/fastinstall/tx/20261121T101500Z-3fa2c1",
    created=("share",),
    directories=(Directory(path=".", mtime_ns=17, names="ab", mode=0o755),),
    verb="setup",
    tool_version="0.1.0",
    home="2f656e76",
)
MOVING = Moving(
    moves=(Move(kind=MoveKind.OUT, live="site/Wörter \udcff", kept="aside/x"),),
    inodes=(12,),
    created=(),
    directories=(),
    manifest={"site/x.py": "sha256:00"},
)
TREE = MovingTree(source="site/PIL", target="aside/PIL", directories=(TreeDirectory(path=".", mode=0o755, mtime_ns=1),))
EXTERNAL = ExternalChangeBegun(
    area="aside/external-change-0",
    copies=(Copied(path="lib/x.so", digest="sha256:00", mode=0o644, mtime_ns=1),),
    appearing=("lib/y.so",),
    own_places=(".condatmp",),
    records=("python-3.11.7-0.json",),
    created=("include",),
    directories=(Directory(path="lib", mtime_ns=3, names="cd", mode=0o755),),
)
ENDED = ExternalChangeEnded(
    manifest={"lib/y.so": "sha256:01"}, untouched=("conda-meta/pinned",), removed=("share/doc",)
)
ADDING = Adding(path="conda-meta/pinned", text="x\n", size=-1, sha256="", mtime_ns=0, draft="conda-meta/.x")
EVERY: tuple[Entry, ...] = (
    BEGUN,
    EXTERNAL,
    ENDED,
    MOVING,
    ADDING,
    TREE,
    MovedTree(),
    Moved(window_ns=90_000),
    Committing(replaces=True),
    Committed(at="2026-11-21T10:16:00Z"),
    Undoing(reason="rollback"),
)


def journal(*entries: Entry) -> str:
    return "".join(f"{format_entry_line(entry)}\n" for entry in entries)


def parse(text: str) -> Log:
    return decode_log(parse_journal_events(text, FILE), file=FILE)


def test_every_entry_is_read_as_it_was_written_in_ascii() -> None:
    text = journal(*EVERY)
    assert text.isascii()
    assert parse(text).entries == EVERY


@pytest.mark.parametrize("length", range(len(journal(Moved(window_ns=1)))))
def test_a_last_line_without_its_end_is_dropped(length: int) -> None:
    text = journal(BEGUN) + journal(Moved(window_ns=1))[:length]
    assert parse(text).entries == (BEGUN,)


@pytest.mark.parametrize(
    ("entries", "state"),
    [
        ((BEGUN,), Phase.OPEN),
        ((BEGUN, MOVING, Committing(replaces=False)), Phase.OPEN),
        ((BEGUN, Committed(at="")), Phase.COMMITTED),
        ((BEGUN, Committed(at=""), Undoing(reason="rollback")), Phase.UNDOING),
        ((BEGUN, Undoing(reason="failed")), Phase.UNDOING),
    ],
)
def test_the_last_word_decides_the_state(entries: tuple[Entry, ...], state: Phase) -> None:
    assert parse(journal(*entries)).state is state


def test_only_a_tree_without_its_end_is_unfinished() -> None:
    assert parse(journal(BEGUN, TREE, MovedTree())).unfinished_tree_move is None
    assert parse(journal(BEGUN, TREE, MovedTree(), TREE)).unfinished_tree_move == TREE


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "journal.jsonl:2: not JSON"),
        ("[]", "journal.jsonl:2: event: expected one of begun, moving"),
        (json.dumps({"event": "gone"}), "journal.jsonl:2: event: expected one of begun, moving"),
        (json.dumps({"event": "undoing"}), "journal.jsonl:2: reason: missing"),
        (json.dumps({"event": "moved", "window_ns": "long"}), "journal.jsonl:2: window_ns: expected"),
    ],
)
def test_a_malformed_line_is_named_with_its_number_and_key(line: str, message: str) -> None:
    with pytest.raises(DocumentError) as caught:
        parse(f"{format_entry_line(BEGUN)}\n{line}\n")
    assert caught.value.message.startswith(message)


def test_a_batch_happened_if_its_end_is_logged_before_any_undo() -> None:
    failed, moved = dataclasses.replace(MOVING, inodes=(1,)), Moved(window_ns=1)
    assert parse(journal(BEGUN, MOVING, moved)).happened(MOVING)
    assert not parse(journal(BEGUN, MOVING)).happened(MOVING)
    assert not parse(journal(BEGUN, failed, MOVING, moved)).happened(failed)
    assert not parse(journal(BEGUN, MOVING, moved, Undoing(reason="failed"))).happened(MOVING)


def test_an_external_change_has_an_outcome_unless_interrupted() -> None:
    assert parse(journal(BEGUN, EXTERNAL, ENDED, MOVING)).outcome(EXTERNAL) == ENDED
    assert parse(journal(BEGUN, EXTERNAL, Undoing(reason="interrupted"))).outcome(EXTERNAL) is None


def test_only_paths_of_an_unfinished_change_may_hold_anything() -> None:
    noted = parse(journal(BEGUN, EXTERNAL, ENDED)).known
    assert noted.of("lib/x.so") == {"sha256:00"}
    assert (noted.has("lib/y.so", "sha256:01"), noted.has("lib/y.so", "sha256:02")) == (True, False)
    dead = parse(journal(BEGUN, EXTERNAL)).known
    assert (dead.has("lib/y.so", "sha256:02"), dead.has("lib/z.so", "sha256:02")) == (True, False)


def test_of_several_batches_each_content_counts() -> None:
    again = dataclasses.replace(MOVING, manifest={"site/x.py": "sha256:11"})
    known = parse(journal(BEGUN, MOVING, again)).known
    assert known.of("site/x.py") == {"sha256:00", "sha256:11"}


def test_acts_are_told_in_their_order() -> None:
    assert parse(journal(*EVERY)).acts == (EXTERNAL, MOVING, ADDING)


def test_a_directorys_first_state_counts_and_added_ones_do_not() -> None:
    early = Directory(path="lib", mtime_ns=1, names="a", mode=0o755)
    late = dataclasses.replace(early, mtime_ns=2)
    ours = Directory(path="site/PIL/sub", mtime_ns=3, names="b", mode=0o755)
    first = dataclasses.replace(
        MOVING, directories=(early,), moves=(Move(kind=MoveKind.EXCHANGE, live="site/PIL", kept="stage/PIL"),)
    )
    second = dataclasses.replace(MOVING, directories=(late, ours))
    log = parse(journal(BEGUN, first, second))
    assert log.directories == (*BEGUN.directories, early)
