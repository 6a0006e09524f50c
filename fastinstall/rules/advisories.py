"""Which advisories concern a version, and which ones a downgrade brings back. Pure."""

from collections import Counter
from collections.abc import Iterable, Mapping

from fastinstall.model.advisory import Advisory, Severity
from fastinstall.rules.numbering import base_version
from fastinstall.rules.ranges import contains, is_version

GRAVEST_FIRST = (Severity.CRITICAL, Severity.HIGH, Severity.MODERATE, Severity.LOW, Severity.UNRATED)


def applicable(advisories: Iterable[Advisory], pillow_version: str, *, kernels: bool = True) -> tuple[Advisory, ...]:
    """The advisories that concern a version of the distribution itself, the gravest first.

    Those of bundled libraries are left to `applicable_to_libraries`.

    Args:
        advisories: of a recipe.
        pillow_version: of Pillow or of a fork that follows it: "12.1.1.post0" counts as 12.1.1.
        kernels: whether the core has the SIMD kernels, whose own defects stock Pillow does not have.

    Raises:
        ValueError: `pillow_version` is not a version (PEP 440).
    """
    version = base_version(pillow_version)
    return _gravest_first(
        advisory
        for advisory in advisories
        if not advisory.component and (kernels or not advisory.kernels_only) and _concerns(advisory, version)
    )


def applicable_to_libraries(advisories: Iterable[Advisory], versions: Mapping[str, str]) -> tuple[Advisory, ...]:
    """The advisories that concern bundled libraries, the gravest first.

    Args:
        advisories: of a recipe.
        versions: of the libraries, by the names that advisories have for them; see `comparable`.

    Raises:
        ValueError: one of `versions` is not a version (PEP 440).
    """
    return _gravest_first(
        advisory
        for advisory in advisories
        if advisory.component in versions and _concerns(advisory, versions[advisory.component])
    )


def comparable(versions: Mapping[str, str]) -> dict[str, str]:
    """Those that are versions (PEP 440), which "1.3.1.zlib-ng" is not."""
    return {name: version for name, version in versions.items() if is_version(version)}


def critical(advisories: Iterable[Advisory], version: str, *, kernels: bool = True) -> tuple[Advisory, ...]:
    """The advisories of the gravest severity that concern a version of the distribution itself.

    Args:
        advisories: of a recipe.
        version: as `applicable` takes it.
        kernels: likewise.

    Raises:
        ValueError: `version` is not a version (PEP 440).
    """
    affecting = applicable(advisories, version, kernels=kernels)
    return tuple(advisory for advisory in affecting if advisory.severity is Severity.CRITICAL)


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


def _gravest_first(advisories: Iterable[Advisory]) -> tuple[Advisory, ...]:
    return tuple(sorted(advisories, key=lambda advisory: GRAVEST_FIRST.index(advisory.severity)))


def _concerns(advisory: Advisory, version: str) -> bool:
    return contains(advisory.affects, version)
