"""CPU features of instructions in the kernel's spelling, and which of them prove nothing; tables, no decoder.

The features are named as iced-x86 names them (`CpuidFeature`, after the manuals of Intel and AMD) and translated to
/proc/cpuinfo (arch/x86/include/asm/cpufeatures.h of Linux).
"""

from collections.abc import Collection, Iterable

from fastinstall.rules.levels import LEVELS

SILENT = frozenset({"abm"})
"""Features whose instructions older CPUs take for others: LZCNT runs as BSR there, and the result is another number."""

_BASELINE = frozenset(
    [
        "INTEL8086",
        "INTEL8086_ONLY",
        "INTEL186",
        "INTEL286",
        "INTEL286_ONLY",
        "INTEL386",
        "INTEL386_ONLY",
        "INTEL486",
        "X64",
        "FPU",
        "FPU287",
        "FPU387",
        "CMOV",
        "CX8",
        "MMX",
        "FXSR",
        "SSE",
        "SSE2",
        "SYSCALL",
        "TSC",
        "CLFSH",
        "SEP",
        "CPUID",
    ]
)
"""Every x86-64 CPU has these (x86-64 psABI, "Micro-architecture levels")."""

_HARMLESS = frozenset(
    [
        "CET_IBT",
        "CET_SS",
        "MULTIBYTENOP",
        "PAUSE",
        "PREFETCHW",
        "PREFETCHWT1",
        "PREFETCHITI",
        "CLDEMOTE",
        "MPX",
        "HLE",
        "UDBG",
    ]
)
"""In the space of hints and no-operations: CPUs without the feature pass over these instructions."""

_SYSTEM = frozenset(
    [
        "MSR",
        "SMM",
        "SMX",
        "SVM",
        "VMX",
        "SKINIT",
        "SKINIT_OR_SVM",
        "INVEPT",
        "INVPCID",
        "INVVPID",
        "MONITOR",
        "RDPMC",
        "SMAP",
        "PKU",
        "RTM",
        "WBNOINVD",
        "XSAVE",
        "XSAVES",
        "RDTSCP",
        "HLE_OR_RTM",
    ]
)
"""Of operating systems, or of code that asks the CPU first: XGETBV and XTEST are themselves questions."""

_PASSED_OVER = _BASELINE | _HARMLESS | _SYSTEM

_KERNEL = {
    "AVX512_4FMAPS": "avx512_4fmaps",
    "AVX512_4VNNIW": "avx512_4vnniw",
    "AVX512_IFMA": "avx512ifma",
    "AVX512_VBMI": "avx512vbmi",
    "CMPXCHG16B": "cx16",
    "D3NOW": "3dnow",
    "D3NOWEXT": "3dnowext",
    "LZCNT": "abm",
    "SHA": "sha_ni",
    "SSE3": "pni",
}
"""Where the kernel's name is not the lower case of the manuals'."""

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
_PROCESSORS = {
    "x86-64-v2": "nehalem westmere silvermont goldmont corei7 bdver1 btver2",
    "x86-64-v3": "haswell broadwell skylake alderlake core-avx2 bdver4 znver1 znver2 znver3",
    "x86-64-v4": "skylake-avx512 cascadelake icelake-client icelake-server sapphirerapids znver4 znver5",
}
_FLAGS = frozenset(
    [
        "ssse3",
        "popcnt",
        "avx",
        "avx2",
        "bmi2",
        "f16c",
        "fma",
        "movbe",
        "avx512f",
        "avx512bw",
        "avx512cd",
        "avx512dq",
        "avx512vl",
    ]
)


def kernel_names(features: Iterable[str]) -> frozenset[str]:
    """What instructions with these features of the manuals ask of a CPU, beyond x86-64-v1, in the kernel's spelling."""
    return frozenset(_KERNEL.get(name, name.lower()) for name in features if name not in _PASSED_OVER)


def level_for(features: Collection[str]) -> str | None:
    """Return the lowest x86-64 level with all of `features`, or None if no level has them all."""
    held: set[str] = set()
    for level, own in LEVELS.items():
        held.update(own)
        if held.issuperset(features):
            return level
    return None


def features_of_level(level: str) -> tuple[str, ...]:
    """What instructions may use on a level, beyond x86-64-v1."""
    names = [name for name in LEVELS if "x86-64-v1" < name <= level]
    return tuple(flag for name in names for flag in LEVELS[name] if flag not in {"lahf_lm", "xsave"})


def features_of_switches(lines: Iterable[str]) -> frozenset[str] | None:
    """What recorded compiler switches allowed the compiler to use, beyond x86-64-v1.

    Args:
        lines: one for each set of switches that parts of a file were compiled with.

    Returns:
        None where it cannot be told: they name no CPU, or `-march=native`, or one that the tables here do not know;
        or they differ, as where a dispatcher's functions were compiled each for its CPU.
    """
    found = {_of_line(line) for line in lines}
    return found.pop() if len(found) == 1 else None


def _of_line(line: str) -> frozenset[str] | None:
    switches = [word for word in line.split() if word.startswith("-m")]
    named = [_of_march(word[7:]) if word.startswith("-march=") else _of_flag(word[2:]) for word in switches]
    known = [features for features in named if features is not None]
    if not known or any(word.startswith("-march=") and _of_march(word[7:]) is None for word in switches):
        return None
    return frozenset(feature for features in known for feature in features)


def _of_march(processor: str) -> tuple[str, ...] | None:
    if processor in LEVELS:
        return features_of_level(processor)
    level = next((level for level, names in _PROCESSORS.items() if processor in names.split()), None)
    if processor == "x86-64":
        return ()
    return features_of_level(level) if level is not None else None


def _of_flag(switch: str) -> tuple[str, ...] | None:
    feature = _SWITCHES.get(switch, switch)
    if feature not in _FLAGS and switch not in _SWITCHES:
        return None
    return (feature, *_IMPLIES.get(feature, ()))


def in_order(features: Iterable[str]) -> tuple[str, ...]:
    """Features in the order of the levels that they belong to; what belongs to none comes last, by name."""
    order = {flag: number for number, flag in enumerate(flag for flags in LEVELS.values() for flag in flags)}
    return tuple(sorted(features, key=lambda flag: (order.get(flag, len(order)), flag)))
