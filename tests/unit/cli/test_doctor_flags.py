"""Doctor's flags that name what is examined exclude each other, and bad ones are refused by name."""

from contextlib import ExitStack
from pathlib import Path

import pytest

from fastinstall.cli.commands import doctor
from fastinstall.cli.console import Console
from fastinstall.cli.main import Context
from fastinstall.cli.options import Settings, Sources
from fastinstall.cli.parser import parse
from fastinstall.cli.run_log import RunLog
from fastinstall.core.errors import UsageError


def _run(*words: str) -> None:
    context = Context(
        variables={},
        sources=Sources(variables={}, settings=Settings(values={})),
        console=Console(),
        log=RunLog(None, None, "/nowhere"),
        closing=ExitStack(),
    )
    doctor.run(parse(("doctor", *words), {}, [])[0], context)


@pytest.mark.parametrize("flag", [("--all",), ("--pid", "1")], ids=" ".join)
@pytest.mark.parametrize(
    "other", [("--prefix", "/x"), ("--python", "/x/bin/python"), ("--fix",), ("--all",), ("--pid", "1")], ids=" ".join
)
def test_what_names_another_target_is_refused_beside_it(flag: tuple[str, ...], other: tuple[str, ...]) -> None:
    if flag == other:
        return
    with pytest.raises(UsageError, match="exclude each other") as caught:
        _run(*flag, *other)
    assert flag[0] in caught.value.message
    assert other[0] in caught.value.message


@pytest.mark.parametrize("written", ["0", "-3", "one", "1.5", ""])
def test_a_process_that_is_no_number_is_refused(written: str) -> None:
    with pytest.raises(UsageError, match="--pid"):
        parse(("doctor", f"--pid={written}"), {}, [])


def test_a_file_of_another_host_that_is_not_there_is_refused_and_the_flag_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=f"--host-flags {tmp_path}/absent"):
        _run("--all", "--host-flags", str(tmp_path / "absent"))


def test_a_named_target_overrules_what_variables_say() -> None:
    variables = {"FASTINSTALL_ALL": "1", "FASTINSTALL_PID": "12", "FASTINSTALL_PREFIX": "/usual"}
    by_prefix, _ = parse(("doctor", "--prefix", "/x"), variables, [])
    assert (by_prefix.all, by_prefix.pid, by_prefix.prefix) == (False, None, "/x")
    by_process, _ = parse(("doctor", "--pid", "7"), variables, [])
    assert (by_process.all, by_process.pid, by_process.prefix) == (False, 7, None)
    everywhere, _ = parse(("doctor", "--all"), variables, [])
    assert (everywhere.all, everywhere.pid, everywhere.prefix) == (True, None, None)


def test_files_of_other_hosts_are_named_by_flags_or_a_variable_or_a_key(tmp_path: Path) -> None:
    variables = {"FASTINSTALL_HOST_FLAGS": "a.json,b.json"}
    settings = tmp_path / "fastinstall.toml"
    settings.write_text('host_flags = ["c.json"]')
    assert _hosts((), variables) == ("a.json", "b.json")
    assert _hosts(("--host-flags", "x", "--host-flags", "y"), variables) == ("x", "y")
    assert _hosts((), {}, settings) == ("c.json",)
    assert _hosts((), {}) == ()


def _hosts(words: tuple[str, ...], variables: dict[str, str], *settings: Path) -> tuple[str, ...]:
    return tuple(parse(("doctor", *words), variables, settings)[0].host_flags)
