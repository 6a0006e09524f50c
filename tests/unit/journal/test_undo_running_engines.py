"""A conda engine that outlives fastinstall is found by its command line; other processes are ignored."""

import json
from pathlib import Path

import pytest

from fastinstall.core.errors import RefusedError
from fastinstall.journal.undo import refuse_during_external_change

PREFIX = Path("/srv/env é")


def _process(directory: Path, number: int, *words: str) -> None:
    (directory / str(number)).mkdir()
    (directory / str(number) / "cmdline").write_bytes(b"".join(word.encode() + b"\0" for word in words))


@pytest.mark.parametrize(
    "words",
    [
        ("/opt/conda/bin/python", "/opt/conda/bin/conda", "remove", "--prefix", str(PREFIX), "--force", "jpeg"),
        ("/usr/bin/python3", "-P", "/x/_rattler_worker.py", json.dumps({"operation": "change", "prefix": str(PREFIX)})),
    ],
    ids=["conda", "py-rattler"],
)
def test_an_engine_at_work_there_is_named(tmp_path: Path, words: tuple[str, ...]) -> None:
    _process(tmp_path, 1, "/sbin/init")
    _process(tmp_path, 4711, *words)
    with pytest.raises(RefusedError, match="process 4711 still changes packages") as caught:
        refuse_during_external_change(PREFIX, tmp_path)
    assert "ps -p 4711" in str(caught.value.hint)


@pytest.mark.parametrize(
    "words",
    [
        ("/opt/conda/bin/python", "/opt/conda/bin/conda", "remove", "--prefix", f"{PREFIX}2", "jpeg"),
        ("/opt/conda/bin/python", "/opt/conda/bin/conda", "fastinstall", "rollback", "--prefix", str(PREFIX)),
        (f"{PREFIX}/bin/python", "serve.py", str(PREFIX)),
        ("/usr/bin/python3", "/x/_rattler_worker.py", json.dumps({"prefix": f"{PREFIX}/inner"})),
        (),
    ],
    ids=["another environment", "ourselves", "a program of the environment", "an inner one", "a thread of the kernel"],
)
def test_others_are_left_alone(tmp_path: Path, words: tuple[str, ...]) -> None:
    _process(tmp_path, 4711, *words)
    (tmp_path / "4712").mkdir()
    refuse_during_external_change(PREFIX, tmp_path)
