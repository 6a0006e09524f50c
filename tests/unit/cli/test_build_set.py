"""`build --set` as a command: its JSON document, and an exit code that a missing Python does not change."""

import json
from contextlib import ExitStack
from pathlib import Path

import pytest
from support.environments.interpreters import running
from support.index.wheels import write_wheel
from support.values.sessions import a_session

from fastinstall.cli.commands import build
from fastinstall.cli.console import Console
from fastinstall.cli.main import Context
from fastinstall.cli.options import Sources
from fastinstall.cli.parser import parse
from fastinstall.cli.run_log import RunLog
from fastinstall.core.errors import ExitCode
from fastinstall.core.files import sha256
from fastinstall.wheelbuild.package_index import publish_wheel

ABI = f"cp{str(running()).replace('.', '')}"


def _run(home: Path, *words: str) -> int:
    """Run the command with the tests' Python as the only Python, and without an index; return the exit code."""
    arguments, _ = parse(("build", "--set", "--offline", "-o", str(home / "set"), *words), {}, [])
    variables = {"HOME": str(home), "PATH": "", "FASTINSTALL_CACHE_DIR": str(home / "cache")}
    context = Context(
        sources=Sources(variables=variables),
        console=Console(json=True),
        log=RunLog(None, None, "/nowhere"),
        closing=ExitStack(),
    )
    return build.run(arguments, context)


def _put_wheel(home: Path, abi: str) -> None:
    """Publish a wheel for this ABI in the set, as an earlier run would."""
    tag = f"{abi}-{abi}-manylinux_2_27_x86_64.manylinux_2_28_x86_64"
    wheel = write_wheel(home / "built", "pillow", "13.0.0+simd.v2.v3", tag)
    publish_wheel(a_session(home), wheel, sha256(wheel), home / "set")


def test_missing_pythons_are_no_failure_if_a_wheel_is_available(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _put_wheel(tmp_path, ABI)
    assert _run(tmp_path) == ExitCode.OK
    told = capsys.readouterr()
    document = json.loads(told.out)
    assert document["schema"] == "fastinstall.fleet/1"
    assert [artefact["abi"] for artefact in document["artefacts"] if artefact["wheel"] is not None] == [ABI]
    assert {artefact["builder"] for artefact in document["artefacts"]} == {None}
    assert f"python3 -m http.server --directory {tmp_path / 'set'}" in told.err


def test_a_build_that_fails_is_a_failure_whatever_else_is_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _put_wheel(tmp_path, "cp310" if ABI != "cp310" else "cp311")
    assert _run(tmp_path) == ExitCode.FAILED_UNCHANGED
    artefacts = json.loads(capsys.readouterr().out)["artefacts"]
    assert sum(artefact["wheel"] is not None for artefact in artefacts) == 1
    assert [artefact["abi"] for artefact in artefacts if artefact["builder"] is not None] == [ABI]


def test_where_no_python_is_here_nothing_is_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys._base_executable", "/nowhere/python")
    assert _run(tmp_path) == ExitCode.REFUSED
    artefacts = json.loads(capsys.readouterr().out)["artefacts"]
    assert {(artefact["wheel"], artefact["builder"]) for artefact in artefacts} == {(None, None)}
    assert not (tmp_path / "set").exists()
