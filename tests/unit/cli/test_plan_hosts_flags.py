"""Flags that make no sense for many machines are refused by name; the exit code says if a host is left unserved."""

from contextlib import ExitStack
from pathlib import Path

import pytest
from support.suite.golden import Golden
from support.values.fleet_cases import facts_document

from fastinstall.cli.commands import build, doctor, plan
from fastinstall.cli.console import Console
from fastinstall.cli.main import Context
from fastinstall.cli.options import Sources
from fastinstall.cli.parser import parse
from fastinstall.cli.run_log import RunLog
from fastinstall.core.errors import ExitCode, UsageError

_COMMANDS = {"plan": plan, "build": build, "doctor": doctor}


def _run(*words: str) -> int:
    arguments, _ = parse(words, {}, [])
    context = Context(
        sources=Sources(variables={}),
        console=Console(),
        log=RunLog(None, None, "/nowhere"),
        closing=ExitStack(),
    )
    code: int = _COMMANDS[words[0]].run(arguments, context)
    return code


@pytest.mark.parametrize(
    "words",
    [
        ("plan", "--hosts", "DIR", "--prefix", "/x"),
        ("plan", "--hosts", "DIR", "--new-env", "/x"),
        ("build", "--hosts", "DIR", "-o", "WHEELS", "--prefix", "/x"),
        ("build", "--hosts", "DIR", "-o", "WHEELS", "--format", "conda"),
        ("build", "--hosts", "DIR", "-o", "WHEELS", "--explain"),
        ("build", "--set", "-o", "WHEELS", "--prefix", "/x"),
        ("build", "--set", "-o", "WHEELS", "--hosts", "DIR"),
        ("build", "--set", "-o", "WHEELS", "--format", "conda"),
        ("build", "--tool-only", "-o", "WHEELS", "--hosts", "DIR"),
        ("build", "--tool-only", "-o", "WHEELS", "--set"),
        ("doctor", "--collect", "DIR", "--prefix", "/x"),
        ("doctor", "--collect", "DIR", "--all"),
        ("doctor", "--collect", "DIR", "--fix"),
        ("doctor", "--collect", "DIR", "swapped"),
    ],
    ids=" ".join,
)
def test_a_flag_for_one_environment_is_refused_for_many_machines(words: tuple[str, ...]) -> None:
    with pytest.raises(UsageError) as caught:
        _run(*words)
    assert any(word in caught.value.message for word in words if word.startswith("--"))
    assert caught.value.hint


@pytest.mark.parametrize("age", ["-1", "soon", "nan", "inf", ""])
@pytest.mark.parametrize("verb", [("plan", "--hosts", "DIR"), ("doctor", "--collect", "DIR")], ids=" ".join)
def test_an_age_that_is_none_is_refused(verb: tuple[str, ...], age: str) -> None:
    with pytest.raises(UsageError, match="--max-age"):
        parse((*verb, f"--max-age={age}"), {}, [])


@pytest.mark.parametrize(("age", "days"), [("any", float("inf")), ("0.5", 0.5), ("90", 90.0)])
def test_an_age_is_a_number_of_days_or_any(age: str, days: float) -> None:
    assert parse(("plan", "--hosts", "DIR", "--max-age", age), {}, [])[0].max_age == days
    assert parse(("plan",), {}, [])[0].max_age == 30


def test_a_directory_without_facts_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no facts files there"):
        _run("plan", "--hosts", str(tmp_path))
    with pytest.raises(UsageError, match="no reports there"):
        _run("doctor", "--collect", str(tmp_path))


def test_code_for_the_machine_that_builds_is_for_no_other(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--level native") as caught:
        _run("plan", "--hosts", str(tmp_path), "--level", "native")
    assert (caught.value.hint or "").endswith(": x86-64-v4, x86-64-v3, x86-64-v2, armv8-a")


def test_the_exit_code_tells_if_any_unservable_machine_was_known(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    (tmp_path / "empty.json").write_text("")
    assert _run("plan", "--hosts", str(tmp_path)) == ExitCode.UNDETERMINED
    (tmp_path / "below.json").write_bytes(facts_document("below", {"level": "x86-64-v1"}).content)
    assert _run("plan", "--hosts", str(tmp_path), "--max-age", "any") == ExitCode.REFUSED
    assert _run("build", "--hosts", str(tmp_path), "-o", str(tmp_path / "wheels")) == ExitCode.REFUSED
    assert not (tmp_path / "wheels").exists()
    golden(capsys.readouterr().out)


def test_reports_of_nobody_determine_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    (tmp_path / "empty.json").write_text("")
    assert _run("doctor", "--collect", str(tmp_path), "--fail-on", "never") == ExitCode.UNDETERMINED
    golden(capsys.readouterr().out)
