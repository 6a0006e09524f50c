from dataclasses import replace
from datetime import date

import pytest
from support.suite.golden import Golden
from support.values.builders import recipe

from fastinstall.model.advisories import (
    Advisory,
    Severity,
    count_by_severity,
    find_returning_advisories,
    select_applicable_advisories,
    select_comparable_versions,
    select_critical_advisories,
    select_library_advisories,
)
from fastinstall.model.request import Risk
from fastinstall.setup.decide.risks import find_vulnerability_risk


def _advisory(name: str, affects: str, severity: Severity = Severity.HIGH, *, kernels_only: bool = False) -> Advisory:
    return Advisory(
        id=name,
        severity=severity,
        affects=affects,
        summary="something",
        source="notes",
        dated=date(2026, 11, 21),
        kernels_only=kernels_only,
    )


LOW = _advisory("low", "<13", Severity.LOW)
CRITICAL = _advisory("critical", "<13", Severity.CRITICAL)
OLD = _advisory("old", ">=10.3,<12.1.1", Severity.UNRATED)
KERNELS = _advisory("kernels", "==12.1.1", Severity.UNRATED, kernels_only=True)
ALL = (OLD, LOW, KERNELS, CRITICAL)


@pytest.mark.parametrize("version", ["12.1.1", "12.1.1.post0", "12.1.1+simd.v3", "12.1.1.post0+simd.v3"])
def test_a_fork_has_what_the_version_it_follows_has(version: str) -> None:
    assert select_applicable_advisories(ALL, version) == (CRITICAL, LOW, KERNELS)


def test_stock_pillow_does_not_have_the_defects_of_the_kernels() -> None:
    assert select_applicable_advisories(ALL, "12.1.1", kernels=False) == (CRITICAL, LOW)


def test_a_fixed_version_has_none() -> None:
    assert select_applicable_advisories(ALL, "13.0.0") == ()


def test_release_candidates_are_compared_too() -> None:
    assert select_applicable_advisories((LOW,), "12.2.0rc1") == (LOW,)
    assert select_applicable_advisories((LOW,), "14.0.0rc1") == ()


def test_a_version_that_is_none_is_an_error() -> None:
    with pytest.raises(ValueError, match="banana"):
        select_applicable_advisories(ALL, "banana")


def test_severities_are_counted_from_the_gravest() -> None:
    assert list(count_by_severity(ALL).items()) == [(Severity.CRITICAL, 1), (Severity.LOW, 1), (Severity.UNRATED, 2)]


def test_a_downgrade_brings_back_fixed_and_kernel_advisories() -> None:
    assert find_returning_advisories(ALL, "13.0.0", "12.1.1.post0") == (CRITICAL, LOW, KERNELS)


def test_what_is_there_already_does_not_come_back() -> None:
    assert find_returning_advisories(ALL, "12.1.1", "12.1.1.post0") == (KERNELS,)
    assert find_returning_advisories(ALL, "12.1.1", "12.1.1.post0", installed_kernels=True) == ()


def test_an_unreadable_installed_version_counts_as_free_of_all() -> None:
    assert find_returning_advisories(ALL, "banana", "12.0.0") == (CRITICAL, LOW, OLD)


TIFF = replace(_advisory("tiff", "<4.7.2"), component="libtiff")
WEBP = replace(_advisory("webp", "<1.3.2", Severity.CRITICAL), component="libwebp")


def test_advisories_of_libraries_do_not_speak_of_pillows_version() -> None:
    assert select_applicable_advisories((TIFF, WEBP), "1.0.0") == ()


def test_libraries_are_weighed_by_their_own_versions() -> None:
    known = (TIFF, LOW, WEBP)
    assert select_library_advisories(known, {"libtiff": "4.7.1", "libwebp": "1.3.1"}) == (WEBP, TIFF)
    assert select_library_advisories(known, {"libtiff": "4.7.2", "openjpeg": "1.0"}) == ()


def test_what_is_no_version_is_not_compared() -> None:
    assert select_comparable_versions({"zlib": "1.3.1.zlib-ng", "libtiff": "4.7.1"}) == {"libtiff": "4.7.1"}


def test_only_the_gravest_severity_is_critical() -> None:
    assert select_critical_advisories(ALL, "12.1.1.post0") == (CRITICAL,)
    assert select_critical_advisories((*ALL, WEBP), "13.0.0") == ()


def test_a_vulnerable_version_is_a_named_risk_not_yet_allowed(golden: Golden) -> None:
    more = _advisory("stale", "<12.2", Severity.CRITICAL)
    plan_risk = find_vulnerability_risk(replace(recipe(), advisories=(*ALL, more)), "12.1.1.post0", kernels=True)

    assert plan_risk is not None
    assert plan_risk.risk is Risk.VULNERABLE
    assert not plan_risk.allowed
    golden(plan_risk.summary)
    assert plan_risk.items == ("critical (affects <13): something", "stale (affects <12.2): something")


def test_a_version_without_critical_advisories_is_no_risk() -> None:
    assert find_vulnerability_risk(replace(recipe(), advisories=ALL), "13.0.0", kernels=True) is None
    assert find_vulnerability_risk(replace(recipe(), advisories=(LOW, OLD)), "12.1.0", kernels=True) is None


def test_a_critical_kernel_defect_is_a_risk_only_with_kernels() -> None:
    defect = _advisory("defect", "<=12.1.1", Severity.CRITICAL, kernels_only=True)
    known = replace(recipe(), advisories=(defect,))

    assert find_vulnerability_risk(known, "12.1.1", kernels=True) is not None
    assert find_vulnerability_risk(known, "12.1.1", kernels=False) is None
