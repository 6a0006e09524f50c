"""Which micro-architecture level a CPU has, and what hides it."""

import re
from collections.abc import Collection

from fastinstall.core.architecture import ARCHITECTURES, X86_64, Architecture
from fastinstall.elf.cpu import Cpu

LEVELS: dict[str, tuple[str, ...]] = {level.name: level.requires for level in X86_64.levels}
"""What the levels of x86-64 require beyond the one below."""

_RANKS = {
    name: rank
    for architecture in ARCHITECTURES
    for rank, level in enumerate(architecture.levels, start=1)
    for name in (level.name, *level.aliases)
}
_BY_NAME = {level.name: level for level in X86_64.levels}

LOADER_WITH_LEVELS = (2, 33)  # of glibc


def rank(level: str | None) -> int:
    """Return the number of a level of its architecture, from 1; 0 for what cannot be compared.

    >>> rank("x86-64-v3"), rank("native"), rank(None)
    (3, 0, 0)
    """
    return _RANKS.get(level or "", 0)


def knows_levels(libc: str, version: str) -> bool:
    """Return whether a C library's loader searches the level directories of glibc-hwcaps (glibc 2.33 and later).

    One of unknown version is taken to do so.
    """
    if libc == "musl":
        return False
    matched = re.match(r"(\d+)\.(\d+)", version)
    return matched is None or (int(matched[1]), int(matched[2])) >= LOADER_WITH_LEVELS


def tunable_for(level: str) -> str:
    """Return the setting of glibc that makes its loader take this level on a CPU of a higher one; else empty.

    Source: the GNU C Library manual, "Hardware Capability Tunables".
    """
    names = list(LEVELS)
    following = names[names.index(level) + 1 :][:1] if level in names else ()
    switch = "".join(_BY_NAME[name].switch for name in following)
    return f"glibc.cpu.hwcaps=-{switch}" if switch else ""


def list_level_features(level: str) -> tuple[str, ...]:
    """Return every feature of a level, those of the lower ones included."""
    names = list(LEVELS)
    return tuple(flag for name in names[: names.index(level) + 1] for flag in LEVELS[name])


def list_missing_features(level: str, flags: Collection[str]) -> tuple[str, ...]:
    """Return the features of `level` that are not among `flags`; empty if it is reached."""
    return tuple(flag for flag in list_level_features(level) if flag not in flags)


def level_of(flags: Collection[str]) -> str | None:
    """Return the highest level whose features are all among `flags`, or None if there is none."""
    reached = [level for level in LEVELS if not list_missing_features(level, flags)]
    return reached[-1] if reached else None


def list_auxiliary_features(architecture: Architecture, hwcap: int, hwcap2: int) -> tuple[str, ...]:
    """Return the features that the kernel tells a program at its start, as /proc/cpuinfo names them.

    Bits without a name are passed over.

    Args:
        architecture: of the CPU.
        hwcap: AT_HWCAP, of the auxiliary vector.
        hwcap2: AT_HWCAP2.

    Source: getauxval(3).
    """
    pairs = zip(architecture.auxiliary, (hwcap, hwcap2), strict=True)
    return tuple(name for names, word in pairs for bit, name in enumerate(names) if word >> bit & 1)


def find_offered_level(cpu: Cpu) -> str | None:
    """Return the level that programs can use, by the features where GLIBC_TUNABLES misleads the loader."""
    if cpu.level is not None and not cpu.tunables:
        return cpu.level
    return max(cpu.level, level_of(cpu.flags), key=rank)


def find_masked_features(flags: Collection[str], name: str, level: str | None) -> tuple[str, ...]:
    """Return features of the next level that such a CPU has, and that something hides from us.

    Told from features that never come without the others, or from the family that `name` belongs to.
    """
    names = list(LEVELS)
    following = names[names.index(level) + 1 :] if level is not None else []
    if not following:
        return ()
    families = [_BY_NAME[each].families for each in following]
    of_family = any(family is not None and family.search(name) for family in families)
    if of_family or not _BY_NAME[following[0]].implied_by.isdisjoint(flags):
        return list_missing_features(following[0], flags)
    return ()
