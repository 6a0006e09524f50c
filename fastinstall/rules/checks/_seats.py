"""The CPUs that code is judged for, and which of PIL's files each of them would load."""

from fastinstall.model.core import CoreLevel
from fastinstall.model.cpu import Cpu
from fastinstall.model.immutable import immutable
from fastinstall.model.isa import IsaScan
from fastinstall.rules.checks._context import CheckContext
from fastinstall.rules.checks._copies import called
from fastinstall.rules.isa import taken_by
from fastinstall.rules.levels import knows_levels


@immutable
class Seat:
    """A CPU that code is judged for.

    Attributes:
        subject: how a sentence calls it: "this CPU", "the host node7".
        cpu: its processor.
        here: whether it is this machine's.
    """

    subject: str
    cpu: Cpu
    here: bool


def loaded_scans(context: CheckContext, seat: Seat) -> tuple[IsaScan, ...]:
    """Give the scans of what a CPU's loader would take: of a core with copies only one."""
    taken = taken_copy(context, seat)
    passed = {copy.path for copy in copies(context) if copy != taken}
    return tuple(scan for scan in context.facts.isa if scan.path not in passed)


def taken_copy(context: CheckContext, seat: Seat) -> CoreLevel | None:
    """Give the copy of the core that a CPU's loader would take; None where there are no copies, or none that is."""
    core, python = context.facts.stack.core, context.facts.interpreter
    if core is None:
        return None
    if seat.here:
        return next((copy for copy in core.levels if copy.loaded), None)
    return taken_by(core, seat.cpu, knows_levels=knows_levels(python.libc, python.libc_version))


def copies(context: CheckContext) -> tuple[CoreLevel, ...]:
    """Give the copies of the core, the baseline first; none where the core holds its code itself."""
    core = context.facts.stack.core
    return core.levels if core is not None else ()


def name_of(context: CheckContext, scan: IsaScan) -> str:
    """Name a file for a person: "the core", "the copy for x86-64-v3 of the core", "_webp.cpython-311...so"."""
    core = context.facts.stack.core
    if core is not None and scan.path == core.path:
        return "the core"
    copy = next((copy for copy in copies(context) if copy.path == scan.path), None)
    return f"{called(core, copy)} of the core" if core is not None and copy is not None else scan.path.name
