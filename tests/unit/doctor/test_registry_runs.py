"""Running checks: choosing them, surviving their crashes, summarising them, at little cost."""

import sys
from collections.abc import Iterator
from datetime import date
from types import ModuleType

import pytest
from support.values.builders import healthy_facts, receipt, recipe

from fastinstall.core.errors import ExitCode, UsageError
from fastinstall.doctor.check_context import CheckContext
from fastinstall.doctor.registry import check_names, needs_runtime, report, run_checks
from fastinstall.model.finding import Finding, Status


def context() -> CheckContext:
    return CheckContext(
        facts=healthy_facts(), receipt=receipt(), recipe=recipe(), today=date(2026, 11, 22), tool_version="0.1.0"
    )


def finding(status: Status) -> Finding:
    return Finding(check="swapped", status=status, message="something")


@pytest.fixture
def crashing_check(monkeypatch: pytest.MonkeyPatch) -> str:
    """Replace the check `guards` by one that reports one finding and crashes; return its name."""
    module = ModuleType("fastinstall.doctor.checks.guards")

    def check(_context: CheckContext) -> Iterator[Finding]:
        yield Finding.hint("said before the crash")
        raise ZeroDivisionError("no files")

    vars(module).update(check=check)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return "guards"


def test_checks_run_in_the_order_of_reports_each_once() -> None:
    asked = ("swapped", "environment", "swapped", "cpu-level")
    assert [found.check for found in run_checks(context(), asked)] == ["environment", "cpu-level", "swapped"]


def test_an_unknown_check_is_a_usage_error_with_what_was_meant() -> None:
    with pytest.raises(UsageError, match="there is no check 'swaped'") as caught:
        run_checks(context(), ("swaped",))
    assert caught.value.exit_code == ExitCode.USAGE
    assert caught.value.hint is not None
    assert "`fastinstall doctor swapped`" in caught.value.hint
    assert all(name in caught.value.hint for name in check_names())


def test_a_name_like_no_other_gets_the_list_alone() -> None:
    with pytest.raises(UsageError) as caught:
        check_names(("zzz",))
    assert (caught.value.hint or "").startswith("the checks are: environment, conda-records")


def test_what_checks_share_is_no_check() -> None:
    with pytest.raises(UsageError):
        check_names(("-voice",))


def test_a_crash_becomes_a_finding_and_the_others_still_speak(crashing_check: str) -> None:
    findings = run_checks(context())
    said = [found for found in findings if found.check == crashing_check]
    assert [found.status for found in said] == [Status.HINT, Status.CRASHED]
    assert said[1].message.endswith(": ZeroDivisionError: no files")
    assert said[1].evidence == ("fastinstall 0.1.0",)
    assert said[1].remedy is not None
    assert said[1].remedy.command == "fastinstall inspect --redact --prefix /srv/images/env"
    assert findings[-1].check == check_names()[-1]


def test_a_crash_weighs_as_an_error(crashing_check: str) -> None:
    findings = run_checks(context(), (crashing_check,))
    assert report(healthy_facts(), findings).status is Status.CRASHED
    assert report(healthy_facts(), (*findings, finding(Status.ERROR))).status is Status.ERROR


@pytest.mark.parametrize(
    ("statuses", "gravest"),
    [
        ((), Status.OK),
        ((Status.OK, Status.SKIPPED), Status.OK),
        ((Status.SKIPPED, Status.OK), Status.OK),
        ((Status.OK, Status.HINT, Status.SKIPPED), Status.HINT),
        ((Status.HINT, Status.UNKNOWN), Status.UNKNOWN),
        ((Status.UNKNOWN, Status.WARNING), Status.WARNING),
        ((Status.ERROR, Status.WARNING, Status.OK), Status.ERROR),
    ],
)
def test_a_report_is_as_grave_as_its_gravest_finding(statuses: tuple[Status, ...], gravest: Status) -> None:
    summed = report(healthy_facts(), map(finding, statuses))
    assert summed.status is gravest
    assert tuple(found.status for found in summed.findings) == statuses


def test_only_some_checks_need_the_target_to_be_executed() -> None:
    assert needs_runtime()
    assert needs_runtime(("swapped", "operations"))
    assert not needs_runtime(("swapped", "pillow-owner", "guards"))


def test_only_the_checks_asked_for_are_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    modules = {name: f"fastinstall.doctor.checks.{name.replace('-', '_')}" for name in check_names()}
    for module in modules.values():
        monkeypatch.delitem(sys.modules, module, raising=False)
    run_checks(context(), ("interrupted",))
    assert [name for name, module in modules.items() if module in sys.modules] == ["interrupted"]
