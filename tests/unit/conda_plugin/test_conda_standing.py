"""The quick check of a stack's state, which reads only the receipt, one file, and the names of conda's records."""

import hashlib
import os
from pathlib import Path

import pytest
from support.values.builders import changed, receipt

from fastinstall.conda.swaps import CoreStatus
from fastinstall.conda_hooks import read_stack_status
from fastinstall.core.codec import document, dump
from fastinstall.journal.layout import RECEIPT

CONTENT = b"\x7fELF of ours"
CORE = "lib/python3.11/site-packages/PIL/_imaging.so"


@pytest.fixture
def prefix(tmp_path: Path) -> Path:
    """Return an environment as a setup leaves it, with only the few files that the quick check reads."""
    for name, content in {
        CORE: CONTENT,
        "conda-meta/history": b"",
        "conda-meta/libtiff-4.7.1-h1_0.json": b"{}",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(content)
    status = (tmp_path / CORE).stat()
    core = {"path": "PIL/_imaging.so", "size": status.st_size, "mtime_ns": status.st_mtime_ns}
    made = changed(receipt(), {"core": {**core, "sha256": hashlib.sha256(CONTENT).hexdigest()}})
    (tmp_path / RECEIPT).parent.mkdir(parents=True)
    (tmp_path / RECEIPT).write_text(dump(document("receipt", made)))
    return tmp_path


def _core(prefix: Path) -> CoreStatus | None:
    status = read_stack_status(prefix)
    return status.core if status is not None else None


def test_what_was_set_up_is_named_and_in_place(prefix: Path) -> None:
    status = read_stack_status(prefix)
    assert status is not None
    assert (status.name, status.packaged, status.core) == ("the fast Pillow 12.1.1.post0", False, CoreStatus.INTACT)
    assert status.records == ()


@pytest.mark.parametrize("build", ["simd_v2v3_py311_0", "py311h1234567_0"])
def test_records_that_provide_pil_are_read_off_their_names(prefix: Path, build: str) -> None:
    (prefix / f"conda-meta/pillow-13.0.0-{build}.json").touch()
    status = read_stack_status(prefix)
    assert status is not None
    assert [package.dist for package in status.records] == [f"pillow-13.0.0-{build}"]


def test_receipt_values_are_no_globs_and_a_record_needs_a_build(prefix: Path) -> None:
    receipt_file = prefix / RECEIPT
    receipt_file.write_text(receipt_file.read_text().replace('"3.11.7"', '"**"'))
    (prefix / "conda-meta/pillow.json").touch()
    status = read_stack_status(prefix)
    assert status is not None
    assert (status.core, status.records) == (CoreStatus.GONE, ())


def test_other_bytes_are_another_core_whatever_their_size(prefix: Path) -> None:
    (prefix / CORE).write_bytes(CONTENT + b"!")
    assert _core(prefix) is CoreStatus.OTHER
    (prefix / CORE).write_bytes(CONTENT[::-1])
    os.utime(prefix / CORE, (1, 1))
    assert _core(prefix) is CoreStatus.OTHER


def test_the_same_bytes_with_another_time_are_intact(prefix: Path) -> None:
    os.utime(prefix / CORE, (1, 1))
    assert _core(prefix) is CoreStatus.INTACT


def test_a_core_that_is_not_there_is_gone(prefix: Path) -> None:
    (prefix / CORE).unlink()
    assert _core(prefix) is CoreStatus.GONE


@pytest.mark.parametrize("name", [RECEIPT, "conda-meta/history"])
def test_without_a_receipt_or_a_conda_history_there_is_no_status(prefix: Path, name: str) -> None:
    (prefix / name).unlink()
    assert read_stack_status(prefix) is None
