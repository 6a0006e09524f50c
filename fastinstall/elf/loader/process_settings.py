"""What decides which files a process loads: its program, the loader's variables, and the CPU's names."""

from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path

from fastinstall.core.architecture import AARCH64, ARCHITECTURES, X86_64, architecture_of
from fastinstall.core.values import immutable
from fastinstall.elf.cpu import Cpu, find_offered_level


def usable_hwcaps(level: str | None) -> tuple[str, ...]:
    """Return the glibc-hwcaps subdirectories that a CPU of a level uses, best first.

    >>> usable_hwcaps("x86-64-v3"), usable_hwcaps(None)
    (('x86-64-v3', 'x86-64-v2'), ())
    """
    listed = next((each.hwcaps for each in ARCHITECTURES if level in each.hwcaps), ())
    return listed[listed.index(level) :] if level is not None and listed else ()


@immutable
class ProcessSettings:
    """What the files of a process depend on.

    Attributes:
        program: the executable, as the process sees it; its links are followed. None if it is not known.
        library_path: the variable LD_LIBRARY_PATH, as written.
        preload: the variable LD_PRELOAD, as written.
        hwcaps: subdirectories of glibc-hwcaps that the CPU can use, best first (`usable_hwcaps`).
        root: the directory that stands for "/".
        working_directory: from which relative paths go.
        level: the CPU's feature level, above which glibc refuses files; None: the best of `hwcaps`, and
            without those nothing is refused.
        platform: what $PLATFORM stands for, "haswell" on Intel's CPUs from AVX2 on; empty: the machine.
        capabilities: for what else loaders before glibc 2.37 search, in their order ("avx512_1", "x86_64";
            "atomics"); None: for what they do on every CPU of the machine.
        page_size: of the kernel, in bytes; files that are made for smaller pages are refused. 0: not known.
    """

    program: Path | None
    library_path: str = ""
    preload: str = ""
    hwcaps: tuple[str, ...] = ()
    root: Path = Path("/")
    working_directory: str = "/"
    level: str | None = None
    platform: str = ""
    capabilities: tuple[str, ...] | None = None
    page_size: int = 0


def settings_for(
    program: Path, cpu: Cpu, variables: Mapping[str, str], *, hwcaps: tuple[str, ...], page_size: int
) -> ProcessSettings:
    """Return the inputs of the loader in a process that starts with some variables on a CPU; arguments as there."""
    platform, capabilities = platform_of(cpu, variables.get("GLIBC_TUNABLES", ""))
    return ProcessSettings(
        program=program,
        library_path=variables.get("LD_LIBRARY_PATH", ""),
        preload=variables.get("LD_PRELOAD", ""),
        hwcaps=hwcaps,
        level=find_offered_level(cpu),
        platform=platform,
        capabilities=capabilities,
        page_size=page_size,
    )


_INTEL = "GenuineIntel"
_HASWELL = frozenset({"avx2", "fma", "bmi1", "bmi2", "abm", "movbe", "popcnt"})
_XEON_PHI = frozenset({"avx512cd", "avx512er", "avx512pf"})
_AVX512_1 = frozenset({"avx512cd", "avx512bw", "avx512dq", "avx512vl"})
_SAVED = frozenset({"avx2", "fma"}) | _XEON_PHI | _AVX512_1
_BITS = {name: 1 << bit for bit, name in X86_64.capability_bits}
_TUNABLE = {"abm": "LZCNT"}
_ARM_ASKED = frozenset({"atomics"})


def platform_of(cpu: Cpu, tunables: str = "") -> tuple[str, tuple[str, ...]]:
    """Return what glibc's loader calls a CPU: $PLATFORM, and the capabilities that it searches by before glibc 2.37.

    Args:
        cpu: its architecture, maker and features count.
        tunables: the variable GLIBC_TUNABLES; its features are named as since glibc 2.32.
    """
    name = _NAMINGS.get(cpu.architecture)
    return name(cpu, tunables) if name is not None else (architecture_of(cpu.architecture).platform, ())


def _name_x86_platform(cpu: Cpu, tunables: str) -> tuple[str, tuple[str, ...]]:
    """Tell the names of an x86-64 CPU; all but the usual one are for Intel's, whatever another maker's can do.

    Source: glibc's sysdeps/x86/cpu-features.c, cpu-tunables.c and elf/dl-hwcaps.c.
    """
    settings = _parse_settings(tunables)
    usable = _select_usable(cpu.flags, settings.get("glibc.cpu.hwcaps", "")) if cpu.vendor == _INTEL else frozenset()
    usual = X86_64.platform
    capabilities = ("avx512_1", usual) if usable >= _AVX512_1 and "avx512er" not in usable else (usual,)
    mask = _read_mask(settings)
    kept = tuple(name for name in capabilities if mask is None or mask & _BITS[name])
    if usable >= _XEON_PHI:
        return "xeon_phi", kept
    return "haswell" if usable >= _HASWELL else usual, kept


def _name_arm_platform(cpu: Cpu, tunables: str) -> tuple[str, tuple[str, ...]]:
    """Return the platform and the capability names that the loader uses on an aarch64 CPU.

    Source: glibc's sysdeps/unix/sysv/linux/aarch64/dl-procinfo.h and elf/dl-hwcaps.c.
    """
    mask = _read_mask(_parse_settings(tunables))
    bits = AARCH64.capability_bits
    asked = _ARM_ASKED if mask is None else {name for bit, name in bits if mask >> bit & 1}
    return AARCH64.platform, tuple(name for _, name in reversed(bits) if name in asked and name in cpu.flags)


_NAMINGS = {X86_64.machine: _name_x86_platform, AARCH64.machine: _name_arm_platform}


def _parse_settings(tunables: str) -> dict[str, str]:
    return {name: value for name, _, value in (setting.partition("=") for setting in tunables.split(":"))}


def _read_mask(settings: Mapping[str, str]) -> int | None:
    """Return the capabilities that a variable leaves, or None if it says nothing."""
    with suppress(ValueError):
        return int(settings.get("glibc.cpu.hwcap_mask", ""), 0)
    return None


def _select_usable(flags: Collection[str], setting: str) -> frozenset[str]:
    """Return the features that the setting leaves; some are usable only while registers can be saved."""
    words = setting.split(",")
    usable = frozenset(flag for flag in flags if f"-{_TUNABLE.get(flag, flag.upper())}" not in words)
    if "-OSXSAVE" in words or usable.isdisjoint({"xsave", "xsavec"}):
        return usable - _SAVED
    return usable
