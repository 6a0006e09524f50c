"""Which advisories concern a version, and which ones a downgrade brings back. Pure."""

from collections import Counter
from collections.abc import Iterable

from fastinstall.model.recipe import Advisory, Severity
from fastinstall.rules.versions import base_version

GRAVEST_FIRST = (Severity.CRITICAL, Severity.HIGH, Severity.MODERATE, Severity.LOW, Severity.UNRATED)


def applicable(advisories: Iterable[Advisory], pillow_version: str, *, kernels: bool = True) -> tuple[Advisory, ...]:
    """The advisories that concern a version, the gravest first.

    Args:
        advisories: of a recipe.
        pillow_version: of Pillow or of a fork that follows it: "12.1.1.post0" counts as 12.1.1.
        kernels: whether the core has the SIMD kernels, whose own defects stock Pillow does not have.

    Raises:
        ValueError: `pillow_version` is not a version (PEP 440).
    """
    from packaging.specifiers import SpecifierSet  # noqa: PLC0415 (slow to import; only where versions are compared)

    version = base_version(pillow_version)
    found = [
        advisory
        for advisory in advisories
        if (kernels or not advisory.kernels_only) and SpecifierSet(advisory.affects).contains(version, prereleases=True)
    ]
    return tuple(sorted(found, key=lambda advisory: GRAVEST_FIRST.index(advisory.severity)))


def count_by_severity(advisories: Iterable[Advisory]) -> dict[Severity, int]:
    """How many there are of each severity, the gravest first; a severity without any is left out."""
    counts = Counter(advisory.severity for advisory in advisories)
    return {severity: counts[severity] for severity in GRAVEST_FIRST if counts[severity]}


def coming_back(
    advisories: Iterable[Advisory], installed_version: str, wanted_version: str, *, installed_kernels: bool = False
) -> tuple[Advisory, ...]:
    """The advisories that concern the wanted version and not the installed one, the gravest first.

    An installed version that is not one (PEP 440) is taken to be free of all of them.
    """
    known = tuple(advisories)
    try:
        present = applicable(known, installed_version, kernels=installed_kernels)
    except ValueError:
        present = ()
    return tuple(advisory for advisory in applicable(known, wanted_version) if advisory not in present)
