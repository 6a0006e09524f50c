"""A pytest plugin, for files that name it in `pytest_plugins`: an environment with a history."""

import venv
from pathlib import Path

import pytest
from support.journal.history import Place
from support.sandbox import UNREACHABLE, Result

from fastinstall.cli.main import main


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Place:
    """Return an empty environment; variables hide the user's home, the network and active environments."""
    for name, value in {"HOME": str(tmp_path / "home"), "FASTINSTALL_CACHE_DIR": str(tmp_path), **UNREACHABLE}.items():
        monkeypatch.setenv(name, value)
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX", "XDG_STATE_HOME", "PIP_FIND_LINKS"):
        monkeypatch.delenv(name, raising=False)

    def call(*words: str | Path) -> Result:
        capsys.readouterr()
        code = main([str(word) for word in words])
        heard = capsys.readouterr()
        return Result(exit_code=code, stdout=heard.out, stderr=heard.err)

    venv.create(tmp_path / "env", symlinks=True)
    return Place(prefix=tmp_path / "env", call=call)
