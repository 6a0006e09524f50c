"""Every core of a wheel, read and not run: optimised, and of the CPU level that its place promises.

A core that needs more than its place says would be loaded by a CPU that has it not, and die at the first operation.
"""

import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from fastinstall.binary.core_levels import read_levels, read_stub
from fastinstall.binary.dynamic import ElfError, read_dynamic
from fastinstall.binary.symbols import unoptimised_share
from fastinstall.model.core import CoreLevel
from fastinstall.model.proof import ProofCheck, ProofStatus

FLAGS_NAME = "build flags"
LEVELS_NAME = "level marks"

_MOST_UNOPTIMISED = 0.5
_UNMARKED = ("native",)


def prove_binaries(tree: Path, core: Path, levels: Sequence[str]) -> tuple[ProofCheck, ...]:
    """Look at every copy of the core.

    Args:
        tree: the unpacked wheel.
        core: the module in it, which may be a stub, relative to it.
        levels: those that the wheel was built for, the baseline first.

    Returns:
        Two checks: how the copies were compiled, and which level each declares to need.
    """
    begun = time.monotonic()
    try:
        copies = _copies(tree / core, levels)
    except (ElfError, OSError) as error:
        return (
            _check(FLAGS_NAME, "", (f"{core}: {error}",), begun),
            _check(LEVELS_NAME, "", (f"{core}: {error}",), begun),
        )
    slow = tuple(_unoptimised(copies))
    wrong = tuple(_misplaced(copies, levels))
    return (
        _check(FLAGS_NAME, "every copy of the core is optimised", slow, begun),
        _check(LEVELS_NAME, f"{' and '.join(levels)}, each in its place", wrong, begun),
    )


def _copies(core: Path, levels: Sequence[str]) -> tuple[CoreLevel, ...]:
    """The copies of the code; where there is one only, it is the module itself."""
    stub = read_stub(core)
    if stub is not None:
        return read_levels(stub, None, ())
    share, note = unoptimised_share(core), read_dynamic(core).isa_needed
    return (CoreLevel(level=levels[0], path=core, sha256="", loaded=True, unoptimised_share=share, isa_note=note),)


def _unoptimised(copies: Sequence[CoreLevel]) -> Iterator[str]:
    for copy in copies:
        share = copy.unoptimised_share
        if share is not None and share >= _MOST_UNOPTIMISED:
            yield f"{copy.path.name} of {copy.level}: {share:.0%} of its functions begin as at -O0"


def _misplaced(copies: Sequence[CoreLevel], levels: Sequence[str]) -> Iterator[str]:
    """The baseline is named by its note, so its place is told by its order."""
    expected = {copy.level: copy.level for copy in copies[1:]}
    for number, copy in enumerate(copies):
        promised = levels[0] if number == 0 else expected[copy.level]
        if copy.problem:
            yield f"the copy for {promised}: {copy.problem}"
        elif promised not in _UNMARKED and copy.isa_note != promised:
            yield f"the copy in the place of {promised} is marked {copy.isa_note or 'with no CPU level'}"
    missing = [level for level in levels[1:] if level not in expected]
    yield from (f"there is no copy for {level}" for level in missing)
    yield from (f"there is a copy for {level}, which was not asked for" for level in expected if level not in levels)


def _check(name: str, passed: str, problems: tuple[str, ...], begun: float) -> ProofCheck:
    status = ProofStatus.FAILED if problems else ProofStatus.OK
    summary = problems[0] if problems else passed
    seconds = round(time.monotonic() - begun, 2)
    return ProofCheck(name=name, status=status, summary=summary, details=problems, seconds=seconds)
