"""Doctor's flags that select environments cannot be combined; a wrong flag is refused by name."""

from contextlib import ExitStack
from pathlib import Path

import pytest

from fastinstall.cli.commands import doctor
from fastinstall.cli.console import Console
from fastinstall.cli.main import Context
from fastinstall.cli.options import Sources
from fastinstall.cli.parser import parse
from fastinstall.cli.run_log import RunLog
from fastinstall.core.errors import UsageError


def _run(*words: str) -> None:
    context = Context(
        sources=Sources(variables={}),
        console=Console(),
        log=RunLog(None, None, "/nowhere"),
        closing=ExitStack(),
    )
    doctor.run(parse(("doctor", *words), {}, [])[0], context)


@pytest.mark.parametrize("other", [("--prefix", "/x"), ("--python", "/x/bin/python"), ("--fix",)], ids=" ".join)
def test_what_names_one_target_is_refused_beside_all(other: tuple[str, ...]) -> None:
    with pytest.raises(UsageError, match="cannot be combined") as caught:
        _run("--all", *other)
    assert "--all" in caught.value.message
    assert other[0] in caught.value.message


def test_another_hosts_missing_file_is_refused_naming_the_flag(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=f"--host-flags {tmp_path}/absent"):
        _run("--all", "--host-flags", str(tmp_path / "absent"))


def test_a_named_target_overrules_what_variables_say() -> None:
    variables = {"FASTINSTALL_ALL": "1", "FASTINSTALL_PREFIX": "/usual"}
    by_prefix, _ = parse(("doctor", "--prefix", "/x"), variables, [])
    assert (by_prefix.all, by_prefix.prefix) == (False, "/x")
    everywhere, _ = parse(("doctor", "--all"), variables, [])
    assert (everywhere.all, everywhere.prefix) == (True, None)


def test_other_hosts_files_come_from_flags_a_variable_or_a_key(tmp_path: Path) -> None:
    variables = {"FASTINSTALL_HOST_FLAGS": "a.json,b.json"}
    settings = tmp_path / "fastinstall.toml"
    settings.write_text('host_flags = ["c.json"]')
    assert _hosts((), variables) == ("a.json", "b.json")
    assert _hosts(("--host-flags", "x", "--host-flags", "y"), variables) == ("x", "y")
    assert _hosts((), {}, settings) == ("c.json",)
    assert _hosts((), {}) == ()


def _hosts(words: tuple[str, ...], variables: dict[str, str], *settings: Path) -> tuple[str, ...]:
    return tuple(parse(("doctor", *words), variables, settings)[0].host_flags)
