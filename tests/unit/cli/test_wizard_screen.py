"""The first screen names what was found in a line each, and whatever a plan changes outside of the cache."""

from pathlib import PurePosixPath

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

from fastinstall.cli.wizard.wizard import list_found, list_outside_changes
from fastinstall.model.artefact import LevelTarget
from fastinstall.model.conda import CondaInstaller
from fastinstall.model.facts import Facts
from fastinstall.model.request import LinkMode
from fastinstall.plan.plan import Plan
from fastinstall.steps.build import Build
from fastinstall.steps.create_environment import CreateEnvironment
from fastinstall.steps.install_guard import InstallGuard
from fastinstall.steps.kinds import Step
from fastinstall.steps.make_conda_packages import MakeCondaPackages
from fastinstall.steps.pin_for_pip import PinForPip
from fastinstall.steps.private_headers import PrivateHeaders
from fastinstall.steps.prove import Prove
from fastinstall.steps.swap import Swap
from fastinstall.steps.system_packages import SystemPackages
from fastinstall.steps.verify import Verify

STEPS: tuple[Step, ...] = (
    CreateEnvironment(prefix=PurePosixPath("/srv/env"), python=PurePosixPath("/usr/bin/python3"), reason=""),
    SystemPackages(manager="apt", packages=("gcc",), reason="missing: compiler"),
    PrivateHeaders(manager="apt", packages=("libtiff-dev",), libraries=("tiff",), reason=""),
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


def _plan(*steps: Step) -> Plan:
    return Plan(
        environment=environment(), facts_digest="", request=request(), steps=steps, summary="renew the start-up guard"
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


def test_every_step_that_changes_something_is_named_and_what_only_the_cache_gets_is_not(golden: Golden) -> None:
    changes = list(list_outside_changes(_plan(*STEPS)))
    assert len(changes) == 5
    golden("\n".join(changes))


def test_the_guard_package_is_named_with_what_brings_security_updates_then() -> None:
    stack = conda_stack()
    make = MakeCondaPackages(
        engine=CondaInstaller.RATTLER, package=stack.package, guard=stack.guard, channel=stack.channel, reason=""
    )
    (line,) = [line for line in list_outside_changes(_plan(*STEPS, make)) if "setup --upgrade" in line]
    assert "security updates" in line


def test_a_plan_without_a_build_is_told_by_its_summary() -> None:
    assert list(list_outside_changes(_plan(InstallGuard(reason="")))) == ["renew the start-up guard"]
