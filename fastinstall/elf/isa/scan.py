"""What the code of a file asks of a CPU, as a value."""

from enum import StrEnum
from pathlib import PurePath

from fastinstall.core.values import immutable


class Confidence(StrEnum):
    """How sure a scan is of what it says."""

    CERTAIN = "certain"
    """Decoded, and nothing in the file chooses code at run time: whatever is there may run."""
    LIKELY = "likely"
    """Decoded; the file chooses code at run time, and which of it runs unasked is an estimate."""
    UNVERIFIED = "unverified"
    """Not decoded: what the file's note or its recorded switches say."""


@immutable
class IsaScan:
    """What the code of one file asks of a CPU. Features are named as in /proc/cpuinfo ("avx2", "pni", "abm").

    Attributes:
        path: the scanned ELF file, as the caller named it.
        sha256: hexadecimal; the key under which a scan is kept.
        confidence: how sure it is.
        requires: features without which it dies or computes wrongly, beyond those of x86-64-v1.
        contains: features that it uses where a dispatcher of its own found them.
        silent: those of `requires` whose absence gives wrong results instead of a signal ("abm": LZCNT).
        level: the least x86-64 level that has all of `requires`; None if none has them, or on other machines.
        shares: of each feature, the share of the decoded instructions that need it, 0.0 to 1.0.
        declared: the level that the file itself declares; where a CPU lacks it, the loader refuses the file.
        instructions: how many were decoded.
        evidence: why, in words: "no dispatcher: neither CPUID, IRELATIVE nor __cpu_model".
        problem: why there is no scan; empty if there is one.
    """

    path: PurePath
    sha256: str
    confidence: Confidence
    requires: tuple[str, ...] = ()
    contains: tuple[str, ...] = ()
    silent: tuple[str, ...] = ()
    level: str | None = None
    shares: dict[str, float]
    declared: str | None = None
    instructions: int = 0
    evidence: tuple[str, ...] = ()
    problem: str = ""
