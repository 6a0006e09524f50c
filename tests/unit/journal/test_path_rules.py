"""No path in a journal leads out of the environment, even if an attacker wrote the journal."""

import dataclasses
import typing
from pathlib import PurePosixPath

import pytest

from fastinstall.core.errors import DocumentError
from fastinstall.journal.entries import (
    Adding,
    Conceding,
    Copied,
    Entry,
    ExternalChangeBegun,
    ExternalChangeEnded,
    Moving,
    MovingTree,
    TransactionBegun,
    TreeDirectory,
)
from fastinstall.journal.path_rules import list_entry_paths, refuse_escapes
from fastinstall.journal.remembered_directories import Directory
from fastinstall.model.history import Move, MoveKind

ID = "20261121T101500Z-3fa2c1"
FILE = PurePosixPath(f"/env/share/fastinstall/tx/{ID}/journal.jsonl")
BEGUN = TransactionBegun(
    id=ID,
    at="",
    sequence=1,
    work=f"share/fastinstall/tx/{ID}",
    created=(),
    directories=(),
    verb="setup",
    tool_version="0.1.0",
    home="",
)
MOVING = Moving(moves=(), inodes=(), created=(), directories=(), manifest={})
EXTERNAL_BEGUN = ExternalChangeBegun(
    area="aside/external-change-0", copies=(), appearing=(), own_places=(), records=(), created=(), directories=()
)
EXTERNAL_ENDED = ExternalChangeEnded(manifest={}, untouched=(), removed=())
MOVING_TREE = MovingTree(source="a", target="b", directories=())
ADDING = Adding(path="pip.conf", text="", size=0, sha256="", mtime_ns=0, draft=".draft")
CONCEDING = Conceding(paths=(), areas=())
HARMLESS = (BEGUN, MOVING, EXTERNAL_BEGUN, EXTERNAL_ENDED, MOVING_TREE, ADDING, CONCEDING)
OUT = ("../x", "/etc/passwd", "lib/../../x", "", "a\0b")
NO_PATHS = {
    "TransactionBegun": {"id", "at", "verb", "tool_version", "home", "schema"},
    "Moved": set(),
    "MovedTree": set(),
    "Committing": set(),
    "Committed": {"at"},
    "Undoing": {"reason"},
    "Adding": {"text", "sha256"},
}
WORKPLACES = {"area", "areas"}


def _directory(path: str) -> Directory:
    return Directory(path=path, mtime_ns=0, names="", mode=0o755)


def _moving(live: str, kept: str) -> Moving:
    move = Move(kind=MoveKind.OUT, live=live, kept=kept)
    return dataclasses.replace(MOVING, moves=(move,), inodes=(0,))


def _everywhere(path: str) -> list[Entry]:
    copied = Copied(path=path, digest="", mode=0, mtime_ns=0)
    return [
        dataclasses.replace(BEGUN, created=(path,)),
        dataclasses.replace(BEGUN, directories=(_directory(path),)),
        _moving(path, "aside/x"),
        dataclasses.replace(MOVING, created=(path,)),
        dataclasses.replace(MOVING, directories=(_directory(path),)),
        dataclasses.replace(MOVING, manifest={path: "sha256:00"}),
        dataclasses.replace(EXTERNAL_BEGUN, copies=(copied,)),
        dataclasses.replace(EXTERNAL_BEGUN, appearing=(path,)),
        dataclasses.replace(EXTERNAL_BEGUN, own_places=(path,)),
        dataclasses.replace(EXTERNAL_BEGUN, records=(path,)),
        dataclasses.replace(EXTERNAL_BEGUN, created=(path,)),
        dataclasses.replace(EXTERNAL_BEGUN, directories=(_directory(path),)),
        dataclasses.replace(EXTERNAL_ENDED, manifest={path: "sha256:00"}),
        dataclasses.replace(EXTERNAL_ENDED, removed=(path,)),
        dataclasses.replace(EXTERNAL_ENDED, untouched=(path,)),
        dataclasses.replace(MOVING_TREE, source=path),
        dataclasses.replace(MOVING_TREE, target=path),
        dataclasses.replace(MOVING_TREE, directories=(TreeDirectory(path=path, mode=0, mtime_ns=0),)),
        dataclasses.replace(ADDING, path=path),
        dataclasses.replace(ADDING, draft=path),
        dataclasses.replace(ADDING, directories=(_directory(path),)),
        dataclasses.replace(CONCEDING, paths=(path,)),
        dataclasses.replace(CONCEDING, dropped=(path,)),
    ]


@pytest.mark.parametrize("path", OUT)
def test_no_path_leads_out_wherever_it_stands(path: str) -> None:
    for entry in _everywhere(path):
        entries = (entry,) if isinstance(entry, TransactionBegun) else (BEGUN, entry)
        with pytest.raises(DocumentError, match=r"journal.jsonl:[12]") as refusal:
            refuse_escapes(entries, FILE)
        assert "leads outside the environment" in refusal.value.message
        assert refusal.value.key


@pytest.mark.parametrize("kept", ["x", "aside", "stage/../../x", "/x", "journal.jsonl", "aside/", ""])
def test_what_is_kept_is_kept_in_the_workplace(kept: str) -> None:
    for entry in (_moving("lib/x", kept), dataclasses.replace(EXTERNAL_BEGUN, area=kept)):
        with pytest.raises(DocumentError, match=r"not inside a transaction|leads outside"):
            refuse_escapes((BEGUN, entry), FILE)


@pytest.mark.parametrize(
    ("key", "changes"),
    [
        ("id", {"id": ".."}),
        ("id", {"id": "20261121T101500Z-000000"}),
        ("work", {"work": "."}),
        ("work", {"work": "lib"}),
        ("work", {"work": "share/fastinstall/tx"}),
        ("work", {"work": f"../.fastinstall-{ID}/.."}),
        ("work", {"work": f"../.fastinstall-{ID}"}),
    ],
)
def test_a_transaction_is_its_own_and_works_in_its_own_place(key: str, changes: dict[str, str]) -> None:
    begun = dataclasses.replace(BEGUN, **changes)  # type: ignore[arg-type]  # all are texts
    with pytest.raises(DocumentError) as refusal:
        refuse_escapes((begun,), FILE)
    assert refusal.value.key == key


def test_what_stays_inside_is_no_matter() -> None:
    refuse_escapes(HARMLESS, FILE)
    beside = dataclasses.replace(BEGUN, work=f"lib/python3.11/site-packages/.fastinstall-{ID}")
    refuse_escapes((beside,), PurePosixPath(f"/env/.fastinstall-{ID}.jsonl"))


def test_every_text_of_an_entry_is_a_checked_path_or_exempt() -> None:
    checked = {kind: set[str]() for kind in typing.get_args(Entry)}
    for entry in _everywhere("x"):
        checked[type(entry)] |= {key.partition("[")[0] for key, _ in list_entry_paths(entry)}
    for kind, keys in checked.items():
        hints = typing.get_type_hints(kind)
        texts = {name for name, hint in hints.items() if hint not in (int, bool, tuple[int, ...])}
        assert texts - keys - WORKPLACES - NO_PATHS.get(kind.__name__, set()) == set(), kind
