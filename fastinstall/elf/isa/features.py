"""List CPU features, as /proc/cpuinfo names them: those of a level, and those that compiler switches allow.

Source: /proc/cpuinfo (arch/x86/include/asm/cpufeatures.h of Linux).
"""

from collections.abc import Collection, Iterable

from fastinstall.core.architecture import X86_64
from fastinstall.elf.cpu import LEVELS, list_level_features

_IMPLIES = {
    "ssse3": ("pni",),
    "sse4_1": ("pni", "ssse3"),
    "sse4_2": ("pni", "ssse3", "sse4_1", "popcnt"),
    "avx": ("pni", "ssse3", "sse4_1", "sse4_2", "popcnt"),
    "f16c": ("avx",),
    "fma": ("avx",),
    "avx2": ("avx",),
    "avx512f": ("avx2", "avx", "fma", "f16c"),
}

_SWITCHES = {"sse3": "pni", "sse4.1": "sse4_1", "sse4.2": "sse4_2", "sse4": "sse4_2", "lzcnt": "abm", "bmi": "bmi1"}

_FLAGS = frozenset({"popcnt", "bmi2", "movbe", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}).union(_IMPLIES)


def level_for(features: Collection[str]) -> str | None:
    """Return the lowest x86-64 level with all of `features`, or None if no level has them all.

    >>> level_for({"avx2"}), level_for({"popcnt"}), level_for({"sha_ni"})
    ('x86-64-v3', 'x86-64-v2', None)
    """
    return next((level for level in LEVELS if not set(features).difference(list_level_features(level))), None)


def features_of_level(level: str) -> tuple[str, ...]:
    """Return the features that code for a level may use, beyond x86-64-v1."""
    usual = {*X86_64.levels[0].requires, "lahf_lm", "xsave"}
    return tuple(flag for flag in list_level_features(level) if flag not in usual)


def features_of_switches(lines: Iterable[str]) -> frozenset[str] | None:
    """Return the features that recorded compiler switches allowed the compiler to use, beyond x86-64-v1.

    Args:
        lines: the distinct sets of switches that parts of a file were compiled with, one set per line.

    Returns:
        The features. None if they are unknown: 1. the switches name neither a CPU nor a feature; 2. they name
        `-march=native` or a CPU that is not in the tables; 3. the sets allow different features.
    """
    found = {_parse_switch_line(line) for line in lines}
    return found.pop() if len(found) == 1 else None


def _parse_switch_line(line: str) -> frozenset[str] | None:
    known: set[str] | None = None
    for word in line.split():
        if word.startswith("-march="):
            processor = word.removeprefix("-march=")
            levels = [each.name for each in X86_64.levels if processor in (each.name, *each.aliases, *each.processors)]
            if not levels:
                return None
            known = (known or set()).union(*map(features_of_level, levels))
        elif word.startswith("-m") and (word[2:] in _SWITCHES or word[2:] in _FLAGS):
            feature = _SWITCHES.get(word[2:], word[2:])
            known = {feature, *_IMPLIES.get(feature, ()), *(known or ())}
    return frozenset(known) if known is not None else None


def sort_cpu_features(features: Iterable[str]) -> tuple[str, ...]:
    """Sort features by the level that requires them; features that no level requires come last, by name."""
    order = {flag: number for number, flag in enumerate(list_level_features(X86_64.levels[-1].name))}
    return tuple(sorted(features, key=lambda flag: (order.get(flag, len(order)), flag)))
