"""The wizard's first screen has a line for each fact, and names all changes that the plan makes outside the cache."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from support.suite.golden import Golden
from support.values.builders import (
    conda_facts,
    conda_stack,
    empty_facts,
    environment,
    healthy_facts,
    request,
    stock_facts,
)
from support.values.plans import parts_of
from support.values.sessions import a_session

from fastinstall.cli.console import Console
from fastinstall.cli.wizard import wizard
from fastinstall.cli.wizard.wizard import ask_for_plan, list_found, list_outside_changes
from fastinstall.model.artefact import LevelTarget
from fastinstall.model.conda import CondaInstaller
from fastinstall.model.facts import Facts
from fastinstall.model.request import LinkMode, Request
from fastinstall.observe.environments import NamedTarget
from fastinstall.setup.plan import Plan
from fastinstall.setup.steps import SetupStep
from fastinstall.setup.steps.build import Build
from fastinstall.setup.steps.conda_packages import MakeCondaPackages
from fastinstall.setup.steps.create_environment import CreateEnvironment
from fastinstall.setup.steps.pin import PinForPip
from fastinstall.setup.steps.prepare import PrivateHeaders, SystemPackages
from fastinstall.setup.steps.prove import Prove, Verify
from fastinstall.setup.steps.swap import InstallGuard, Swap

STEPS: tuple[SetupStep, ...] = (
    CreateEnvironment(prefix=Path("/srv/env"), python=Path("/usr/bin/python3"), reason=""),
    SystemPackages(manager="apt", packages=("gcc",), reason="missing: compiler"),
    PrivateHeaders(packages=("libtiff-dev",), libraries=("tiff",), python="", artefacts=(), reason=""),
    Build(
        recipe="pillow-fast",
        source=None,
        base_wheel=None,
        distribution="pillow",
        version="13.0.0+simd.v3",
        targets=(LevelTarget(level="x86-64-v3", cflags=("-O3",), ldflags=()),),
        link=LinkMode.BUNDLE,
        libraries=("jpeg",),
        jobs=2,
        reason="",
    ),
    Prove(reference=None, timed=False, reason=""),
    Swap(removes=("pillow-12.1.1.dist-info",), entries=("PIL",), installs="pillow-13.0.0+simd.v3.dist-info", reason=""),
    InstallGuard(reason=""),
    PinForPip(file="pip.conf", directory="share/pin", requirement="pillow==13.0.0+simd.v3", text="", reason="as asked"),
    Verify(checks=("swapped",), reason=""),
)


def _plan(*steps: SetupStep) -> Plan:
    return Plan(
        environment=environment(),
        facts_digest="",
        request=request(),
        summary="renew the start-up guard",
        **parts_of(*steps),
    )


@pytest.mark.parametrize(
    ("facts", "pillow", "place"),
    [
        (stock_facts(), "12.1.1, stock build, installed by pip", "./env"),
        (healthy_facts(), "12.1.1.post0, fast build", "./env"),
        (empty_facts(), "not installed", "./env"),
        (conda_facts(), "12.1.1, stock build, installed by conda", "./env (conda)"),
    ],
    ids=["stock", "healthy", "empty", "conda"],
)
def test_what_was_found_is_told_in_four_lines(facts: Facts, pillow: str, place: str) -> None:
    found = dict(list_found(facts, "./env"))
    assert list(found) == ["CPU", "Python", "Environment", "Pillow"]
    assert found["Pillow"].startswith(pillow)
    assert found["Environment"] == place
    assert found["CPU"].endswith("cores, x86-64-v3 (AVX2)")


def test_one_core_is_told_as_one() -> None:
    facts = healthy_facts()
    found = dict(list_found(replace(facts, cpu=replace(facts.cpu, cores=1)), "./env"))
    assert ", 1 core," in found["CPU"]


def test_every_changing_step_is_named_except_those_for_the_cache(golden: Golden) -> None:
    changes = list(list_outside_changes(_plan(*STEPS)))
    assert len(changes) == 5
    golden("\n".join(changes))


def test_naming_the_guard_package_explains_security_updates() -> None:
    stack = conda_stack()
    make = MakeCondaPackages(
        engine=CondaInstaller.RATTLER, package=stack.package, guard=stack.guard, channel=stack.channel, reason=""
    )
    (line,) = [line for line in list_outside_changes(_plan(*STEPS, make)) if "setup --upgrade" in line]
    assert "security updates" in line


def test_a_plan_without_a_build_is_told_by_its_summary() -> None:
    assert list(list_outside_changes(_plan(InstallGuard(reason="")))) == ["renew the start-up guard"]


def test_where_nothing_is_to_do_a_quiet_wizard_is_silent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    plan, seen = SimpleNamespace(steps=()), healthy_facts()
    answers = {"recover_first": None, "recipe_named": None, "observe_facts": seen, "plan_setup": plan}
    for name, answer in answers.items():
        monkeypatch.setattr(wizard, name, lambda *_, answer=answer: answer)
    session, target = a_session(tmp_path), NamedTarget(prefix=Path(seen.environment.prefix))
    agreed: object = ask_for_plan(session, target, Request(), Console(interactive=True))
    assert agreed is plan
    assert "Environment" in capsys.readouterr().err
    ask_for_plan(session, target, Request(), Console(interactive=True, quiet=True))
    assert capsys.readouterr().err == ""
