"""Conda records that an undo must move away."""

import json
from pathlib import Path

from fastinstall.journal.acts import find_intruding_records
from fastinstall.journal.entries import Moving
from fastinstall.journal.log import Log
from fastinstall.model.history import Move, MoveKind


def test_unknown_records_of_returning_packages_are_foreign(tmp_path: Path) -> None:
    records = tmp_path / "conda-meta"
    records.mkdir()
    for name in ("turbo-2-0.json", "turbo-4-0.json", "libjpeg-turbo-4-0.json", "numpy-2-0.json"):
        (records / name).write_text(json.dumps({"files": [f"lib/{name}"]}))
    moves = (
        Move(kind=MoveKind.OUT, live="conda-meta/turbo-1-0.json", kept="aside/turbo-1-0.json"),
        Move(kind=MoveKind.IN, live="conda-meta/turbo-2-0.json", kept="stage/turbo-2-0.json"),
    )
    log = Log(entries=(Moving(moves=moves, inodes=(1, 0), created=(), directories=(), manifest={}),))
    assert find_intruding_records(tmp_path, log) == ("conda-meta/turbo-4-0.json", "lib/turbo-4-0.json")
