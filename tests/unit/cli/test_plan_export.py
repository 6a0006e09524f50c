"""`plan --format dockerfile`: what is refused before anything is asked of an index, with what to do instead."""

from pathlib import Path

import pytest

from fastinstall.cli.main import main

PYTHON = ("--python", "python3.12")


@pytest.fixture(autouse=True)
def _somebody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX", "FASTINSTALL_RECIPES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr("signal.signal", lambda *_: None)
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("words", "code", "said", "hint"),
    [
        (("--format", "sh"), 2, "--format 'sh': choose one of text, json, dockerfile", "fastinstall plan --help"),
        (
            ("--format", "dockerfile", "--json"),
            2,
            "--json and --format dockerfile exclude each other",
            "--format json",
        ),
        (("--format", "dockerfile", "--link", "env"), 5, "--link env", "leave it out"),
        (("--format", "dockerfile", "--engine", "conda"), 5, "conda packages", "--format conda"),
        (("--format", "dockerfile", "--new-env", "env"), 2, "must be absolute", "/opt/fast-env"),
        (("--format", "dockerfile", "--new-env", "/it's"), 2, "a path in a Dockerfile must be", "a path such as"),
        (("--format", "dockerfile", "--level", "native"), 5, "--level native", "--levels x86-64-v2,x86-64-v3"),
        (("--format", "dockerfile", "--require", "nothing"), 2, "--require nothing", "known:"),
        (("--format", "dockerfile", "--python", "python3.9"), 5, "3.11 or later", "fastinstall build"),
        (("--format", "dockerfile", "--offline"), 5, "--offline needs --wheelhouse", "--with-tool"),
        (("--format", "dockerfile", "--wheelhouse", "."), 5, "no wheel of pillow-fast for Python 3.12", "build -o"),
    ],
)
def test_it_is_refused_with_a_way_out(
    words: tuple[str, ...], code: int, said: str, hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(("plan", *(() if "--python" in words else PYTHON), *words)) == code
    told = capsys.readouterr()
    assert said in told.err
    assert hint in told.err.partition("hint:")[2]


def test_a_conda_environment_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "conda" / "conda-meta").mkdir(parents=True)
    (tmp_path / "conda" / "bin").mkdir()
    (tmp_path / "conda" / "bin" / "python").touch()
    monkeypatch.setenv("CONDA_PREFIX", str(tmp_path / "conda"))
    assert main(("plan", "--format", "dockerfile")) == 5
    assert "is a conda environment" in capsys.readouterr().err
