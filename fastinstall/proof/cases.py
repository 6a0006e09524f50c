"""Values that describe the result of a proof: its cases, the differences found in them, and its checks.

This module computes no pixels. A proof is stored beside its wheel. Each failed check lists the cases that differ, with
the size of the difference.
"""

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from enum import StrEnum

from fastinstall.core.values import immutable


def operation_of(case: str) -> str:
    """Return the operation of a case, the first part of its name ("resize")."""
    return case.partition("/")[0]


def pixels_of(case: str) -> int:
    """Return the number of pixels of a case's picture; 0 if its name contains no size."""
    width, _, height = case.split("/")[2].partition("x")
    return int(width) * int(height) if width.isdecimal() and height.isdecimal() else 0


class ProofStatus(StrEnum):
    """The status of a check."""

    OK = "ok"
    FAILED = "failed"
    SKIPPED = "skipped"


@immutable
class CaseDifference:
    """The difference between the results of two builds in one case.

    Attributes:
        case: name of the case, "operation/mode/WIDTHxHEIGHT/parameters", with which the case can be repeated.
        largest: the largest difference of a sample, in steps of the picture's mode, with colours weighted by alpha.
        allowed: the largest difference that the operation may have, in the same unit.
        problem: a reason why the case fails regardless of `largest` (a crash, another exception, another size); empty
            if there is no such reason.
    """

    case: str
    largest: float = 0.0
    allowed: float = 0.0
    problem: str = ""

    @property
    def operation(self) -> str:
        """The operation of the case ("box-blur")."""
        return operation_of(self.case)

    @property
    def is_tolerable(self) -> bool:
        """Whether the results count as equal."""
        return not self.problem and self.largest <= self.allowed

    @property
    def text(self) -> str:
        """The difference as one line: "box-blur/RGB/17x13/3:0: differs by 254, allowed 1"."""
        return f"{self.case}: {self.problem or f'differs by {self.largest:g}, allowed {self.allowed:g}'}"


@immutable
class ProofCheck:
    """The result of one check of a proof.

    Attributes:
        name: stable name ("matrix x86-64-v3", "heap", "decoders").
        status: whether the check is "ok", "failed" or "skipped".
        summary: one line for people; if the check was skipped, the reason.
        details: lines that describe the failures.
        operations: the operations that failed, sorted.
        seconds: duration of the check.
    """

    name: str
    status: ProofStatus
    summary: str
    details: tuple[str, ...] = ()
    operations: tuple[str, ...] = ()
    seconds: float = 0.0


@immutable
class ProofSubject:
    """The wheel that is proven, and the circumstances of the proof; proofs of equal subjects have equal results.

    Attributes:
        wheel_sha256: SHA-256 of the built wheel, 64 hexadecimal digits.
        reference_sha256: SHA-256 of the official wheel; empty if there is none.
        python: version and ABI of the interpreter.
        cpu: name of the CPU; kernels may round differently on another CPU.
        levels: CPU levels that are proven, the baseline first.
    """

    wheel_sha256: str
    reference_sha256: str
    python: str
    cpu: str
    levels: tuple[str, ...]


@immutable
class Proof:
    """The results of all checks of one build.

    Attributes:
        subject: the wheel that was proven, and the circumstances.
        checks: results of the checks, in the order of display.
        seconds: duration of the whole proof.
    """

    subject: ProofSubject
    checks: tuple[ProofCheck, ...]
    seconds: float

    @property
    def holds(self) -> bool:
        """Whether no check failed."""
        return all(check.status is not ProofStatus.FAILED for check in self.checks)


def list_failed_operations(proof: Proof) -> tuple[str, ...]:
    """Return the operations that failed in any check, sorted, without duplicates."""
    failed = (check for check in proof.checks if check.status is ProofStatus.FAILED)
    return tuple(sorted({operation for check in failed for operation in check.operations}))


def check_of(name: str, passed: str, differences: Sequence[CaseDifference], seconds: float) -> ProofCheck:
    """Return a check that is ok if no case differs, and failed otherwise.

    Args:
        name: name of the check ("heap", "decoders").
        passed: the summary to use if no case differs.
        differences: the failed cases. For each operation, the details show the worst case and the one with the fewest
            pixels.
        seconds: duration of the check.
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
    """Return the result of a check that was skipped for a reason."""
    return ProofCheck(name=name, status=ProofStatus.SKIPPED, summary=reason)


def _describe_differences(operation: str, found: Sequence[CaseDifference]) -> Iterator[str]:
    modes = dict.fromkeys(difference.case.split("/")[1] for difference in found)
    yield f"{operation}: {_count_cases(found)} in {', '.join(modes)}"
    # `largest` is 0 if the pixels were not compared.
    worst = max(found, key=lambda difference: difference.largest or math.inf)
    yield f"  the worst: {worst.text}"
    smallest = min(found, key=lambda difference: pixels_of(difference.case))
    if smallest != worst:
        yield f"  the smallest: {smallest.text}"


def _count_cases(cases: Sequence[CaseDifference]) -> str:
    return "1 case" if len(cases) == 1 else f"{len(cases)} cases"
