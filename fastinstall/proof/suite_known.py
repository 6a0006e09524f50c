"""Tests of Pillow's own that a build with kernels may fail, each with its reason and by how much."""

import re

from fastinstall.model.immutable import immutable

_TABLES = re.compile(r"Have:\s*\n(?P<have>.*?)\n\s*Expected:\s*\n(?P<expected>.*?)(?:\n\s*assert\b|$)", re.DOTALL)
_SAMPLE = re.compile(r"\b[0-9a-f]{2}\b")


@immutable
class KnownDifference:
    """A failure that is expected.

    Attributes:
        test: how its identifier begins.
        most: the largest difference of one sample that it may tell.
        reason: why it is harmless.
    """

    test: str
    most: int
    reason: str


KNOWN = (
    KnownDifference(
        test="Tests.test_image_resample.TestImagingCoreResampleAccuracy::test_enlarge_lanczos[",
        most=1,
        reason="the test expects upstream's rounding of each sample; the kernels' coefficients have 16 bits",
    ),
)


def known_difference(test: str) -> KnownDifference | None:
    """The entry for a test, if there is one."""
    return next((known for known in KNOWN if test.startswith(known.test)), None)


def told_difference(message: str) -> int | None:
    """The largest difference of one sample between the two tables of an assertion; None where it shows none."""
    tables = _TABLES.search(message)
    if tables is None:
        return None
    have, expected = (_SAMPLE.findall(tables[name]) for name in ("have", "expected"))
    if not have or len(have) != len(expected):
        return None
    return max(abs(int(one, 16) - int(other, 16)) for one, other in zip(have, expected, strict=True))
