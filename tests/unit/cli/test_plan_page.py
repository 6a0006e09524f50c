"""A plan as text: short by default, with every step and reason on request."""

import re
from dataclasses import replace

import pytest
from support.suite.golden import Golden
from support.values.builders import conda_stack, environment, healthy_facts
from support.values.plans import parts_of

from fastinstall.cli.console import Page
from fastinstall.cli.text.facts_page import facts_text
from fastinstall.cli.text.plan_page import plan_text
from fastinstall.cli.text.reports import error_text, report_text
from fastinstall.core.errors import RefusedError
from fastinstall.model.artefact import Artefact, LevelTarget
from fastinstall.model.conda import CondaInstaller
from fastinstall.model.finding import EnvironmentReport, Finding, Remedy, Status
from fastinstall.model.request import LinkMode, PlanRisk, Request, Risk
from fastinstall.setup.plan import Plan, Skipped
from fastinstall.setup.steps.build import Build
from fastinstall.setup.steps.conda_packages import MakeCondaPackages
from fastinstall.setup.steps.prepare import SystemPackages
from fastinstall.setup.steps.prove import Prove, Verify
from fastinstall.setup.steps.swap import InstallGuard, Swap

ADVISORIES = tuple(f"CVE-2026-{number} (high): something is read out of bounds." for number in range(1000, 1020))
WIDE = Page()
FULL = Page(verbose=True)


def _plan() -> Plan:
    return Plan(
        environment=environment(),
        facts_digest="0",
        request=Request(),
        prepare=(
            SystemPackages(manager="apt", packages=("libtiff-dev", "libopenjp2-7-dev"), reason="missing: headers"),
        ),
        guard=InstallGuard(reason="to notice when another tool replaces it"),
        verify=Verify(checks=("pillow-importable", "swapped"), reason="an error undoes the swap"),
        skipped=(Skipped(step="create-environment", reason="it exists"),),
        risks=(PlanRisk(risk=Risk.DOWNGRADE, summary="20 known advisories come back (20 high)", items=ADVISORIES),),
        warnings=("pillow-simd 12.1.1.post0 has 20 known advisories: fastinstall recipes show pillow-simd",),
        summary="pillow 12.1.1+simd.v3 from pillow-simd 12.1.1.post0 for x86-64-v3 into /srv/images/env",
    )


def _artefact(name: str, version: str) -> Artefact:
    return Artefact(name=name, version=version, filename=f"{name}-{version}.tar.gz", url="", sha256="")


def _build() -> Build:
    levels = ("x86-64-v2", "x86-64-v3")
    return Build(
        recipe="pillow-fast",
        source=_artefact("pillow", "13.0.0"),
        left_out=("blur", "filter"),
        statics={"zlib": _artefact("zlib-ng", "1.1.0")},
        base_wheel=None,
        distribution="pillow",
        version="13.0.0+simd.v2.v3",
        targets=tuple(LevelTarget(level=level, cflags=("-O3", f"-march={level}"), ldflags=()) for level in levels),
        link=LinkMode.BUNDLE,
        libraries=("zlib",),
        jobs=2,
        reason="the newest",
    )


def _report() -> EnvironmentReport:
    return EnvironmentReport(
        environment=environment(),
        status=Status.ERROR,
        findings=(
            Finding(check="cpu-level", status=Status.OK, message="this CPU offers x86-64-v3", evidence=("not shown",)),
            Finding(
                check="swapped",
                status=Status.ERROR,
                message="pillow 13.0.0 has taken the place of pillow 12.1.1+simd.v3, and pip has put it there today",
                evidence=ADVISORIES,
                expected="one",
                observed="another",
                remedy=Remedy(text="put it back", command="fastinstall doctor --fix --prefix /srv/images/env"),
            ),
        ),
    )


def test_a_plan_tells_every_step_and_every_skip_with_its_reason(golden: Golden) -> None:
    text = plan_text(_plan(), FULL)
    reasons = [*(step.reason for step in _plan().steps), *(skip.reason for skip in _plan().skipped)]
    assert all(reason in text for reason in reasons)
    golden(text)


def test_a_build_shows_linked_and_omitted_parts_and_level_flags(golden: Golden) -> None:
    text = plan_text(replace(_plan(), **parts_of(_build()), risks=(), warnings=()), FULL)
    for level in ("x86-64-v2", "x86-64-v3"):
        assert f"     {level}: CFLAGS='-O3 -march={level}'" in text.splitlines()
    golden(text)


@pytest.mark.parametrize(("verb", "head"), [("setup", "Set up "), ("doctor --fix", "Put ")])
def test_a_setup_sets_up_and_a_repair_says_what_it_puts_back(verb: str, head: str) -> None:
    summary = "Put pillow 13.0.0+simd.v2.v3 back in /srv/images/env, from the cache for x86-64-v3"
    assert plan_text(replace(_plan(), **parts_of(_build()), summary=summary, verb=verb), WIDE).startswith(head)


def test_a_wheel_that_is_taken_as_it_is_tells_its_name_alone(golden: Golden) -> None:
    step = replace(_build(), source=None, statics={}, prebuilt=_artefact("pillow", "13.0.0"))
    golden(plan_text(replace(_plan(), **parts_of(step), risks=(), warnings=()), FULL))


def test_a_wheel_of_the_cache_is_told_as_such() -> None:
    _, step, source, *_ = plan_text(
        replace(_plan(), **parts_of(replace(_build(), cached="5d" * 32))), FULL
    ).splitlines()
    assert "from the cache" in step
    assert "x86-64-v2 and x86-64-v3" in step
    assert source.endswith("pillow-13.0.0.tar.gz")


def test_a_brief_plan_is_a_few_lines_without_flags_or_file_names(golden: Golden) -> None:
    prove = Prove(reference=_artefact("pillow", "13.0.0"), reason="r")
    swap = Swap(
        removes=("pillow-12.0.0.dist-info",), entries=(), installs="pillow-13.0.0+simd.v2.v3.dist-info", reason="r"
    )
    plan = replace(_plan(), **parts_of(_build(), prove, swap, *_plan().steps[1:]), risks=(), warnings=())
    golden(plan_text(plan, WIDE, ("2.9 times as fast", "takes about 60 s")))


@pytest.mark.parametrize("page", [WIDE, FULL], ids=["few-lines", "verbose"])
def test_a_plan_with_the_guard_package_explains_security_updates(page: Page) -> None:
    told = plan_text(replace(_plan(), **parts_of(_build(), _packages())), page).splitlines()
    (line,) = [line for line in told if "`fastinstall setup --upgrade`" in line]
    assert "conda" in line
    assert "security updates" in line
    declined = replace(_packages(), guard=None)
    assert "setup --upgrade" not in plan_text(replace(_plan(), **parts_of(_build(), declined)), page)


def _packages() -> MakeCondaPackages:
    stack = conda_stack()
    return MakeCondaPackages(
        engine=CondaInstaller.CONDA, package=stack.package, guard=stack.guard, channel=stack.channel, reason="r"
    )


def test_a_plan_says_why_it_is_not_the_newest_version() -> None:
    why = "not 13.0.0: it needs Python >=3.11"
    build = replace(_build(), reason=f"12.3.0 is the newest that fits; {why}")
    assert f"  {why}" in plan_text(replace(_plan(), **parts_of(build)), WIDE).splitlines()


def test_what_costs_something_is_told_with_its_reason() -> None:
    (step,) = [line for line in plan_text(_plan(), WIDE).splitlines() if "libtiff-dev libopenjp2-7-dev" in line]
    assert step.endswith(f"({_plan().steps[0].reason})")


def test_a_risk_names_what_allows_it_and_shows_its_first_items() -> None:
    text = plan_text(_plan(), WIDE)
    (risk,) = [line for line in text.splitlines() if line.endswith(_plan().risks[0].summary)]
    assert "--allow downgrade" in risk
    assert "CVE-2026-1005" in text
    assert "CVE-2026-1006" not in text
    assert "14 more" in text
    assert "CVE-2026-1019" in plan_text(_plan(), Page(verbose=True))


@pytest.mark.parametrize("width", [60, 80, 100])
def test_only_unbreakable_text_is_wider_than_the_terminal(width: int) -> None:
    page = Page(width=width)
    for text in (plan_text(_plan(), page), report_text(_report(), page), facts_text(healthy_facts(), page)):
        wide = [line for line in text.splitlines() if len(line) > width]
        assert all(_is_one_word(line) or line.strip().startswith("fastinstall ") for line in wide), wide


def _is_one_word(line: str) -> bool:
    """Return True if the line's value is a single word, such as a path, which is never broken."""
    return len(line[14:].split()) == 1


def test_a_plan_and_an_error_say_the_same_without_colour() -> None:
    error = RefusedError("it is frozen", hint="clone it", details=("a", "b"))
    for painted, plain in (
        (plan_text(_plan(), Page(colour=True)), plan_text(_plan(), WIDE)),
        (error_text(error, Page(colour=True)), error_text(error, WIDE)),
    ):
        assert "\x1b[" in painted
        assert re.sub(r"\x1b\[\d+m", "", painted) == plain
