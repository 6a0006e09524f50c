"""The audit of a built core: it is optimised, marked with its CPU level, and contains the kernels."""

import re
from pathlib import Path

from fastinstall.core.architecture import ARCHITECTURES
from fastinstall.core.errors import FailedError
from fastinstall.elf.dynamic import read_dynamic
from fastinstall.elf.image import ElfError
from fastinstall.elf.symbols import find_defined_names, measure_unoptimised_share

_MOST_UNOPTIMISED = 0.5


_MARKED_LEVELS = "|".join(level.name for each in ARCHITECTURES if each.isa_property for level in each.levels)


_LEVEL_FLAG = re.compile(rf"-Wl,(?:.*,)?-?z,({_MARKED_LEVELS})\b")


def audit_core(
    core: Path, symbols: tuple[str, ...], ldflags: tuple[str, ...], hidden: frozenset[str] = frozenset()
) -> None:
    """Refuse a core that fails the audit.

    Args:
        core: the built extension module.
        symbols: symbols that it must define.
        ldflags: those of the recipe for its level.
        hidden: symbols that it must not export, because another library may define them too.

    Raises:
        FailedError: it cannot be read, is not optimised, lacks kernels, exports hidden symbols, or lacks the mark of
            its CPU level.
    """
    try:
        problems = (
            *(_audit_optimisation(core), _audit_kernels(core, symbols), _audit_level(core, ldflags)),
            _audit_exports(core, hidden),
        )
    except (ElfError, OSError) as error:
        raise FailedError(f"cannot read the built core: {error}") from error
    found = tuple(problem for problem in problems if problem)
    if found:
        raise FailedError(f"{core.name} fails the audit: {found[0]}", details=found)


def _audit_optimisation(core: Path) -> str:
    share = measure_unoptimised_share(core)
    if share is None or share < _MOST_UNOPTIMISED:
        return ""
    return f"compiled without optimisation ({share:.0%} of its functions look like -O0 code)"


def _audit_kernels(core: Path, symbols: tuple[str, ...]) -> str:
    missing = sorted(set(symbols) - find_defined_names(core, symbols))
    return f"kernels are missing: {', '.join(missing)}" if missing else ""


def _audit_exports(core: Path, hidden: frozenset[str]) -> str:
    shown = sorted(find_defined_names(core, hidden, exported=True))
    return f"it exports functions of the linked libraries: {', '.join(shown[:3])}" if shown else ""


def _audit_level(core: Path, ldflags: tuple[str, ...]) -> str:
    asked = next((match[1] for flag in ldflags if (match := _LEVEL_FLAG.search(flag))), None)
    noted = read_dynamic(core).isa_needed
    return f"it is marked {noted or 'with no CPU level'}, expected {asked}" if asked and noted != asked else ""
