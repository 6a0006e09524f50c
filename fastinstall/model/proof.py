"""What a proof found: check by check, case by case. Data that is kept beside the wheel it speaks of."""

from enum import StrEnum

from fastinstall.model.immutable import immutable


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
        operation: the first part of it ("box-blur").
        largest: the largest difference of one sample, in steps of its mode, colours weighted by their alpha.
        allowed: the bound of the operation, in the same unit.
        problem: why there is nothing to compare (a crash, another exception, another size); empty where there is.
    """

    case: str
    operation: str
    largest: float
    allowed: float
    problem: str = ""

    @property
    def text(self) -> str:
        """One line for people: "box-blur/RGB/17x13/3:0: differs by 254, allowed 1"."""
        return f"{self.case}: {self.problem or f'differs by {self.largest:g}, allowed {self.allowed:g}'}"


@immutable
class ProofCheck:
    """One check of a proof.

    Attributes:
        name: stable ("matrix x86-64-v3", "heap", "decoders").
        status: how it ended.
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
        wheel_sha256: of the build.
        reference_sha256: of the official wheel; empty where there is none.
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
        subject: what was proven.
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


def failed_operations(proof: Proof) -> tuple[str, ...]:
    """The operations that failed in any check, each of them once, sorted."""
    failed = (check for check in proof.checks if check.status is ProofStatus.FAILED)
    return tuple(sorted({operation for check in failed for operation in check.operations}))
