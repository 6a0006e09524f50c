"""Parse and compare version numbers and version specifiers (PEP 440), and normalise distribution names. Pure.

This module evaluates ranges of plain releases (">=10.3.0,<12.2.0") itself: doctor evaluates a hundred of them in each
run, in less time than importing the `packaging` library takes. All other specifiers are left to `packaging`.
"""

import operator
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from packaging.version import Version


def base_version(version: str) -> str:
    """Return the version of Pillow on which a version of a fork or of our build is based.

    The result has no post-release number and no local label.

    >>> base_version("12.1.1.post0"), base_version("12.1.1+simd.v3"), base_version("13.0.0rc1")
    ('12.1.1', '12.1.1', '13.0.0rc1')

    Raises:
        ValueError: `version` is not a version (PEP 440).
    """
    if is_final_release(version):
        return version
    found = parse_version_number(version)
    return found.base_version + "".join(map(str, found.pre or ()))


def public_version(version: str) -> str:
    """Return a version without its local label.

    >>> public_version("12.1.1.post0+simd.v3")
    '12.1.1.post0'
    """
    return version.partition("+")[0]


def parse_version_number(version: str) -> "Version":
    """Parse a version into an object that can be compared.

    Raises:
        ValueError: `version` is not a version (PEP 440).
    """
    from packaging.version import Version  # slow to import; needed only to compare versions

    return Version(version)


Release = tuple[int, ...]

_RELEASE = r"(?:0|[1-9]\d*)(?:\.(?:0|[1-9]\d*))*"
_PLAIN_VERSION = re.compile(_RELEASE, re.ASCII)
_CLAUSE = rf"(?:[<>]=?|[=!]=) *{_RELEASE}"
_PLAIN_RANGE = re.compile(rf"{_CLAUSE}(?: *, *{_CLAUSE})*", re.ASCII)
_PARTS = re.compile(r"([<>=!]+) *([\d.]+)", re.ASCII)
_COMPARISONS: dict[str, Callable[[Release, Release], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}


def contains(specifier: str, version: str) -> bool:
    """Return whether a version matches a specifier; pre-releases are treated like other versions.

    >>> contains(">=10.3.0,<12.2.0", "12.1.1"), contains("<12.3", "12.2.0rc1"), contains("==12.1.*", "12.1.1")
    (True, True, True)

    Args:
        specifier: a specifier that `is_specifier` accepts.
        version: a version (PEP 440), normalised or not.

    Raises:
        ValueError: the specifier or the version is invalid.
    """
    if is_final_release(version) and _PLAIN_RANGE.fullmatch(specifier):
        return all(
            _COMPARISONS[comparison](_parse_release(version), _parse_release(bound))
            for comparison, bound in _PARTS.findall(specifier)
        )
    from packaging.specifiers import SpecifierSet  # slow to import; not needed for plain ranges

    return SpecifierSet(specifier).contains(version, prereleases=True)


def is_specifier(text: str) -> bool:
    """Return whether a text is a version specifier (PEP 440)."""
    if _PLAIN_RANGE.fullmatch(text):
        return True
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    try:
        SpecifierSet(text)
    except InvalidSpecifier:
        return False
    return True


def is_version(text: str) -> bool:
    """Return whether a text is a version (PEP 440)."""
    if is_final_release(text):
        return True
    from packaging.version import InvalidVersion, Version

    try:
        Version(text)
    except InvalidVersion:
        return False
    return True


def list_leading_numbers(version: str) -> tuple[int, ...]:
    """Return the numbers at the start of a version, for comparisons; empty if it does not start with a number.

    >>> list_leading_numbers("2.9.1+cu126"), list_leading_numbers("")
    ((2, 9, 1), ())
    """
    found = re.match(r"\d+(?:\.\d+)*", version)
    return tuple(map(int, found[0].split("."))) if found else ()


def normalise_distribution_name(name: str) -> str:
    """Return a distribution's name for comparisons (PEP 503).

    >>> normalise_distribution_name("Pillow_SIMD")
    'pillow-simd'
    """
    return re.sub(r"[-_.]+", "-", name).lower()


def is_final_release(version: str) -> bool:
    """Return whether a version is a plain release in normal form: numbers and dots only.

    >>> is_final_release("12.1.1"), is_final_release("12.1.1rc1"), is_final_release("v12.1")
    (True, False, False)
    """
    return _PLAIN_VERSION.fullmatch(version) is not None


def _parse_release(version: str) -> Release:
    """Parse a plain release for comparisons; trailing zeros are dropped, because 1.0 equals 1."""
    numbers = [int(number) for number in version.split(".")]
    while numbers and not numbers[-1]:
        numbers.pop()
    return tuple(numbers)
