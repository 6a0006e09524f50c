"""Make a check of a proof out of the differences that were found: what went wrong where, and by how much."""

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence

from fastinstall.model.proof import CaseDifference, ProofCheck, ProofStatus
from fastinstall.proof.catalogue import pixels_of


def check_of(name: str, passed: str, differences: Sequence[CaseDifference], seconds: float) -> ProofCheck:
    """A check that is ok exactly where there is no difference.

    Args:
        name: of the check.
        passed: what is said where it is ok.
        differences: what was found.
        seconds: how long it took.
    """
    if not differences:
        return ProofCheck(name=name, status=ProofStatus.OK, summary=passed, seconds=round(seconds, 2))
    operations = tuple(sorted({difference.operation for difference in differences}))
    return ProofCheck(
        name=name,
        status=ProofStatus.FAILED,
        summary=f"{_cases(len(differences))} fail: {', '.join(operations)}",
        details=_lines(differences),
        operations=operations,
        seconds=round(seconds, 2),
    )


def skipped(name: str, reason: str) -> ProofCheck:
    """A check that was not made."""
    return ProofCheck(name=name, status=ProofStatus.SKIPPED, summary=reason)


def _lines(differences: Sequence[CaseDifference]) -> tuple[str, ...]:
    """For each operation how many cases fail in which modes, the worst of them and the one of the smallest picture."""
    groups: dict[str, list[CaseDifference]] = defaultdict(list)
    for difference in differences:
        groups[difference.operation].append(difference)
    return tuple(line for operation, found in sorted(groups.items()) for line in _told(operation, found))


def _told(operation: str, found: Sequence[CaseDifference]) -> Iterator[str]:
    modes = dict.fromkeys(difference.case.split("/")[1] for difference in found)
    yield f"{operation}: {_cases(len(found))} in {', '.join(modes)}"
    worst = max(found, key=lambda difference: difference.largest or math.inf)  # 0: there was nothing to compare
    yield f"  the worst: {worst.text}"
    smallest = min(found, key=lambda difference: pixels_of(difference.case))
    if smallest != worst:
        yield f"  the smallest: {smallest.text}"


def _cases(count: int) -> str:
    return "1 case" if count == 1 else f"{count} cases"
