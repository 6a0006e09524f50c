"""All modules read foreign files in one way: anything but a regular file is refused at once."""

import ast
import os
from pathlib import Path

import pytest
from support.hostile.inputs import NO_FILES, put_no_file

import fastinstall
from fastinstall.core import files, foreign
from fastinstall.core.errors import DocumentError
from fastinstall.journal.layout import RECEIPT, TRANSACTIONS
from fastinstall.journal.receipt_file import read_receipt
from fastinstall.journal.snapshot import read_environment_history
from fastinstall.model.history import EnvironmentHistory

PACKAGE = Path(fastinstall.__file__).parent


@pytest.mark.parametrize("kind", NO_FILES)
def test_what_is_no_file_is_an_error_that_names_it(tmp_path: Path, kind: str) -> None:
    place = tmp_path / "document"
    put_no_file(place, kind)
    with pytest.raises(OSError, match="document"):
        foreign.read_bytes(place)
    with pytest.raises(OSError, match="document"):
        files.sha256(place)
    for read in (foreign.read_json, foreign.read_toml):
        with pytest.raises(DocumentError, match=r"document: cannot be read: "):
            read(place)


def test_a_fifo_that_somebody_writes_into_is_refused(tmp_path: Path) -> None:
    place = tmp_path / "document"
    os.mkfifo(place)
    writer = os.open(place, os.O_RDWR)
    with pytest.raises(OSError, match="is a FIFO"):
        foreign.read_bytes(place)
    os.close(writer)


def test_a_file_without_end_is_refused_before_it_is_read(tmp_path: Path) -> None:
    place = tmp_path / "document"
    with place.open("wb") as stream:
        stream.truncate(1 << 40)
    with pytest.raises(OSError, match="is larger than 64 MiB"):
        foreign.read_bytes(place)
    with pytest.raises(DocumentError, match="is larger than 16 MiB") as caught:
        foreign.read_json(place)
    assert caught.value.file == place
    with pytest.raises(OSError, match="is larger than 8 GiB"):
        files.sha256(place)


def test_a_file_of_the_kernel_that_tells_no_size_is_read() -> None:
    assert foreign.read_text("/proc/self/status").startswith("Name:")


def test_lines_end_as_python_reads_them(tmp_path: Path) -> None:
    place = tmp_path / "lines"
    place.write_bytes("ä\r\nb\rc\n".encode())
    assert foreign.read_text(place) == place.read_text(encoding="utf-8")


def test_what_is_not_there_is_nothing(tmp_path: Path) -> None:
    assert foreign.bytes_if_there(tmp_path / "no" / "file") is None
    assert foreign.text_if_there(tmp_path / "no") == ""
    (tmp_path / "there").mkdir()
    with pytest.raises(DocumentError, match="Is a directory") as caught:
        foreign.text_if_there(tmp_path / "there")
    assert caught.value.file == tmp_path / "there"


@pytest.mark.parametrize("kind", [*(kind for kind in NO_FILES), "deep"])
def test_a_receipt_or_journal_that_is_none_is_named(tmp_path: Path, kind: str) -> None:
    for path in (RECEIPT, f"{TRANSACTIONS}/20261121T101500Z-1/journal.jsonl"):
        place = tmp_path / path
        if kind == "deep":
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text("[" * 100_000 + "\n")
        else:
            put_no_file(place, kind)
    with pytest.raises(DocumentError, match=r"receipt\.json: ") as caught:
        read_receipt(tmp_path)
    assert caught.value.hint is not None
    history: EnvironmentHistory = read_environment_history(tmp_path, sized=True)
    assert {each.file.name for each in history.unreadable} == {"journal.jsonl", "receipt.json"}


OWN = {
    "setup/wheel.py": "a wheel that was built just now",
    "fleet/tool_wheels.py": "wheels that were found sound",
    "bench": "images, and what its own workers say",
    "wheelbuild": "trees that were unpacked here, without links or devices",
    "conda/channel.py": "packages that were made here",
    "conda/package.py": "likewise",
    "conda/engines/_rattler_worker.py": "its own process; what it reads was looked at before",
    "conda/engines/linked_records.py": "a prefix of its own",
    "index/client.py": "what it writes itself",
    "journal/transaction_directories.py": "the kernel's",
    "journal/snapshot.py": "the kernel's",
    "observe/_gpu_nvml.py": "in a process of its own, with a time limit",
    "observe/_inside.py": "in the target",
    "observe/_operations.py": "likewise",
    "observe/running_programs.py": "the kernel's",
    "fleet/hosts.py": "line by line, by the same rules",
    "proof": "what its own runs wrote",
    "core": "the kernel's, and the reader",
}
"""Modules that read files in another way, and why that is safe."""


def test_whoever_reads_what_is_not_ours_reads_it_by_this_reader() -> None:
    others = {
        path.relative_to(PACKAGE).as_posix()
        for path in sorted(PACKAGE.rglob("*.py"))
        if any(_reads(node) for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    }
    left = {path for path in others if not {path, path.partition("/")[0]} & OWN.keys()}
    assert left == set()


def _reads(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    owner = node.func.value.id if isinstance(node.func.value, ast.Name) else ""
    if owner in ("json", "tomllib"):
        return node.func.attr in ("load", "loads")
    opens = node.func.attr == "open" and bool(node.args) and _is_reading(node.args[0])
    return owner != "foreign" and (opens or node.func.attr in ("read_text", "read_bytes"))


def _is_reading(mode: ast.expr) -> bool:
    return isinstance(mode, ast.Constant) and mode.value in ("r", "rb", "rt")
