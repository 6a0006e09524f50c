"""Checks of other distributions: found by entry points, in their order, and never the end of doctor."""

import sys
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest
from support.elf.extension_package import LICENCES, make_check
from support.suite.golden import Golden
from support.values.builders import healthy_facts, receipt, recipe

from fastinstall.core.errors import UsageError
from fastinstall.doctor import registry
from fastinstall.doctor.check_context import CheckContext
from fastinstall.doctor.registry import (
    check_names,
    foreign_verifying_checks,
    ignored_findings,
    load_check,
    needs_runtime,
    run_checks,
)
from fastinstall.model.finding import Finding, Status


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A directory on the path; what is imported from there is forgotten."""
    monkeypatch.syspath_prepend(tmp_path)
    registry._load_foreign_check.cache_clear()
    yield tmp_path
    for name in [name for name in sys.modules if name.startswith(("acme_", "zeta_"))]:
        del sys.modules[name]


def ran(*names: str) -> tuple[Finding, ...]:
    context = CheckContext(
        facts=healthy_facts(), receipt=receipt(), recipe=recipe(), today=date(2026, 11, 22), tool_version="0.1.0"
    )
    return run_checks(context, names)


def test_a_check_of_another_distribution_runs_behind_ours(site: Path) -> None:
    make_check(site)
    assert check_names(foreign=True) == (*check_names(), "licences")
    (found,) = ran("licences")
    assert (found.check, found.status) == ("licences", Status.HINT)
    assert str(healthy_facts().environment.prefix) in found.message
    summary = load_check("licences").SUMMARY
    assert summary.lower() in LICENCES.splitlines()[0].lower()
    assert summary[0].isupper()


def test_it_may_stand_between_ours(site: Path) -> None:
    make_check(site, LICENCES.replace("ORDER = 500", "ORDER = 15"))
    assert check_names(foreign=True)[:3] == ("environment", "licences", "conda-records")


def test_it_runs_only_where_it_is_named_unless_all_are_asked_for_with_the_others(site: Path) -> None:
    make_check(site)
    assert "licences" not in check_names()
    assert check_names(("swapped", "licences")) == ("swapped", "licences")


def test_setup_is_verified_by_it_if_it_says_so(site: Path) -> None:
    make_check(site)
    assert foreign_verifying_checks() == ("licences",)


def test_what_it_does_not_declare_is_left_out(site: Path) -> None:
    bare = "from fastinstall.model.finding import Finding, Status\n\n\ndef check(context):\n    return ()\n"
    make_check(site, bare)
    module = load_check("licences")
    assert module.SUMMARY == "A check of acme-checks 1.0."
    assert not any((module.NEEDS_RUNTIME, module.VERIFIES_SETUP, module.SETUP_REPAIRS))
    assert check_names(foreign=True)[-1] == "licences"
    assert not needs_runtime(("licences",))
    assert ran("licences") == ()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            "import nowhere_to_be_found\n",
            "licences cannot be imported: ModuleNotFoundError: No module named 'nowhere_to_be_found'",
        ),
        ("raise SystemExit(3)\n", "ImportError: acme_checks_licences cannot be imported: SystemExit: 3"),
        ("VALUE = 1\n", "AttributeError: module 'acme_checks_licences' has no attribute 'check'"),
        ("def check(context):\n    return context.luck\n", "'CheckContext' object has no attribute 'luck'"),
        ("def check(context):\n    return None\n", "TypeError: 'NoneType' object is not iterable"),
        ("def check(context):\n    yield 'all is well'\n", "it returned 'all is well', not a finding of 'licences'"),
        (LICENCES.replace("check=NAME", "check='swapped'"), "not a finding of 'licences'"),
        ("import sys\n\n\ndef check(context):\n    sys.exit(4)\n", "RuntimeError: it called sys.exit(4)"),
    ],
)
def test_a_broken_one_is_a_finding_that_names_its_distribution(site: Path, text: str, reason: str) -> None:
    make_check(site, text)
    *_, found = ran("swapped", "licences")
    assert (found.check, found.status) == ("licences", Status.CRASHED)
    assert "acme-checks 1.0" in found.message
    assert reason in found.message
    assert found.evidence == ("acme-checks 1.0",)
    assert found.link == "docs/how-to/extend.md"


def test_a_name_of_ours_stays_ours_and_that_is_told(site: Path, golden: Golden) -> None:
    make_check(site, "raise SystemExit\n", point="swapped")
    assert check_names(foreign=True) == check_names()
    (told,) = ignored_findings()
    assert (told.check, told.status) == ("extensions", Status.WARNING)
    golden(told.message)


def test_of_two_others_with_one_name_the_first_by_its_own_name_is_taken(site: Path, golden: Golden) -> None:
    make_check(site, "raise SystemExit\n", name="zeta-checks")
    make_check(site)
    assert ran("licences")[0].status is Status.HINT
    (told,) = ignored_findings()
    golden(told.message)


def test_a_mistyped_name_is_answered_with_theirs_too(site: Path) -> None:
    make_check(site)
    with pytest.raises(UsageError) as caught:
        check_names(("licenses",))
    assert "`fastinstall doctor licences`" in str(caught.value.hint)


def test_none_is_told_of_where_none_is_installed() -> None:
    assert ignored_findings() == ()
    assert foreign_verifying_checks() == ()
