"""Compare the pixels that two stacks gave in the operations of `observe/_operations.py`, within stated tolerances.

SIMD kernels round differently: most results are identical, others differ by one. Where a resize divides by a small
alpha the difference grows, though nobody sees it; so colours are weighted by their alpha before they are compared.
"""

import zipfile
from pathlib import Path

from fastinstall.core.errors import UndeterminedError
from fastinstall.proof.cases import CaseDifference
from fastinstall.proof.judge import measure_distance
from fastinstall.proof.runs import ProofPicture

_TOLERANCE = 1.0
_TOLERANCES = {
    **dict.fromkeys(("png-", "tiff-", "webp-", "split-", "rotate-", "median-"), 0.0),
    **dict.fromkeys(("resize-", "enlarge-"), 3.0),
    "jpeg-": 4.0,
}


def compare_pixels(ours: Path, reference: Path) -> tuple[CaseDifference, ...]:
    """Compare two files that `observe_runtime` wrote, in the order of the reference.

    Operations that only ours has are left out; one that only the reference has is a problem.

    Raises:
        UndeterminedError: a file is missing or damaged.
    """
    mine, theirs = _read(ours), _read(reference)
    return tuple(_compare(name, mine.get(name), theirs[name]) for name in theirs)


def _read(path: Path) -> dict[str, ProofPicture]:
    """Read the samples of each operation, whose size nobody wrote down: as one row."""
    try:
        with zipfile.ZipFile(path) as archive:
            parts = ((name.partition("/"), archive.read(name)) for name in archive.namelist())
            return {name: ProofPicture(mode, (len(samples), 1), samples) for (name, _, mode), samples in parts}
    except (OSError, zipfile.BadZipFile) as error:
        raise UndeterminedError(f"{path}: no pixels to compare: {error}") from error


def _compare(operation: str, ours: ProofPicture | None, reference: ProofPicture) -> CaseDifference:
    allowed = next((bound for prefix, bound in _TOLERANCES.items() if operation.startswith(prefix)), _TOLERANCE)
    if ours is None:
        return CaseDifference(case=operation, allowed=allowed, problem="it failed or is missing")
    apart = measure_distance((ours,), (reference,))
    return CaseDifference(case=operation, largest=apart.largest, allowed=allowed, problem=apart.problem)
