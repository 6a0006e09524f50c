"""The inputs that decide which files a process loads: program, environment variables, glibc's names for the CPU."""

from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path

from fastinstall.core.architecture import AARCH64, ARCHITECTURES, X86_64, architecture_of
from fastinstall.core.values import immutable
from fastinstall.elf.cpu import Cpu, find_offered_level


def usable_hwcaps(level: str | None) -> tuple[str, ...]:
    """Return the subdirectories of glibc-hwcaps that the loader searches on a CPU of a level, best first.

    >>> usable_hwcaps("x86-64-v3"), usable_hwcaps(None)
    (('x86-64-v3', 'x86-64-v2'), ())
    """
    listed = next((each.hwcaps for each in ARCHITECTURES if level in each.hwcaps), ())
    return listed[listed.index(level) :] if level is not None and listed else ()


@immutable
class ProcessSettings:
    """The inputs that decide which files a process maps.

    Attributes:
        program: the executable's path in the target; None if unknown. Symbolic links are followed.
        library_path: the value of LD_LIBRARY_PATH.
        preload: the value of LD_PRELOAD.
        hwcaps: subdirectories of glibc-hwcaps that the CPU can use, best first (`usable_hwcaps`).
        root: the target's root directory on this machine.
        working_directory: the process's working directory in the target, for relative paths.
        level: the CPU's level; glibc refuses files that require a higher one. If None, the first of `hwcaps` is the
            level; if `hwcaps` is also empty, no file is refused.
        platform: the value of $PLATFORM ("haswell" on Intel CPUs with AVX2); if empty, the architecture's name is used.
        capabilities: further subdirectories that loaders before glibc 2.37 search, in the loaders' order ("avx512_1",
            "x86_64"; "atomics"). If None, those that they search on every CPU of the architecture are used.
        page_size: the kernel's page size in bytes, 0 if unknown; files linked for smaller pages are refused.
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
    """Return the settings of a process on a CPU.

    Args:
        program: see `ProcessSettings`.
        cpu: the processor.
        variables: the environment variables that the process starts with.
        hwcaps: see `ProcessSettings`.
        page_size: see `ProcessSettings`.
    """
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
    """Return glibc's names for a CPU: the value of $PLATFORM, and `ProcessSettings.capabilities`.

    Args:
        cpu: the processor; only its architecture, vendor and features matter.
        tunables: the value of GLIBC_TUNABLES, with feature names as in glibc 2.32 and later.
    """
    name = _NAMINGS.get(cpu.architecture)
    return name(cpu, tunables) if name is not None else (architecture_of(cpu.architecture).platform, ())


def _name_x86_platform(cpu: Cpu, tunables: str) -> tuple[str, tuple[str, ...]]:
    """Return the platform and the capability names of an x86-64 CPU; only Intel's CPUs get special names from glibc.

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
    """Return the bit mask of capabilities that GLIBC_TUNABLES allows, or None if it does not set one."""
    with suppress(ValueError):
        return int(settings.get("glibc.cpu.hwcap_mask", ""), 0)
    return None


def _select_usable(flags: Collection[str], setting: str) -> frozenset[str]:
    """Return the CPU features that programs can use.

    Left out are features that the setting hides. If XSAVE is missing or the setting hides OSXSAVE, features whose
    registers the operating system must save are also left out.

    Args:
        flags: the CPU's features.
        setting: the value of the tunable `glibc.cpu.hwcaps`.
    """
    words = setting.split(",")
    usable = frozenset(flag for flag in flags if f"-{_TUNABLE.get(flag, flag.upper())}" not in words)
    if "-OSXSAVE" in words or usable.isdisjoint({"xsave", "xsavec"}):
        return usable - _SAVED
    return usable
