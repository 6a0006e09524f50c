"""The result of scanning a file's code for the CPU features that it needs, as a value."""

from enum import StrEnum
from pathlib import PurePath

from fastinstall.core.values import immutable


class Confidence(StrEnum):
    """How certain the result of a scan is."""

    CERTAIN = "certain"
    """The code was decoded, and nothing in the file chooses code at run time: all of the code may run."""
    LIKELY = "likely"
    """The code was decoded, but the file chooses some of its code at run time, so `requires` is an estimate."""
    UNVERIFIED = "unverified"
    """The code was not decoded: the result is from the file's ISA note or its recorded switches."""


@immutable
class IsaScan:
    """The CPU features that one file's code uses, named as in /proc/cpuinfo ("avx2", "pni", "abm").

    Attributes:
        path: the scanned ELF file, as the caller named it.
        sha256: the file's hash, hexadecimal; the key of the scan in the cache.
        confidence: how certain the result is.
        requires: features beyond the lowest level without which the code crashes or computes wrong results.
        contains: features that the code uses only after its own dispatcher found them on the CPU.
        silent: features in `requires` whose absence causes wrong results rather than a signal ("abm": LZCNT).
        level: the lowest level with all of `requires`; None if no level has them all, or if `requires` is unknown.
        shares: for each feature, the share of the decoded instructions that need it, 0.0 to 1.0.
        declared: the level in the file's ISA note; on a CPU below it, the loader refuses the file.
        instructions: number of decoded instructions.
        evidence: reasons for the result, as text: "no dispatcher: neither CPUID, IRELATIVE nor __cpu_model".
        problem: why the file could not be scanned; empty if it was scanned.
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
