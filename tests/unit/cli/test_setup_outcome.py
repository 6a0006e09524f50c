"""The last message of a setup."""

from dataclasses import replace

import pytest
from support.suite.golden import Golden
from support.values.builders import conda_receipt, conda_stack, environment, receipt
from support.values.plans import parts_of

from fastinstall.cli.commands.setup import outcome_text
from fastinstall.cli.console import Page
from fastinstall.model.artefact import Artefact, LevelTarget
from fastinstall.model.finding import EnvironmentReport, Finding, Remedy, Status
from fastinstall.model.request import LinkMode, PlanRisk, Request, Risk
from fastinstall.model.speed import SpeedRow, SpeedTable
from fastinstall.setup.plan import Plan, Skipped
from fastinstall.setup.steps.build import Build
from fastinstall.setup.steps.pin import PinForPip
from fastinstall.setup.steps.prepare import SystemPackages
from fastinstall.setup.steps.prove import Verify
from fastinstall.setup.steps.swap import InstallGuard

ADVISORIES = tuple(f"CVE-2026-{number} (high): something is read out of bounds." for number in range(1000, 1020))
WIDE = Page()


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


def test_a_setup_ends_with_gain_slowdowns_guard_and_undo_command(golden: Golden) -> None:
    row = SpeedRow(operation="chops add", before_ms=1.0, after_ms=2.0)
    table = SpeedTable(
        baseline="pillow 13.0.0 (wheel)",
        candidate="pillow 12.1.1+simd.v3",
        cpu="AMD EPYC",
        measured_at="2026-11-21T10:00:00+00:00",
        geomean=2.5,
        rows=(
            SpeedRow(operation="decode-256-224 1080p", before_ms=20.0, after_ms=10.0),
            SpeedRow(operation="gaussian r5", before_ms=20.0, after_ms=10.0),
            row,
            replace(row, operation="once slower, once faster", low=0.5, high=1.1),
        ),
    )
    done = replace(receipt(), distribution="pillow", version="12.1.1+simd.v3", speed=table)
    plan = replace(_plan(), **parts_of(_build()))
    well = replace(_report(), findings=_report().findings[:1])
    golden(outcome_text(plan, done, well, WIDE))
    told = outcome_text(_plan(), done, _report(), WIDE)
    assert told.startswith("done: pillow 12.1.1+simd.v3 from pillow-simd"), "nothing was built"
    assert ["error", "swapped"] in [line.split()[:2] for line in told.splitlines()]


def test_the_gain_and_the_undo_command_come_before_warnings() -> None:
    row = SpeedRow(operation="resize 1080p-256 RGB bilinear", before_ms=9.0, after_ms=1.0)
    table = SpeedTable(
        baseline="pillow 13.0.0 (wheel)", candidate="p", cpu="c", measured_at="2026-11-29", geomean=9.0, rows=(row,)
    )
    done = replace(receipt(), speed=table)
    lines = outcome_text(replace(_plan(), **parts_of(_build())), done, _report(), WIDE).splitlines()
    gained, undone, warned = (
        next(number for number, line in enumerate(lines) if word in line)
        for word in ("times as fast", "undo: ", "has taken the place")
    )
    assert gained < undone < warned


@pytest.mark.parametrize("width", [44, 60, 80])
def test_only_a_command_of_the_outcome_is_wider_than_a_terminal(width: int) -> None:
    rows = tuple(
        SpeedRow(operation=name, before_ms=9.0, after_ms=1.0, low=8.0, high=10.0)
        for name in ("decode-256-224 500 px", "decode-256-224 1080p", "resize 1080p-256 RGB bilinear")
    )
    table = SpeedTable(
        baseline="pillow 13.0.0 (wheel)", candidate="p", cpu="c", measured_at="2026-11-29", geomean=9.0, rows=rows
    )
    plan = replace(_plan(), **parts_of(_build()))
    told = outcome_text(plan, replace(receipt(), speed=table), None, Page(width=width))
    wide = [line for line in told.splitlines() if len(line) > width]
    assert [line.partition(":")[0] for line in wide] in ([], ["undo"])


@pytest.mark.parametrize(("guarded", "word"), [(True, "`fastinstall setup --upgrade`"), (False, "start-up hook")])
def test_a_conda_setup_ends_with_what_keeps_and_what_updates_it(
    guarded: bool,  # noqa: FBT001 (a case)
    word: str,
) -> None:
    done, stack = conda_receipt(), conda_stack()
    done = replace(done, conda=stack if guarded else replace(stack, guard=None))
    (line,) = [line for line in outcome_text(_plan(), done, None, WIDE).splitlines() if line.startswith("guarded: ")]
    assert word in line
    assert ("conda" in line) is guarded


def test_the_wizard_ends_with_the_same_run_as_flags() -> None:
    same = "fastinstall setup --yes --prefix /srv/images/env --level x86-64-v3"
    lines = outcome_text(_plan(), receipt(), None, Page(width=40), same=same).splitlines()
    assert lines[-2:] == ["the same without questions:", f"  {same}"]


def test_a_setup_with_a_pin_ends_with_what_uv_needs_to_obey_it() -> None:
    pin = PinForPip(file="pip.conf", directory="share/fastinstall/pin", requirement="pillow==13", text="", reason="r")
    told = outcome_text(replace(_plan(), **parts_of(_build(), pin)), receipt(), None, WIDE)
    assert ". /srv/images/env/share/fastinstall/pin/environment.sh\n" in told
    assert "environment.sh" not in outcome_text(_plan(), receipt(), None, WIDE)
