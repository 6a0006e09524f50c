"""The outcome of a proof: what each case is named after, which differences were found, and how a check ended.

It computes no pixels. A proof's findings are data, kept beside the wheel they are about; each check states what went
wrong where, and by how much.
"""

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from enum import StrEnum

from fastinstall.core.values import immutable


def operation_of(case: str) -> str:
    """Return the operation of a case: "resize"."""
    return case.partition("/")[0]


def pixels_of(case: str) -> int:
    """Return how many pixels the picture of a case has; 0 if its name does not tell."""
    width, _, height = case.split("/")[2].partition("x")
    return int(width) * int(height) if width.isdecimal() and height.isdecimal() else 0


class ProofStatus(StrEnum):
    """How a check of a proof ended."""

    OK = "ok"
    FAILED = "failed"
    SKIPPED = "skipped"


@immutable
class CaseDifference:
    """One case in which a build is not what it has to be.

    Attributes:
        case: its name, "operation/mode/WIDTHxHEIGHT/parameters", by which it can be run alone.
        largest: the largest difference of one sample, in steps of its mode, colours weighted by their alpha.
        allowed: the bound of the operation, in the same unit.
        problem: why there is nothing to compare (a crash, another exception, another size); empty if there is.
    """

    case: str
    largest: float = 0.0
    allowed: float = 0.0
    problem: str = ""

    @property
    def operation(self) -> str:
        """The first part of the name ("box-blur")."""
        return operation_of(self.case)

    @property
    def is_tolerable(self) -> bool:
        """Whether the results count as the same."""
        return not self.problem and self.largest <= self.allowed

    @property
    def text(self) -> str:
        """One line for people: "box-blur/RGB/17x13/3:0: differs by 254, allowed 1"."""
        return f"{self.case}: {self.problem or f'differs by {self.largest:g}, allowed {self.allowed:g}'}"


@immutable
class ProofCheck:
    """One check of a proof.

    Attributes:
        name: stable ("matrix x86-64-v3", "heap", "decoders").
        status: "ok", "failed", or "skipped" for the reason in `summary`.
        summary: one line for people; where it was skipped, why.
        details: what went wrong, a line each.
        operations: the operations that failed, by the catalogue's names.
        seconds: how long it took.
    """

    name: str
    status: ProofStatus
    summary: str
    details: tuple[str, ...] = ()
    operations: tuple[str, ...] = ()
    seconds: float = 0.0


@immutable
class ProofSubject:
    """What is proven, and beside what; the results of equal ones are equal.

    Attributes:
        wheel_sha256: of the built wheel, 64 hexadecimal digits.
        reference_sha256: of the official wheel; empty if there is none.
        python: version and ABI of the interpreter.
        cpu: name of the CPU, as kernels round differently on others.
        levels: CPU levels that are proven, the baseline first.
    """

    wheel_sha256: str
    reference_sha256: str
    python: str
    cpu: str
    levels: tuple[str, ...]


@immutable
class Proof:
    """All checks of one build.

    Attributes:
        subject: which wheel was proven, and in what circumstances.
        checks: in the order in which they are told.
        seconds: how long everything took.
    """

    subject: ProofSubject
    checks: tuple[ProofCheck, ...]
    seconds: float

    @property
    def holds(self) -> bool:
        """Whether no check failed."""
        return all(check.status is not ProofStatus.FAILED for check in self.checks)


def list_failed_operations(proof: Proof) -> tuple[str, ...]:
    """Return the operations that failed in any check, each of them once, sorted."""
    failed = (check for check in proof.checks if check.status is ProofStatus.FAILED)
    return tuple(sorted({operation for check in failed for operation in check.operations}))


def check_of(name: str, passed: str, differences: Sequence[CaseDifference], seconds: float) -> ProofCheck:
    """Return a check that is ok if there is no difference, and failed otherwise.

    Args:
        name: of the check ("heap", "decoders").
        passed: what is said where it is ok.
        differences: what was found; of each operation the worst case is told, and that of the smallest picture.
        seconds: how long it took.
    """
    groups: dict[str, list[CaseDifference]] = defaultdict(list)
    for difference in differences:
        groups[difference.operation].append(difference)
    operations = tuple(sorted(groups))
    return ProofCheck(
        name=name,
        status=ProofStatus.FAILED if differences else ProofStatus.OK,
        summary=f"{_count_cases(differences)} fail: {', '.join(operations)}" if differences else passed,
        details=tuple(line for operation in operations for line in _describe_differences(operation, groups[operation])),
        operations=operations,
        seconds=round(seconds, 2),
    )


def skip_proof_check(name: str, reason: str) -> ProofCheck:
    """Return the outcome of a check that was skipped for a reason."""
    return ProofCheck(name=name, status=ProofStatus.SKIPPED, summary=reason)


def _describe_differences(operation: str, found: Sequence[CaseDifference]) -> Iterator[str]:
    modes = dict.fromkeys(difference.case.split("/")[1] for difference in found)
    yield f"{operation}: {_count_cases(found)} in {', '.join(modes)}"
    worst = max(found, key=lambda difference: difference.largest or math.inf)  # 0: no pixels to compare
    yield f"  the worst: {worst.text}"
    smallest = min(found, key=lambda difference: pixels_of(difference.case))
    if smallest != worst:
        yield f"  the smallest: {smallest.text}"


def _count_cases(cases: Sequence[CaseDifference]) -> str:
    return "1 case" if len(cases) == 1 else f"{len(cases)} cases"
