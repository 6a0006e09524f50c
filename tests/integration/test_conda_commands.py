"""Misbehaving condas: shell scripts in place of conda, because no real conda misbehaves on demand."""

import os
import shlex
from pathlib import Path

import pytest

from fastinstall.conda.engines.choose import open_engine
from fastinstall.core.errors import FailedError
from fastinstall.model.conda import CondaChange, CondaInstaller, CondaRequest, CondaTool


def preview_of(script: str, directory: Path) -> CondaChange:
    """Run this shell script as conda; return the preview that the engine parses from its output."""
    conda = directory / "conda"
    conda.write_text(f"#!/bin/sh\n{script}\n")
    conda.chmod(0o755)
    tool = CondaTool(command=(str(conda),), version="", root=directory, solver="", found_by="PATH")
    engine = open_engine(CondaInstaller.CONDA, tool, os.environ, directory / "cache")
    return engine.preview(CondaRequest(prefix=directory, ours=(), specs=("puretool",)))


def test_a_conda_that_talks_around_its_answer_is_understood(tmp_path: Path) -> None:
    entry = '{"name": "puretool", "version": "1.0", "build_string": "pyh_0", "build_number": 0, "platform": "noarch"}'
    answer = f'{{"actions": {{"LINK": [{entry}]}}, "success": true}}'
    script = f"""\
        echo 'WARNING conda.x: {{odd}}'
        printf '{{"fetch": "puretool", "progress": 0.5}}\\0'
        echo {shlex.quote(answer)}
        echo done
        echo 'DeprecationWarning: x' >&2"""
    (package,) = preview_of(script, tmp_path).linked
    assert package.dist == "puretool-1.0-pyh_0"


def test_a_conda_that_says_nothing_changes_nothing(tmp_path: Path) -> None:
    assert preview_of("exit 0", tmp_path) == CondaChange()


def test_a_conda_that_fails_in_words_alone_is_quoted(tmp_path: Path) -> None:
    with pytest.raises(FailedError, match="exit code 3") as caught:
        preview_of("echo 'bad interpreter' >&2; exit 3", tmp_path)
    assert "bad interpreter" in "".join(caught.value.details)


def test_a_conda_that_asks_is_answered_with_the_end_of_its_input(tmp_path: Path) -> None:
    with pytest.raises(FailedError, match="exit code 7"):
        preview_of('read -r answer || exit 7; echo "{}"', tmp_path)


def test_a_conda_that_is_gone_is_named(tmp_path: Path) -> None:
    tool = CondaTool(command=(str(tmp_path / "conda"),), version="", root=tmp_path, solver="", found_by="CONDA_EXE")
    engine = open_engine(CondaInstaller.CONDA, tool, os.environ, tmp_path / "cache")
    with pytest.raises(FailedError, match="conda: cannot be started"):
        engine.preview(CondaRequest(prefix=tmp_path, ours=()))
