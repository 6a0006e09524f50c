"""The advice in a refusal: because of a risk, without a terminal, or without an environment."""

from argparse import Namespace
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest
from support.values.builders import environment

from fastinstall.cli.consent import consent, equivalent_command, refuse_unaccepted, refuse_without_yes
from fastinstall.cli.console import Console, Page
from fastinstall.cli.main import Context, main
from fastinstall.cli.options import Sources
from fastinstall.cli.run_log import RunLog
from fastinstall.cli.text.reports import error_text
from fastinstall.core.errors import ExitCode, RefusedError
from fastinstall.model.request import PlanRisk, Request, Risk
from fastinstall.setup.plan import Plan
from fastinstall.setup.steps.create_environment import CreateEnvironment

VULNERABLE = PlanRisk(
    risk=Risk.VULNERABLE,
    summary="1 critical advisory affects Pillow 12.1.1: CVE-1",
    items=("CVE-1",),
    instead="take today's Pillow: --recipe pillow-fast",
)
DOWNGRADE = PlanRisk(risk=Risk.DOWNGRADE, summary="it is older")


def _plan(*risks: PlanRisk) -> Plan:
    request = Request(recipe="pillow-simd")
    return Plan(environment=environment(), facts_digest="0", request=request, risks=risks, summary="a test")


def _refusal(plan: Plan) -> RefusedError:
    with pytest.raises(RefusedError) as caught:
        refuse_unaccepted(plan)
    return caught.value


def test_a_vulnerability_is_refused_by_name_with_a_way_out_first() -> None:
    refused = _refusal(_plan(VULNERABLE, DOWNGRADE))
    assert refused.exit_code is ExitCode.REFUSED
    assert "CVE-1" in refused.message
    avoid, accept = (refused.hint or "").split("; or ")
    assert avoid == VULNERABLE.instead
    assert accept.endswith("--allow vulnerable,downgrade")


def test_another_risk_has_no_other_way_out() -> None:
    assert _refusal(_plan(DOWNGRADE)).hint == "accept the risk: --allow downgrade"


def test_what_is_allowed_is_not_refused() -> None:
    refuse_unaccepted(_plan(replace(VULNERABLE, allowed=True)))


@pytest.mark.parametrize("console", [Console(), Console(quiet=True), Console(json=True)], ids=["", "quiet", "json"])
def test_what_a_risk_brings_is_listed_once_for_all_risks(capsys: pytest.CaptureFixture[str], console: Console) -> None:
    item = "CVE-2026-1000 (high): something is read out of bounds."
    again = "CVE-2026-1000 (affects <13): something is read out of bounds."
    plan = _plan(replace(DOWNGRADE, items=(item,)), replace(VULNERABLE, items=(again, "another thing")))
    context = Context(
        sources=Sources(variables={}),
        console=console,
        log=RunLog(None, None, "/nowhere"),
        closing=ExitStack(),
    )
    with pytest.raises(RefusedError) as refused:
        consent(plan, Namespace(yes=True), context, "")
    told = capsys.readouterr().err + error_text(refused.value, Page())
    assert told.count("something is read out of bounds") == 1
    assert told.count("another thing") == 1


@pytest.mark.parametrize(
    ("console", "message"),
    [
        (Console(), "Not a terminal: pass --yes to continue"),
        (Console(interactive=True, json=True), "--json asks no questions: pass --yes to continue"),
    ],
)
def test_without_a_person_the_equivalent_command_is_given(console: Console, message: str) -> None:
    with pytest.raises(RefusedError) as caught:
        refuse_without_yes(Namespace(yes=False), console, "fastinstall setup --yes")
    assert (caught.value.message, caught.value.hint) == (message, "fastinstall setup --yes")
    refuse_without_yes(Namespace(yes=True), console, "")


@pytest.mark.parametrize(("names_python", "words"), [(False, ()), (True, ("--python", "/usr/bin/python3"))])
def test_the_same_command_names_python_only_if_the_user_did(*, names_python: bool, words: tuple[str, ...]) -> None:
    made = CreateEnvironment(prefix=Path("/srv/env"), python=Path("/usr/bin/python3"), reason="")
    plan = replace(_plan(), request=Request(), create=made)
    command = equivalent_command(plan, names_python=names_python)
    assert command.split() == ["fastinstall", "setup", "--yes", "--new-env", "/srv/env", *words]


@pytest.fixture
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Change to an empty directory, with no active environment."""
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("words", "nearby", "hint"),
    [
        (("doctor", "--json"), (".venv", "fast-env"), "name it: fastinstall doctor --json --prefix ./fast-env"),
        (("doctor",), (), "name one: fastinstall doctor --prefix DIR"),
        (
            ("setup", "--require", "jpeg, tiff"),
            (),
            "make one: fastinstall setup --require 'jpeg, tiff' --new-env ./fast-env",
        ),
    ],
)
@pytest.mark.usefixtures("nowhere")
def test_without_an_environment_the_hint_adds_one_to_the_command(
    words: tuple[str, ...], nearby: tuple[str, ...], hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in nearby:
        Path(name, "conda-meta").mkdir(parents=True)
    assert main(words) == ExitCode.REFUSED
    assert hint in " ".join(capsys.readouterr().err.split())
