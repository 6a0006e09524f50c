"""Check every copy of the imaging core in a wheel, without running it.

Each copy has to be optimised. It also has to be marked with the CPU level that its directory is for: a copy in the
wrong directory would be loaded by CPUs that lack its level, and crash at the first operation.
"""

import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from fastinstall.elf.description import CoreLevel
from fastinstall.elf.dynamic import read_dynamic
from fastinstall.elf.image import ElfError
from fastinstall.elf.imaging_core import read_levels, read_stub
from fastinstall.elf.symbols import measure_unoptimised_share
from fastinstall.proof.cases import ProofCheck
from whole_proof.checks import finish_check

FLAGS_NAME = "build flags"
LEVELS_NAME = "level marks"

_MOST_UNOPTIMISED = 0.5
_UNMARKED = ("native",)


def prove_binaries(tree: Path, core: Path, levels: Sequence[str]) -> tuple[ProofCheck, ...]:
    """Check every copy of the imaging core.

    Args:
        tree: the unpacked wheel.
        core: path of the extension module relative to `tree`; it may be a stub that loads a copy by CPU level.
        levels: the CPU levels that the wheel was built for, the baseline first.

    Returns:
        Two checks: whether the copies are optimised, and whether each is marked with the level that its directory is
        for.
    """
    begun = time.monotonic()
    module = tree / core
    try:
        stub = read_stub(module)
        if stub is not None:
            copies = read_levels(stub, None, ())
        else:
            share, note = measure_unoptimised_share(module), read_dynamic(module).isa_needed
            only = CoreLevel(
                level=levels[0], path=module, sha256="", loaded=True, unoptimised_share=share, isa_note=note
            )
            copies = (only,)
    except (ElfError, OSError) as error:
        return tuple(finish_check(name, "", (f"{core}: {error}",), begun) for name in (FLAGS_NAME, LEVELS_NAME))
    slow = tuple(
        f"{copy.path.name} of {copy.level}: {copy.unoptimised_share:.0%} of its functions look like -O0 code"
        for copy in copies
        if copy.unoptimised_share is not None and copy.unoptimised_share >= _MOST_UNOPTIMISED
    )
    wrong = tuple(_find_misplaced_copies(copies, levels))
    return (
        finish_check(FLAGS_NAME, "every copy of Pillow's C extension is optimised", slow, begun),
        finish_check(LEVELS_NAME, f"{' and '.join(levels)}, each in its place", wrong, begun),
    )


def _find_misplaced_copies(copies: Sequence[CoreLevel], levels: Sequence[str]) -> Iterator[str]:
    """Yield a problem for each copy that is missing, unexpected, unreadable, or marked with a different level.

    The first copy is the baseline. Its `level` only repeats its mark, so the mark is compared with `levels[0]` instead.
    """
    there = [copy.level for copy in copies[1:]]
    for promised, copy in zip((levels[0], *there), copies, strict=True):
        if copy.problem:
            yield f"the copy for {promised}: {copy.problem}"
        elif promised not in _UNMARKED and copy.isa_note != promised:
            yield f"the copy in the place of {promised} is marked {copy.isa_note or 'with no CPU level'}"
    yield from (f"there is no copy for {level}" for level in levels[1:] if level not in there)
    yield from (f"there is a copy for {level}, which was not requested" for level in there if level not in levels)
