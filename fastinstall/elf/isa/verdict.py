"""Find the CPU features that a file's machine code requires, by decoding its instructions without running them.

Decoding x86-64 code needs the extra `isa`. Without it, only the ISA note and recorded compiler switches are read.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from fastinstall.core.architecture import AARCH64, X86_64
from fastinstall.core.files import sha256 as digest
from fastinstall.elf.cpu import LEVELS, list_level_features
from fastinstall.elf.description import Confidence, IsaScan
from fastinstall.elf.dynamic import read_dynamic
from fastinstall.elf.image import ElfError, open_image
from fastinstall.elf.isa import arm_verdict, instructions
from fastinstall.elf.isa.usage import Usage, features_of, read_usage
from fastinstall.elf.symbols import compiler_switches

ALGORITHM = 1
"""Increase this number with every change that affects results: cached scans with another number are ignored."""

_BY_ENCODINGS, _BY_ICED = frozenset({AARCH64.machine}), frozenset({X86_64.machine})
"""Machines whose code is scanned by this package's tables of encodings, and by iced-x86."""

_KNOWN = f"{X86_64.title} and {AARCH64.title}"
_NEARLY_ALL = 0.97
_SHOWN = 4


def scan_isa(path: Path, *, sha256: str = "", decode: bool = True) -> IsaScan:
    """Return the CPU features that a file requires, and those that it uses only after a check by its own dispatcher.

    If the file cannot be read or is for an unknown architecture, the scan's `problem` says so; nothing is raised.

    Args:
        path: an extension module, library or program.
        sha256: hash of the file, if already known.
        decode: if False, decode no code, and read only an x86-64 file's ISA note and recorded compiler switches.
    """
    seen = IsaScan(path=path, sha256=sha256, confidence=Confidence.UNVERIFIED, shares={})
    try:
        seen = replace(seen, sha256=sha256 or digest(path))
        file = read_dynamic(path)
        if decode and file.machine in _BY_ENCODINGS:
            return arm_verdict.complete_scan(seen)
        if file.machine not in _BY_ICED:
            return replace(seen, problem=f"built for {file.machine}: only code for {_KNOWN} is told apart")
        seen = replace(seen, declared=file.isa_needed)
        return _decode_code(seen) if decode and instructions.is_available() else _read_declared_isa(seen)
    except OSError as error:
        return replace(seen, problem=f"cannot be read: {error.strerror or error}")
    except ElfError as error:
        return replace(seen, problem=error.problem)


def _read_declared_isa(scan: IsaScan) -> IsaScan:
    """Complete a scan from the file's ISA note and its recorded compiler switches."""
    switches = compiler_switches(Path(scan.path))
    by_switches = _features_of_switches(switches)
    found = {*(by_switches or ()), *(_features_of_level(scan.declared) if scan.declared else ())}
    told = scan.declared is not None or by_switches is not None
    recorded = (f"recorded switches (first of {len(switches)} sets): {switches[0]}",) if switches else ()
    return replace(
        scan,
        requires=_sort_cpu_features(found),
        level=_level_for(found) if told else None,
        evidence=(*_describe_note(scan), *recorded, "not decoded: the code itself was not inspected"),
    )


def _decode_code(scan: IsaScan) -> IsaScan:
    with open_image(Path(scan.path)) as image:
        usage = read_usage(image)
    used, decoded = features_of(usage.functions), sum(function.instructions for function in usage.functions)
    required = _collect_required_features(usage)
    certain = not usage.asks and all(function.is_code for function in usage.functions)
    places = _describe_places(usage, _sort_cpu_features(required))
    return replace(
        scan,
        confidence=Confidence.CERTAIN if certain else Confidence.LIKELY,
        requires=_sort_cpu_features(required),
        contains=_sort_cpu_features(used.keys() - required),
        silent=_sort_cpu_features(required & instructions.SILENT),
        level=_level_for(required),
        shares={feature: round(used[feature] / decoded, 6) for feature in _sort_cpu_features(used)},
        instructions=decoded,
        evidence=(*_describe_note(scan), *_describe_dispatcher(usage), *places),
    )


def _collect_required_features(usage: Usage) -> set[str]:
    """Return the features that the file cannot run without.

    These are the features of functions that run without a check of the CPU. If nearly all vector instructions are in
    the AVX or AVX-512 encodings, the file has hardly any code for older CPUs. Then the features that most functions use
    are required too.
    """
    sound = [function for function in usage.functions if function.is_code]
    if not usage.asks:
        return set(features_of(sound))
    required: set[str] = set()
    if usage.bounded:
        required.update(features_of(function for function in sound if function.unasked))
    wide = sum(function.wide for function in usage.functions)
    if wide > _NEARLY_ALL * (
        wide + sum(function.legacy for function in usage.functions)
    ):  # add the features in more than half of the functions that use any feature
        using = [function.features for function in sound if function.features]
        found = Counter(feature for features in using for feature in features)
        required |= {feature for feature, times in found.items() if 2 * times > len(using)}
    return required


def _describe_note(scan: IsaScan) -> tuple[str, ...]:
    declared = scan.declared
    return (f"declares to need {declared} (GNU_PROPERTY_X86_ISA_1_NEEDED)",) if declared else ()


def _describe_dispatcher(usage: Usage) -> Iterator[str]:
    if not usage.asks:
        yield "no dispatcher: neither CPUID, IRELATIVE nor __cpu_model"
        return
    places = ", ".join(f"{address:#x}" for address in usage.asks[:_SHOWN])
    more = f" and {len(usage.asks) - _SHOWN} more" if len(usage.asks) > _SHOWN else ""
    yield f"checks the CPU, or acts on the result, in the functions at {places}{more}"
    if not usage.bounded:
        yield "functions cannot be told apart: who calls them is unknown"


def _describe_places(usage: Usage, features: tuple[str, ...]) -> Iterator[str]:
    """Yield, for each required feature that is used, a text that names the function with the most uses."""
    unasked = [function for function in usage.functions if function.unasked and function.features]
    for feature in features:
        held = [(function.features.get(feature, 0), function.address) for function in unasked]
        most, address = max(held, default=(0, 0))
        if most:
            yield f"{feature}: {sum(number for number, _ in held)} instructions, {most} of them at {address:#x}"


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


def _level_for(features: Collection[str]) -> str | None:
    """Return the lowest x86-64 level with all of `features`, or None if no level has them all.

    >>> _level_for({"avx2"}), _level_for({"popcnt"}), _level_for({"sha_ni"})
    ('x86-64-v3', 'x86-64-v2', None)
    """
    return next((level for level in LEVELS if not set(features).difference(list_level_features(level))), None)


def _features_of_level(level: str) -> tuple[str, ...]:
    """Return the features that code for a level may use, beyond x86-64-v1."""
    usual = {*X86_64.levels[0].requires, "lahf_lm", "xsave"}
    return tuple(flag for flag in list_level_features(level) if flag not in usual)


def _features_of_switches(lines: Iterable[str]) -> frozenset[str] | None:
    """Return the features that recorded compiler switches allowed the compiler to use, beyond x86-64-v1.

    Args:
        lines: the distinct sets of switches that parts of a file were compiled with, one set per line.

    Returns:
        The features. None if they are unknown, for one of three reasons: 1. the switches name neither a CPU nor a
        feature; 2. they name `-march=native` or a CPU that is not in the tables; 3. the sets allow different features.
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
            known = (known or set()).union(*map(_features_of_level, levels))
        elif word.startswith("-m") and (word[2:] in _SWITCHES or word[2:] in _FLAGS):
            feature = _SWITCHES.get(word[2:], word[2:])
            known = {feature, *_IMPLIES.get(feature, ()), *(known or ())}
    return frozenset(known) if known is not None else None


def _sort_cpu_features(features: Iterable[str]) -> tuple[str, ...]:
    """Sort features by the level that requires them; features that no level requires come last, by name."""
    order = {flag: number for number, flag in enumerate(list_level_features(X86_64.levels[-1].name))}
    return tuple(sorted(features, key=lambda flag: (order.get(flag, len(order)), flag)))
