"""The verb bench: candidates by name, printed code, and usage errors that come before the environment is examined."""

import json
from contextlib import ExitStack
from pathlib import Path

import pytest

from fastinstall.cli.commands import bench
from fastinstall.cli.console import Console
from fastinstall.cli.main import Context
from fastinstall.cli.options import Sources
from fastinstall.cli.parser import parse
from fastinstall.cli.run_log import RunLog
from fastinstall.core.errors import UsageError


def _run(tmp_path: Path, *words: str) -> int:
    variables = {"HOME": str(tmp_path)}
    context = Context(
        sources=Sources(variables=variables),
        console=Console(json="--json" in words),
        log=RunLog(None, None, "/nowhere"),
        closing=ExitStack(),
    )
    return bench.run(parse(("bench", *words), {}, [])[0], context)


def test_candidates_are_listed_with_what_they_need(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _run(tmp_path, "--list") == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(line.split()[0] == "pillow-draft" for line in lines if line.strip())
    assert any(line.split()[0] == "simplejpeg" and "numpy" in line for line in lines if line.strip())


def test_candidates_are_listed_as_a_document(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _run(tmp_path, "--list", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["schema"] == "fastinstall.bench-candidates/1"
    named = {each["name"]: each for each in found["candidates"]}
    assert named["pillow-draft"]["kind"] == "decoder"
    assert "simplejpeg" in named["simplejpeg"]["requirements"]


def test_the_code_of_a_candidate_has_the_wanted_sizes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _run(tmp_path, "--print-code", "pillow-draft", "--size", "512", "--crop", "448") == 0
    code = capsys.readouterr().out
    compile(code, "loader.py", "exec")
    assert "512" in code
    assert "448" in code


@pytest.mark.parametrize(
    "words",
    [("--print-code", "nobody"), ("--samples", "0"), ("--chart", "x.png"), ("--export", "x")],
    ids=" ".join,
)
def test_usage_errors_come_before_the_environment_is_examined(tmp_path: Path, words: tuple[str, ...]) -> None:
    with pytest.raises(UsageError):
        _run(tmp_path, *words, "--prefix", f"{tmp_path}/no-environment")
