from datetime import date

import pytest

from fastinstall.model.recipe import Advisory, Severity
from fastinstall.rules.advisories import applicable, coming_back, count_by_severity


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
    assert applicable(ALL, version) == (CRITICAL, LOW, KERNELS)


def test_stock_pillow_does_not_have_the_defects_of_the_kernels() -> None:
    assert applicable(ALL, "12.1.1", kernels=False) == (CRITICAL, LOW)


def test_a_fixed_version_has_none() -> None:
    assert applicable(ALL, "13.0.0") == ()


def test_release_candidates_are_compared_too() -> None:
    assert applicable((LOW,), "12.2.0rc1") == (LOW,)
    assert applicable((LOW,), "14.0.0rc1") == ()


def test_a_version_that_is_none_is_an_error() -> None:
    with pytest.raises(ValueError, match="banana"):
        applicable(ALL, "banana")


def test_severities_are_counted_from_the_gravest() -> None:
    assert list(count_by_severity(ALL).items()) == [(Severity.CRITICAL, 1), (Severity.LOW, 1), (Severity.UNRATED, 2)]


def test_a_downgrade_brings_back_what_was_fixed_and_the_kernels_own() -> None:
    assert coming_back(ALL, "13.0.0", "12.1.1.post0") == (CRITICAL, LOW, KERNELS)


def test_what_is_there_already_does_not_come_back() -> None:
    assert coming_back(ALL, "12.1.1", "12.1.1.post0") == (KERNELS,)
    assert coming_back(ALL, "12.1.1", "12.1.1.post0", installed_kernels=True) == ()


def test_an_unreadable_installed_version_counts_as_free_of_all() -> None:
    assert coming_back(ALL, "banana", "12.0.0") == (CRITICAL, LOW, OLD)
