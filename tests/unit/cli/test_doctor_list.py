import json
from argparse import Namespace
from contextlib import ExitStack

import pytest

from fastinstall.cli.commands import doctor
from fastinstall.cli.console import Console
from fastinstall.cli.main import Context
from fastinstall.cli.options import Sources
from fastinstall.cli.run_log import RunLog
from fastinstall.doctor.registry import check_names


def _list(*, as_json: bool) -> None:
    context = Context(
        sources=Sources(variables={}),
        console=Console(json=as_json),
        log=RunLog(None, None, "/nowhere"),
        closing=ExitStack(),
    )
    assert doctor.run(Namespace(list=True), context) == 0


def test_every_check_that_there_is_is_listed_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    _list(as_json=False)
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == list(check_names())


def test_the_list_as_json_names_them_too(capsys: pytest.CaptureFixture[str]) -> None:
    _list(as_json=True)
    listed = json.loads(capsys.readouterr().out)
    assert [check["check"] for check in listed["checks"]] == list(check_names())
