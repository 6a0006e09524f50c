"""x86-64 micro-architecture levels, in the kernel's spelling of the features.

Source: the x86-64 psABI, section 3.1.1. The kernel shows SSE3 as "pni" and LZCNT as "abm"; OSXSAVE
has no name in /proc/cpuinfo, and "xsave" stands for it there.
"""

import re
from collections.abc import Collection
from contextlib import suppress

from fastinstall.elf.description import Cpu

LEVELS: dict[str, tuple[str, ...]] = {
    "x86-64-v1": ("lm", "cmov", "cx8", "fpu", "fxsr", "mmx", "syscall", "sse", "sse2"),
    "x86-64-v2": ("cx16", "lahf_lm", "popcnt", "pni", "ssse3", "sse4_1", "sse4_2"),
    "x86-64-v3": ("avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe", "xsave"),
    "x86-64-v4": ("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"),
}

# Features that no CPU has without the whole of the level; where one shows, the missing ones are hidden.
_IMPLY: dict[str, frozenset[str]] = {
    "x86-64-v2": frozenset({"avx", "avx2", "bmi2", "avx512f"}),
    "x86-64-v3": frozenset({"avx2", "bmi2", "avx512f"}),
    "x86-64-v4": frozenset({"avx512bw", "avx512dq", "avx512vl", "avx512_vnni"}),
}

# Families whose every member has the level, by marketing name.
_FAMILIES: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("x86-64-v4", re.compile(r"Xeon.*\b(Platinum|Gold|Silver|Bronze)\b|EPYC [49][0-9A-Z]\d\d|Ryzen \d 9\d{3}")),
    ("x86-64-v3", re.compile(r"EPYC|Ryzen|Xeon.*E[357]-\d{4}[A-Z]* v[3-9]|Core.* i[3579]-([5-9]|1[0-4])\d{3}")),
)

LOADER_WITH_LEVELS = (2, 33)  # of glibc

_INTEL = "GenuineIntel"
_HASWELL = frozenset({"avx2", "fma", "bmi1", "bmi2", "abm", "movbe", "popcnt"})
_XEON_PHI = frozenset({"avx512cd", "avx512er", "avx512pf"})
_AVX512_1 = frozenset({"avx512cd", "avx512bw", "avx512dq", "avx512vl"})
_SAVED = frozenset({"avx2", "fma"}) | _XEON_PHI | _AVX512_1
_BITS = {"x86_64": 2, "avx512_1": 4}
_TUNABLE = {"abm": "LZCNT"}
_FIRST_OF_THE_NEXT = {"x86-64-v2": "AVX2", "x86-64-v3": "AVX512F"}


def rank(level: str | None) -> int:
    """The number of a level, 1 to 4; 0 for what cannot be compared ("native", None)."""
    matched = re.fullmatch(r"x86-64(?:-v(\d)|-baseline)?", level or "")
    return int(matched[1] or 1) if matched else 0


def knows_levels(libc: str, version: str) -> bool:
    """Whether a C library's loader searches the level directories of glibc-hwcaps (glibc 2.33 and later).

    One of unknown version is taken to do so.
    """
    if libc == "musl":
        return False
    matched = re.match(r"(\d+)\.(\d+)", version)
    return matched is None or (int(matched[1]), int(matched[2])) >= LOADER_WITH_LEVELS


def tunable_for(level: str) -> str:
    """The setting of glibc by which its loader takes this level on a CPU that has a higher one; empty if none does.

    Source: the GNU C Library manual, "Hardware Capability Tunables".
    """
    feature = _FIRST_OF_THE_NEXT.get(level, "")
    return f"glibc.cpu.hwcaps=-{feature}" if feature else ""


def platform_of(cpu: Cpu, tunables: str = "") -> tuple[str, tuple[str, ...]]:
    """What glibc's loader calls an x86-64 CPU: $PLATFORM, and the capabilities that it searches by before glibc 2.37.

    "haswell", "xeon_phi" and "avx512_1" are for Intel's CPUs alone, whatever another maker's can do.

    Args:
        cpu: its maker and features count.
        tunables: the variable GLIBC_TUNABLES; its features are named as since glibc 2.32.

    Source: glibc's sysdeps/x86/cpu-features.c, cpu-tunables.c and elf/dl-hwcaps.c.
    """
    settings = {name: value for name, _, value in (setting.partition("=") for setting in tunables.split(":"))}
    usable = _select_usable(cpu.flags, settings.get("glibc.cpu.hwcaps", "")) if cpu.vendor == _INTEL else frozenset()
    capabilities = ("avx512_1", "x86_64") if usable >= _AVX512_1 and "avx512er" not in usable else ("x86_64",)
    mask = None
    with suppress(ValueError):
        mask = int(settings.get("glibc.cpu.hwcap_mask", ""), 0)
    kept = tuple(name for name in capabilities if mask is None or mask & _BITS[name])
    if usable >= _XEON_PHI:
        return "xeon_phi", kept
    return "haswell" if usable >= _HASWELL else "x86_64", kept


def _select_usable(flags: Collection[str], setting: str) -> frozenset[str]:
    """The features that the setting leaves; some are usable only while registers can be saved."""
    words = setting.split(",")
    usable = frozenset(flag for flag in flags if f"-{_TUNABLE.get(flag, flag.upper())}" not in words)
    if "-OSXSAVE" in words or usable.isdisjoint({"xsave", "xsavec"}):
        return usable - _SAVED
    return usable


def list_level_features(level: str) -> tuple[str, ...]:
    """Every feature of a level, those of the lower ones included."""
    names = list(LEVELS)
    return tuple(flag for name in names[: names.index(level) + 1] for flag in LEVELS[name])


def list_missing_features(level: str, flags: Collection[str]) -> tuple[str, ...]:
    """The features of `level` that are not among `flags`; empty if it is reached."""
    return tuple(flag for flag in list_level_features(level) if flag not in flags)


def level_of(flags: Collection[str]) -> str | None:
    """Return the highest level whose features are all among `flags`, or None if there is none."""
    reached = [level for level in LEVELS if not list_missing_features(level, flags)]
    return reached[-1] if reached else None


def find_offered_level(cpu: Cpu) -> str | None:
    """The level that programs can use, whatever GLIBC_TUNABLES makes the loader believe, or by the features alone."""
    if cpu.level is not None and not cpu.tunables:
        return cpu.level
    return max(cpu.level, level_of(cpu.flags), key=rank)


def find_masked_features(flags: Collection[str], name: str, level: str | None) -> tuple[str, ...]:
    """Features of the next level that such a CPU has, and that something hides from us.

    Told from features that never come without the others, or from the family that `name` belongs to.
    """
    names = list(LEVELS)
    following = names[names.index(level) + 1 :] if level is not None else []
    if not following:
        return ()
    of_family = any(family in following for family, pattern in _FAMILIES if pattern.search(name))
    if of_family or not _IMPLY[following[0]].isdisjoint(flags):
        return list_missing_features(following[0], flags)
    return ()
