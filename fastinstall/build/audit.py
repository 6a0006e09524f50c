"""Audit the binary that was built: optimised, marked with its CPU level, and with the kernels in it."""

import re
from pathlib import Path

from fastinstall.binary.dynamic import ElfError, read_dynamic
from fastinstall.binary.symbols import defined_symbols, unoptimised_share
from fastinstall.errors import FailedError

_MOST_UNOPTIMISED = 0.5
_LEVEL_FLAG = re.compile(r"-Wl,(?:.*,)?-?z,(x86-64-v[1-4])\b")


def audit_core(core: Path, symbols: tuple[str, ...], ldflags: tuple[str, ...]) -> None:
    """Refuse a core that is not what was asked for.

    Args:
        core: the built extension module.
        symbols: what it must define.
        ldflags: what the linker was told.

    Raises:
        FailedError: it cannot be read, is not optimised, lacks kernels, or does not bear its CPU level.
    """
    try:
        problems = (_optimised(core), _kernels(core, symbols), _level(core, ldflags))
    except (ElfError, OSError) as error:
        raise FailedError(f"the built core cannot be read: {error}") from error
    found = tuple(problem for problem in problems if problem)
    if found:
        raise FailedError(f"{core.name} is not what was asked for: {found[0]}", details=found)


def _optimised(core: Path) -> str:
    share = unoptimised_share(core)
    if share is None or share < _MOST_UNOPTIMISED:
        return ""
    return f"it was compiled without optimisation ({share:.0%} of its functions begin as at -O0)"


def _kernels(core: Path, symbols: tuple[str, ...]) -> str:
    missing = sorted(set(symbols) - defined_symbols(core))
    return f"kernels are missing: {', '.join(missing)}" if missing else ""


def _level(core: Path, ldflags: tuple[str, ...]) -> str:
    asked = next((match[1] for flag in ldflags if (match := _LEVEL_FLAG.search(flag))), None)
    noted = read_dynamic(core).isa_needed
    return f"it is marked {noted or 'with no CPU level'}, not {asked}" if asked and noted != asked else ""
