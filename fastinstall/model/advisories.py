"""Known vulnerabilities, defects and changed pixels; select those that matter to given versions of Pillow. Pure."""

from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import date
from enum import StrEnum

from fastinstall.core.values import immutable
from fastinstall.core.version_numbers import base_version, contains, is_version, parse_version_number


class Severity(StrEnum):
    """The severity of an advisory, as its source rates it."""

    LOW = "low"
    MODERATE = "moderate"
    HIGH = "high"
    CRITICAL = "critical"
    UNRATED = "unrated"


@immutable
class Advisory:
    """A known vulnerability or defect.

    Attributes:
        id: "CVE-2026-...", "GHSA-...", or our name for a defect.
        aliases: other identifiers of the same issue.
        severity: as rated by its source.
        affects: specifier over versions of the upstream Pillow ("<12.2.0").
        summary: what goes wrong and when, in one sentence.
        source: URL of the page that the entry was taken from.
        dated: date of the information in this entry.
        kernels_only: whether only a core with SIMD kernels is affected, and stock Pillow is not.
        component: the affected bundled library ("libjpeg-turbo"); `affects` then refers to the library's versions.
            Empty if the distribution itself is affected.
        demonstration: one line of Python that shows the issue; empty if there is none.
    """

    id: str
    aliases: tuple[str, ...] = ()
    severity: Severity
    affects: str
    summary: str
    source: str
    dated: date
    kernels_only: bool = False
    component: str = ""
    demonstration: str = ""


@immutable
class PixelChange:
    """A change in the pixels that one of Pillow's operations produces.

    Attributes:
        since: the first version of Pillow that produces the new pixels.
        summary: the operation and the size of the change, as part of a sentence.
        source: the wheels between which the change was measured, or the URL of a page.
        demonstration: one line of Python that prints different numbers before and after the change. The line may
            use `Image`, `ImageFilter`, `BytesIO` and `crc32`.
        dated: date of the information in this entry.
    """

    since: str
    summary: str
    source: str
    demonstration: str
    dated: date


@immutable
class AdvisoryList:
    """A file of advisories that several recipes share.

    Attributes:
        schema: version of the file format; always 1.
        advisories: advisories to add to those of each recipe that names the file.
        pixel_changes: pixel changes to add to those of each recipe that names the file.
    """

    schema: int
    advisories: tuple[Advisory, ...]
    pixel_changes: tuple[PixelChange, ...] = ()


GRAVEST_FIRST = (Severity.CRITICAL, Severity.HIGH, Severity.MODERATE, Severity.LOW, Severity.UNRATED)


def select_applicable_advisories(
    advisories: Iterable[Advisory], pillow_version: str, *, kernels: bool = True
) -> tuple[Advisory, ...]:
    """Return the advisories that affect a version of the distribution itself, the most severe first.

    `select_library_advisories` returns the advisories on bundled libraries.

    Args:
        advisories: the advisories of a recipe, in any order.
        pillow_version: version of Pillow or of a fork based on it: "12.1.1.post0" counts as 12.1.1.
        kernels: whether the core has the SIMD kernels; if so, advisories on defects in the kernels are included.

    Raises:
        ValueError: `pillow_version` is not a version (PEP 440).
    """
    version = base_version(pillow_version)
    return _sort_gravest_first(
        advisory
        for advisory in advisories
        if not advisory.component and (kernels or not advisory.kernels_only) and contains(advisory.affects, version)
    )


def select_library_advisories(advisories: Iterable[Advisory], versions: Mapping[str, str]) -> tuple[Advisory, ...]:
    """Return the advisories that affect bundled libraries, the most severe first.

    Args:
        advisories: the advisories of a recipe, in any order.
        versions: versions of the libraries, by their names in advisories; see `select_comparable_versions`.

    Raises:
        ValueError: one of `versions` is not a version (PEP 440).
    """
    return _sort_gravest_first(
        advisory
        for advisory in advisories
        if advisory.component in versions and contains(advisory.affects, versions[advisory.component])
    )


def select_comparable_versions(versions: Mapping[str, str]) -> dict[str, str]:
    """Return the items whose version is valid by PEP 440; "1.3.1.zlib-ng" is not."""
    return {name: version for name, version in versions.items() if is_version(version)}


def select_critical_advisories(
    advisories: Iterable[Advisory], version: str, *, kernels: bool = True
) -> tuple[Advisory, ...]:
    """Return the advisories of the highest severity that affect a version of the distribution itself.

    Args:
        advisories: the advisories of a recipe, in any order.
        version: version of Pillow or of a fork based on it.
        kernels: whether the core has the SIMD kernels.

    Raises:
        ValueError: `version` is not a version (PEP 440).
    """
    affecting = select_applicable_advisories(advisories, version, kernels=kernels)
    return tuple(advisory for advisory in affecting if advisory.severity is Severity.CRITICAL)


def count_by_severity(advisories: Iterable[Advisory]) -> dict[Severity, int]:
    """Return the number of advisories by severity, the most severe first; severities without any are omitted."""
    counts = Counter(advisory.severity for advisory in advisories)
    return {severity: counts[severity] for severity in GRAVEST_FIRST if counts[severity]}


def find_returning_advisories(
    advisories: Iterable[Advisory], installed_version: str, wanted_version: str, *, installed_kernels: bool = False
) -> tuple[Advisory, ...]:
    """Return the advisories that affect the wanted version but not the installed one, the most severe first.

    If the installed version is invalid by PEP 440, it counts as unaffected by all advisories.
    """
    known, present = tuple(advisories), tuple[Advisory, ...]()
    with suppress(ValueError):
        present = select_applicable_advisories(known, installed_version, kernels=installed_kernels)
    return tuple(each for each in select_applicable_advisories(known, wanted_version) if each not in present)


def select_pixel_changes(changes: Iterable[PixelChange], one: str, other: str) -> tuple[PixelChange, ...]:
    """Return the pixel changes between two versions of Pillow, given in either order; the latest change comes first.

    >>> change = PixelChange(since="13.0.0", summary="", source="", demonstration="", dated=date(2026, 11, 29))
    >>> [len(select_pixel_changes([change], "12.3.0", other)) for other in ("13.0.0+simd.v3", "12.2.0")]
    [1, 0]
    """
    low, high = sorted(parse_version_number(base_version(each)) for each in (one, other))
    between = [each for each in changes if low < parse_version_number(each.since) <= high]
    return tuple(sorted(between, key=lambda each: parse_version_number(each.since), reverse=True))


def _sort_gravest_first(advisories: Iterable[Advisory]) -> tuple[Advisory, ...]:
    return tuple(sorted(advisories, key=lambda advisory: GRAVEST_FIRST.index(advisory.severity)))
