import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from support.values.builders import (
    changed,
    conda_receipt,
    conda_stack,
    empty_facts,
    environment,
    healthy_facts,
    levelled_facts,
    minimal_facts,
    receipt,
    stock_facts,
)

from fastinstall.cli.console import Page
from fastinstall.cli.text.facts_page import facts_text
from fastinstall.cli.text.reports import error_text, list_stack, render_speed_table, report_text
from fastinstall.cli.text.setup_page import outcome_text
from fastinstall.cli.text.short_documents import plan_text
from fastinstall.core.errors import RefusedError
from fastinstall.model.artefact import Artefact
from fastinstall.model.conda import CondaInstaller
from fastinstall.model.facts import Facts
from fastinstall.model.finding import EnvironmentReport, Finding, Remedy, Status
from fastinstall.model.request import LinkMode, PlanRisk, Request, Risk
from fastinstall.model.speed import SpeedRow, SpeedTable
from fastinstall.model.wheel_order import LevelTarget
from fastinstall.plan.plan import Plan, Skipped
from fastinstall.steps.build import Build
from fastinstall.steps.install_guard import InstallGuard
from fastinstall.steps.make_conda_packages import MakeCondaPackages
from fastinstall.steps.pin_for_pip import PinForPip
from fastinstall.steps.prove import Prove
from fastinstall.steps.swap import Swap
from fastinstall.steps.system_packages import SystemPackages
from fastinstall.steps.verify import Verify

ADVISORIES = tuple(f"CVE-2026-{number} (high): something is read out of bounds." for number in range(1000, 1020))
WIDE = Page()
FULL = Page(verbose=True)
NARROW = Page(width=80)


def _plan() -> Plan:
    return Plan(
        environment=environment(),
        facts_digest="0",
        request=Request(),
        steps=(
            SystemPackages(manager="apt", packages=("libtiff-dev", "libopenjp2-7-dev"), reason="missing: headers"),
            InstallGuard(reason="to notice when another tool replaces it"),
            Verify(checks=("pillow-importable", "swapped"), reason="an error undoes the swap"),
        ),
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
        without=("blur", "filter"),
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


def test_a_plan_tells_every_step_and_every_skip_with_its_reason() -> None:
    text = plan_text(_plan(), FULL)
    assert "  1. install system packages by apt: libtiff-dev libopenjp2-7-dev\n     missing: headers\n" in text
    assert "  3. check: pillow-importable, swapped\n     an error undoes the swap\n" in text
    assert "  -  not needed: create-environment (it exists)\n" in text


def test_a_build_tells_what_is_linked_in_and_left_out_and_how_each_level_is_compiled() -> None:
    text = plan_text(replace(_plan(), steps=(_build(),)), FULL)
    assert text.splitlines()[1:] == [
        "  1. compile it for x86-64-v2 and x86-64-v3",
        "     from pillow-13.0.0.tar.gz",
        "     without the kernels blur and filter",
        "     linked in: zlib-ng 1.1.0 for zlib",
        "     x86-64-v2: CFLAGS='-O3 -march=x86-64-v2'",
        "     x86-64-v3: CFLAGS='-O3 -march=x86-64-v3'",
        "     the newest",
        *plan_text(replace(_plan(), steps=()), FULL).splitlines()[1:],
    ]


def test_a_wheel_that_is_taken_as_it_is_tells_its_name_alone() -> None:
    step = replace(_build(), source=None, statics={}, prebuilt=_artefact("pillow", "13.0.0"))
    lines = plan_text(replace(_plan(), steps=(step,)), FULL).splitlines()
    assert lines[1:4] == ["  1. take its wheel as it is", "     pillow-13.0.0.tar.gz", "     the newest"]


def test_a_wheel_of_the_cache_is_told_as_such() -> None:
    text = plan_text(replace(_plan(), steps=(replace(_build(), cached="5d" * 32),)), FULL)
    assert "  1. take it from the cache, compiled for x86-64-v2 and x86-64-v3\n     from pillow-13.0.0" in text


def test_unless_more_is_asked_for_a_plan_is_a_few_lines_without_flags_and_file_names() -> None:
    prove = Prove(reference=_artefact("pillow", "13.0.0"), reason="r")
    swap = Swap(
        removes=("pillow-12.0.0.dist-info",), entries=(), installs="pillow-13.0.0+simd.v2.v3.dist-info", reason="r"
    )
    plan = replace(_plan(), steps=(_build(), prove, swap, *_plan().steps[1:]), risks=(), warnings=())
    assert plan_text(plan, WIDE, ("2.9 times as fast", "takes about 60 s")).splitlines() == [
        "Set up pillow 13.0.0+simd.v2.v3 in /srv/images/env",
        "  compile it for x86-64-v2 and x86-64-v3",
        "  compare its pixels with the official wheel's, and measure its speed",
        "  replace pillow 12.0.0 with pillow 13.0.0+simd.v2.v3",
        "  add a start-up hook that warns when another tool replaces it",
        "Expected: 2.9 times as fast; takes about 60 s",
    ]


@pytest.mark.parametrize("page", [WIDE, FULL], ids=["few-lines", "verbose"])
def test_a_plan_with_the_guard_package_says_what_brings_security_updates_then(page: Page) -> None:
    told = plan_text(replace(_plan(), steps=(_build(), _packages())), page).splitlines()
    (line,) = [line for line in told if "`fastinstall setup --upgrade`" in line]
    assert "conda" in line
    assert "security updates" in line
    declined = replace(_packages(), guard=None)
    assert "setup --upgrade" not in plan_text(replace(_plan(), steps=(_build(), declined)), page)


def _packages() -> MakeCondaPackages:
    stack = conda_stack()
    return MakeCondaPackages(
        engine=CondaInstaller.CONDA, package=stack.package, guard=stack.guard, channel=stack.channel, reason="r"
    )


def test_a_plan_says_why_it_is_not_the_newest_version() -> None:
    build = replace(_build(), reason="12.3.0 is the newest that fits; not 13.0.0: it needs Python >=3.11")
    told = plan_text(replace(_plan(), steps=(build,)), WIDE)
    assert "\n  not 13.0.0: it needs Python >=3.11\n" in told


def test_what_costs_something_is_told_with_its_reason() -> None:
    assert "  install system packages by apt: libtiff-dev libopenjp2-7-dev (missing: headers)\n" in plan_text(
        _plan(), WIDE
    )


def test_a_risk_names_what_allows_it_and_shows_the_first_of_its_items() -> None:
    text = plan_text(_plan(), WIDE)
    assert "risk downgrade (needs --allow downgrade): 20 known advisories come back (20 high)\n" in text
    assert "CVE-2026-1005" in text
    assert "CVE-2026-1006" not in text
    assert "... and 14 more: --verbose or --json\n" in text
    assert "CVE-2026-1019" in plan_text(_plan(), Page(verbose=True))


@pytest.mark.parametrize("width", [60, 80, 100])
def test_nothing_is_wider_than_the_terminal_but_what_must_stay_whole(width: int) -> None:
    page = Page(width=width)
    for text in (plan_text(_plan(), page), report_text(_report(), page), facts_text(healthy_facts(), page)):
        wide = [line for line in text.splitlines() if len(line) > width]
        assert all(_is_one_word(line) or line.strip().startswith("fastinstall ") for line in wide), wide


def _is_one_word(line: str) -> bool:
    """It is a path that stays whole, perhaps behind the name of its row."""
    return len(line[14:].split()) == 1


def test_a_report_tells_what_is_wrong_and_ends_with_the_command_that_repairs_it() -> None:
    report, wrong = _report(), _report().findings[1]
    assert report_text(report, WIDE, ("not shown",)).splitlines() == [
        f"  error    swapped  {wrong.message}",
        "           hint: put it back",
        "1 error (1 check passed). Fix it: fastinstall doctor --fix --prefix /srv/images/env",
    ]
    hint, warning = Finding(check="a", status=Status.HINT, message="m"), replace(wrong, status=Status.WARNING)
    both, some = (replace(report, findings=found) for found in ((warning, wrong), (warning, hint, wrong)))
    assert "1 error, 1 warning (0 checks passed). Fix both: fastinstall doctor --fix" in report_text(both, WIDE, ())
    assert "1 error, 1 warning, 1 hint (0 checks passed). Fix 2 of them: fastinst" in report_text(some, WIDE, ())


def test_where_checks_are_named_each_has_its_line() -> None:
    assert "  ok       cpu-level  this CPU offers x86-64-v3" in report_text(_report(), WIDE).splitlines()


def test_a_healthy_report_has_three_lines() -> None:
    report = replace(_report(), status=Status.OK, findings=_report().findings[:1])
    lines = report_text(report, WIDE, list_stack(levelled_facts())).splitlines()
    assert len(lines) == 3
    assert lines[0].endswith(" in /srv/images/env")
    assert lines[1].startswith("code for x86-64-v3 (AVX2) on ")
    assert "libjpeg-turbo 3." in lines[1]
    assert lines[2] == "1 check passed"


def test_with_verbose_a_report_gives_one_line_to_what_is_well_and_details_to_what_is_not() -> None:
    lines = report_text(_report(), FULL).splitlines()
    assert lines[0] == "/srv/images/env (venv)"
    assert lines[1] == "  ok       cpu-level  this CPU offers x86-64-v3"
    assert lines[2].startswith("  error    swapped    pillow 13.0.0 has taken the place")
    assert lines[3] == "           expected one; observed another"
    assert "           CVE-2026-1019 (high): something is read out of bounds." in lines
    assert lines[-3:] == [
        "           hint: put it back",
        "                 fastinstall doctor --fix --prefix /srv/images/env",
        "1 error (1 check passed). Fix it: fastinstall doctor --fix --prefix /srv/images/env",
    ]


def test_a_long_message_hangs_below_its_own_column() -> None:
    lines = report_text(_report(), NARROW, ()).splitlines()
    assert lines[1].startswith(" " * lines[0].index("pillow 13.0.0") + "and pip has")


def test_a_report_says_the_same_without_colour() -> None:
    painted = report_text(_report(), Page(colour=True))
    assert "\x1b[31m" in painted
    assert re.sub(r"\x1b\[\d+m", "", painted) == report_text(_report(), WIDE)


def test_a_plan_and_an_error_say_the_same_without_colour() -> None:
    error = RefusedError("it is frozen", hint="clone it", details=("a", "b"))
    for painted, plain in (
        (plan_text(_plan(), Page(colour=True)), plan_text(_plan(), WIDE)),
        (error_text(error, Page(colour=True)), error_text(error, WIDE)),
    ):
        assert "\x1b[" in painted
        assert re.sub(r"\x1b\[\d+m", "", painted) == plain


def test_an_error_tells_what_the_details_and_the_hint() -> None:
    error = RefusedError("the lock is held", hint="wait", details=("by 4711",))
    assert error_text(error, WIDE) == "error: the lock is held\n  by 4711\n  hint: wait\n"


def test_the_details_of_an_error_are_never_cut_because_the_end_of_a_log_matters() -> None:
    details = tuple(f"line {number}" for number in range(40))
    assert "line 39" in error_text(RefusedError("it does not compile", details=details), NARROW)


def test_a_speed_table_marks_what_is_slower_and_aligns_its_columns() -> None:
    table = SpeedTable(
        baseline="pillow 13.0.0 (wheel)",
        candidate="pillow 12.1.1+simd.v3",
        cpu="AMD EPYC",
        measured_at="2026-11-21T10:00:00+00:00",
        geomean=2.5,
        rows=(
            SpeedRow(operation="resize lanczos", before_ms=20.0, after_ms=2.0),
            SpeedRow(operation="chops add", before_ms=1.0, after_ms=2.0),
            SpeedRow(operation="within the noise", before_ms=0.96, after_ms=1.0),
            SpeedRow(operation="immeasurable", before_ms=1.0, after_ms=0.0),
        ),
    )
    head, occasion, titles, *rows = render_speed_table(table, WIDE).splitlines()
    assert head == "before: pillow 13.0.0 (wheel); after: pillow 12.1.1+simd.v3"
    assert occasion == "measured 2026-11-21 10:00 UTC, on AMD EPYC"
    assert rows[0].endswith("  10.00x")
    assert [row.partition("  ")[0] for row in rows if row.endswith("slower")] == ["chops add"]
    assert len({row.index("x", 31) for row in rows}) == 1
    assert titles.index("faster") + len("faster") == rows[0].index("x", 31) + 1
    narrow = render_speed_table(table, Page(width=40))
    assert {"20.00", "2.00", "10.00x", "2.50x"} <= set(narrow.split()), "no figure is broken"
    assert rows[-1].startswith("geometric mean")


def test_a_speed_table_that_was_measured_earlier_says_when_and_where() -> None:
    table = SpeedTable(
        baseline="pillow 13.0.0 (wheel)",
        candidate="pillow 12.1.1+simd.v3",
        cpu="AMD EPYC",
        measured_at="2026-11-21T10:03:20+00:00",
        geomean=2.5,
        rows=(SpeedRow(operation="resize lanczos", before_ms=20.0, after_ms=2.0),),
        python="3.11.2",
        prefix="/srv/first",
        reused=True,
    )
    assert render_speed_table(table, WIDE).splitlines()[1] == (
        "of an earlier setup of the same two builds: measured 2026-11-21 10:03 UTC with Python 3.11.2 for /srv/first, "
        "on AMD EPYC"
    )
    older = replace(table, python="", prefix="")
    assert "measured 2026-11-21 10:03 UTC, on AMD EPYC" in render_speed_table(older, WIDE)
    assert "earlier" not in render_speed_table(replace(table, reused=False), WIDE)


def test_a_setup_ends_with_the_gain_what_is_slower_the_guard_and_the_way_back() -> None:
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
    plan = replace(_plan(), steps=(_build(),))
    assert outcome_text(plan, done, replace(_report(), findings=_report().findings[:1]), WIDE).splitlines() == [
        "pillow 12.1.1+simd.v3 is in place in /srv/images/env; 1 check passed",
        "2.5 times as fast as pillow 13.0.0 (wheel), mean of 4 operations",
        "    2.0x  decode, resize and crop a 1080p photo",
        "slower: chops add (0.50x)",
        "guarded: a start-up hook warns when another tool replaces it",
        "undo: fastinstall rollback --prefix /srv/images/env",
    ]
    told = outcome_text(_plan(), done, _report(), WIDE)
    assert told.startswith("done: pillow 12.1.1+simd.v3 from pillow-simd"), "nothing was built"
    assert "error    swapped  pillow 13.0.0 has taken" in told


@pytest.mark.parametrize(("guarded", "word"), [(True, "`fastinstall setup --upgrade`"), (False, "start-up hook")])
def test_a_setup_in_a_conda_environment_ends_with_what_keeps_it_and_what_updates_it(
    guarded: bool,  # noqa: FBT001 (a case)
    word: str,
) -> None:
    done, stack = conda_receipt(), conda_stack()
    done = replace(done, conda=stack if guarded else replace(stack, guard=None))
    (line,) = [line for line in outcome_text(_plan(), done, None, WIDE).splitlines() if line.startswith("guarded: ")]
    assert word in line
    assert ("conda" in line) is guarded


def test_a_setup_with_a_pin_ends_with_what_uv_needs_to_obey_it() -> None:
    pin = PinForPip(file="pip.conf", directory="share/fastinstall/pin", requirement="pillow==13", text="", reason="r")
    told = outcome_text(replace(_plan(), steps=(_build(), pin)), receipt(), None, WIDE)
    assert ". /srv/images/env/share/fastinstall/pin/environment.sh\n" in told
    assert "environment.sh" not in outcome_text(_plan(), receipt(), None, WIDE)


@pytest.mark.parametrize("facts", [healthy_facts, levelled_facts, stock_facts, empty_facts, minimal_facts])
def test_facts_of_every_kind_of_environment_can_be_told(facts: Callable[[], Facts]) -> None:
    text = facts_text(facts(), NARROW)
    for row in ("environment", "python", "cpu", "level", "PIL", "guard"):
        assert re.search(rf"^{row} ", text, re.MULTILINE)


def test_the_copies_of_a_core_are_told_with_what_is_wrong_with_them() -> None:
    changes = {"stack": {"core": {"levels": {"0": {"problem": "it is missing"}}}}, "cpu": {"tunables": "glibc.cpu.x"}}
    rows = [" ".join(line.split()) for line in facts_text(changed(levelled_facts(), changes), FULL).splitlines()]
    assert any(row.startswith("core for x86-64-v2 as baseline: it is missing, /srv/") for row in rows)
    assert any(row.startswith("core for x86-64-v3: loaded here, 3 SIMD symbols, /srv/") for row in rows)
    assert any(row.startswith("running core /srv/") and "x86-64-v3" in row for row in rows)
    assert "level x86-64-v3 (by ld.so, with glibc.cpu.x)" in rows


def test_what_binaries_are_and_ask_for_is_told() -> None:
    making = {"compilers": ["GCC: 12.2.0"], "glibc": "2.14", "stripped": True, "package": {"name": "pillow"}}
    rows = [" ".join(line.split()) for line in facts_text(_with_making(making), FULL).splitlines()]
    assert {"compiled by GCC: 12.2.0", "packaged as name pillow"} <= set(rows)
    assert "loads with glibc 2.14 or later, stripped of names" in rows
    assert any(row.startswith("jpeg libjpeg-turbo 3.") for row in rows)
    assert any(row.startswith("zlib ") for row in rows)
    assert any(row.startswith("CPU needed ") and "avx2" in row for row in rows)


def _with_making(making: dict[str, Any]) -> Facts:
    return changed(healthy_facts(), {"stack": {"core": {"making": making}}})
