"""A test is skipped if the system lacks what it needs; in continuous integration it fails."""

import subprocess
from pathlib import Path

import pytest
from support.machine.needs import requiring_programs


def _start(program: str, empty: Path) -> None:
    with requiring_programs():
        subprocess.run((program,), env={"PATH": str(empty)}, check=True)


def test_a_compiler_that_is_not_there_is_skipped_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(pytest.skip.Exception, match="gcc is missing"):
        _start("gcc", tmp_path)


def test_in_continuous_integration_it_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "1")
    with pytest.raises(pytest.fail.Exception, match="gcc is missing"):
        _start("gcc", tmp_path)


def test_a_missing_program_of_the_tests_own_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        _start("no-program-of-the-system", tmp_path)
