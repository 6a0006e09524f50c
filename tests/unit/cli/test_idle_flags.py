"""A flag without effect is refused; a variable or a setting without effect is not, as it may serve other runs."""

from contextlib import ExitStack
from importlib import import_module

import pytest

from fastinstall.cli.common import refuse_without
from fastinstall.cli.console import Console
from fastinstall.cli.main import Context
from fastinstall.cli.parser import parse
from fastinstall.cli.run_log import RunLog
from fastinstall.core.errors import UsageError


@pytest.mark.parametrize(
    ("words", "idle"),
    [
        ("doctor --allow downgrade", "--allow"),
        ("doctor --hosts /x", "--hosts"),
        ("doctor --max-age 3", "--max-age"),
        ("plan --max-age any", "--max-age"),
        ("build -o /x --max-age=3", "--max-age"),
        ("guard status --pin", "--pin"),
        ("guard remove --project /x", "--project"),
        ("guard install --project /x", "--project"),
        ("guard check --wheels /x requirements.txt", "--wheels"),
        ("recipes list pillow", "pillow"),
    ],
)
def test_an_idle_flag_is_refused_by_name(words: str, idle: str) -> None:
    with pytest.raises(UsageError, match=idle) as caught:
        _run(words)
    assert caught.value.hint


def test_a_variable_may_say_it_for_other_runs() -> None:
    arguments, _ = parse(("doctor",), {"FASTINSTALL_MAX_AGE": "3"}, [])
    refuse_without(arguments, "--collect", ("--max-age",))
    assert arguments.max_age == 3


def _run(line: str) -> int:
    arguments, sources = parse(line.split(), {}, [])
    context = Context(sources=sources, console=Console(), log=RunLog(None, None, "/nowhere"), closing=ExitStack())
    return int(import_module(f"fastinstall.cli.commands.{arguments.verb}").run(arguments, context))
