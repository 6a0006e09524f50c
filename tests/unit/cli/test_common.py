from argparse import Namespace
from pathlib import Path

import pytest

from fastinstall.cli.common import target_of


def _arguments(python: str) -> Namespace:
    return Namespace(prefix=None, python=python, new_env=None)


@pytest.fixture
def on_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    program = tmp_path / "python3.77"
    program.touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    return program


def test_an_interpreter_without_a_slash_is_looked_up_on_path(on_path: Path) -> None:
    assert target_of(_arguments("python3.77")).python == on_path


@pytest.mark.usefixtures("on_path")
@pytest.mark.parametrize("name", ["./python3.77", "/nowhere/python3.77", "python3.78"])
def test_any_other_interpreter_stays_as_it_was_named(name: str) -> None:
    assert target_of(_arguments(name)).python == Path(name)
