"""`guard check` on the command line: text, JSON, silence and exit codes, on a machine without environments."""

import json
from pathlib import Path

import jsonschema
import pytest
from published_schemas import SCHEMAS
from support.suite.golden import Golden

from fastinstall.cli.main import main
from fastinstall.core.errors import ExitCode

Told = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr("signal.signal", lambda *_: None)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "requirements.txt").write_text("imageio\npillow==12.1.1\n")
    (tmp_path / "constraints.txt").write_text("pillow==12.1.1+simd.v3\n")


def test_a_finding_is_told_as_compilers_do_with_a_command(capsys: Told, golden: Golden) -> None:
    assert main(["guard", "check", "requirements.txt"]) == ExitCode.FINDINGS
    told = capsys.readouterr().out
    first, hint, command, _last = told.splitlines()
    assert first.startswith("requirements.txt:2: error: ")
    assert hint.startswith("  hint: ")
    assert command.split()[:2] == ["fastinstall", "build"]
    assert command.split()[-2:] == ["--version", "12.1.1"]
    golden(told)


def test_a_hint_alone_is_no_failure_and_quiet_leaves_it_out(capsys: Told) -> None:
    assert main(["guard", "check", "constraints.txt"]) == ExitCode.OK
    assert "constraints.txt:1: hint: " in capsys.readouterr().out
    assert main(["guard", "check", "--quiet", "constraints.txt"]) == ExitCode.OK
    told = capsys.readouterr()
    assert told.out + told.err == ""


def test_json_keeps_its_schema(capsys: Told) -> None:
    assert main(["guard", "check", "--json", "requirements.txt", "constraints.txt"]) == ExitCode.FINDINGS
    data = json.loads(capsys.readouterr().out)
    jsonschema.validate(data, SCHEMAS["locks"]())
    assert [(each["file"], each["line"], each["status"]) for each in data["findings"]] == [
        ("requirements.txt", 2, "error"),
        ("constraints.txt", 1, "hint"),
    ]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), "guard check needs files"),
        (("notes.md",), "notes.md"),
        (("requirements.txt", "absent.txt"), "absent.txt: No such file"),
    ],
)
def test_what_cannot_be_judged_is_a_usage_error_that_names_it(words: tuple[str, ...], told: str, capsys: Told) -> None:
    Path("notes.md").touch()
    assert main(["guard", "check", *words]) == ExitCode.USAGE
    assert told in capsys.readouterr().err
