"""What becomes of code on a CPU, from what it asks for and what the CPU has; and which copy of a core a CPU gets."""

from enum import StrEnum

from fastinstall.model.core import Core, CoreLevel
from fastinstall.model.cpu import Cpu
from fastinstall.model.immutable import immutable
from fastinstall.model.isa import Confidence, IsaScan
from fastinstall.rules.levels import level_of, offered_by, rank, required_by

MACHINE = "x86_64"


class Outcome(StrEnum):
    """What becomes of a file's code on a CPU."""

    RUNS = "runs"
    WRONG = "computes wrongly"
    DIES = "dies"
    REFUSED = "is refused"
    UNTOLD = "cannot be told"


@immutable
class Verdict:
    """What becomes of one file on one CPU.

    Attributes:
        scan: of the file.
        outcome: what happens.
        lacking: features that it requires and the CPU has not, those of `silent` included.
        silent: those whose absence gives wrong results instead of a signal.
    """

    scan: IsaScan
    outcome: Outcome
    lacking: tuple[str, ...] = ()
    silent: tuple[str, ...] = ()

    @property
    def is_fatal(self) -> bool:
        """Whether the file must not be used on that CPU."""
        return self.outcome in {Outcome.WRONG, Outcome.DIES, Outcome.REFUSED}


def judge(scan: IsaScan, cpu: Cpu) -> Verdict:
    """Say what becomes of a file's code on a CPU.

    A loader of glibc 2.33 or later refuses a file whose declared level the CPU lacks. Else code dies at the
    first instruction that the CPU does not know; where all that is lacking is taken for other instructions, it
    goes on with wrong results.
    """
    if scan.problem or cpu.architecture != MACHINE or not (cpu.flags or rank(cpu.level)):
        return Verdict(scan=scan, outcome=Outcome.UNTOLD)
    lacking = missing(scan, cpu)
    silent = tuple(feature for feature in lacking if feature in scan.silent)
    if rank(scan.declared) > rank(offered_by(cpu)):
        outcome = Outcome.REFUSED
    elif len(lacking) > len(silent):
        outcome = Outcome.DIES
    elif silent:
        outcome = Outcome.WRONG
    else:
        outcome = Outcome.RUNS if _is_told(scan, cpu) else Outcome.UNTOLD
    return Verdict(scan=scan, outcome=outcome, lacking=lacking, silent=silent)


def missing(scan: IsaScan, cpu: Cpu) -> tuple[str, ...]:
    """What a file requires and a CPU has not; nothing, where the CPU's features are unknown."""
    if not cpu.flags:
        return ()
    return tuple(feature for feature in scan.requires if feature not in cpu.flags)


def beyond(scan: IsaScan, level: str) -> tuple[str, ...]:
    """What a file requires and CPUs of a level need not have."""
    return tuple(feature for feature in scan.requires if feature not in required_by(level))


def taken_by(core: Core, cpu: Cpu, *, knows_levels: bool) -> CoreLevel | None:
    """Return the copy of a core that a CPU's loader takes, or None if it has no copies.

    Args:
        core: the core.
        cpu: the processor; its level is what its loader goes by.
        knows_levels: whether the C library there is one that looks for copies by level.
    """
    if not core.levels:
        return None
    limit = rank(cpu.level or level_of(cpu.flags)) if knows_levels else 0
    fitting = [copy for copy in core.levels[1:] if 0 < rank(copy.level) <= limit]
    return max(fitting, key=lambda copy: rank(copy.level), default=core.levels[0])


def _is_told(scan: IsaScan, cpu: Cpu) -> bool:
    """Whether nothing that would be lacking can have been overlooked."""
    if scan.confidence is Confidence.UNVERIFIED and scan.level is None:
        return False
    return bool(cpu.flags) or not scan.requires
