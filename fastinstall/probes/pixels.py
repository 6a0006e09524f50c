"""Compare what two stacks computed, operation by operation, within stated tolerances.

SIMD kernels round differently: most results are identical, others differ by one. Where a resize
divides by a small alpha the difference grows, though nobody sees it; so colours are weighted by
their alpha before they are compared.
"""

import operator
import zipfile
from pathlib import Path

from fastinstall.errors import UndeterminedError
from fastinstall.model.immutable import immutable

_TOLERANCE = 1.0
_TOLERANCES = (
    ("png-", 0.0),
    ("tiff-", 0.0),
    ("webp-", 0.0),
    ("split-", 0.0),
    ("rotate-", 0.0),
    ("median-", 0.0),
    ("jpeg-", 4.0),
    ("resize-", 3.0),
    ("enlarge-", 3.0),
)
_WITH_ALPHA = ("RGBA", "LA")


@immutable
class PixelDifference:
    """How far two stacks are apart in one operation.

    Attributes:
        operation: its name.
        largest: the largest difference of one sample, 0 to 255, colours weighted by alpha.
        tolerance: what is allowed for this operation.
        problem: why nothing could be compared (only one stack has it, another size); empty if it could.
    """

    operation: str
    largest: float
    tolerance: float
    problem: str = ""

    @property
    def is_tolerable(self) -> bool:
        """Whether the results count as the same."""
        return not self.problem and self.largest <= self.tolerance


def compare_pixels(ours: Path, reference: Path) -> tuple[PixelDifference, ...]:
    """Compare two files that `observe_runtime` wrote, in the order of the reference.

    Operations that only ours has are left out; one that only the reference has is a problem.

    Raises:
        UndeterminedError: a file is missing or damaged.
    """
    mine, theirs = _read(ours), _read(reference)
    return tuple(_compare(name, mine.get(name), theirs[name]) for name in theirs)


def _read(path: Path) -> dict[str, tuple[str, bytes]]:
    """Mode and samples by operation."""
    try:
        with zipfile.ZipFile(path) as archive:
            parts = ((name.partition("/"), archive.read(name)) for name in archive.namelist())
            return {name: (mode, samples) for (name, _, mode), samples in parts}
    except (OSError, zipfile.BadZipFile) as error:
        raise UndeterminedError(f"{path}: no pixels to compare: {error}") from error


def _compare(operation: str, ours: tuple[str, bytes] | None, reference: tuple[str, bytes]) -> PixelDifference:
    tolerance = next((allowed for prefix, allowed in _TOLERANCES if operation.startswith(prefix)), _TOLERANCE)
    if ours is None:
        problem = "it failed, or is not there"
    elif ours[0] != reference[0] or len(ours[1]) != len(reference[1]):
        problem = f"mode {ours[0]} with {len(ours[1])} samples, expected {reference[0]} with {len(reference[1])}"
    else:
        largest = _largest_difference(ours[1], reference[1], reference[0])
        return PixelDifference(operation=operation, largest=largest, tolerance=tolerance)
    return PixelDifference(operation=operation, largest=0.0, tolerance=tolerance, problem=problem)


def _largest_difference(ours: bytes, reference: bytes, mode: str) -> float:
    if ours == reference:
        return 0.0
    if mode not in _WITH_ALPHA:
        return float(max(map(abs, map(operator.sub, ours, reference))))
    bands = len(mode)
    alphas = (ours[bands - 1 :: bands], reference[bands - 1 :: bands])
    colours = (_weighted((ours[band::bands], reference[band::bands]), alphas) for band in range(bands - 1))
    return max(float(max(map(abs, map(operator.sub, *alphas)))), *colours)


def _weighted(colours: tuple[bytes, bytes], alphas: tuple[bytes, bytes]) -> float:
    """The largest difference of one band, each weighted by the greater of the two alphas."""
    differences = map(abs, map(operator.sub, *colours))
    return float(max(map(operator.mul, differences, map(max, *alphas)))) / 255
