"""The inputs that decide which files a process loads: program, environment variables, glibc's names for the CPU."""

from collections.abc import Mapping
from pathlib import Path

from fastinstall.core.architecture import ARCHITECTURES, architecture_of
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
            "x86_64"; "atomics"). If None, only those that loaders search on every CPU of the architecture.
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
    platform, capabilities = platform_of(cpu)
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


_HASWELL = frozenset({"avx2", "fma", "bmi1", "bmi2", "abm", "movbe", "popcnt"})
_XEON_PHI = frozenset({"avx512cd", "avx512er", "avx512pf"})
_AVX512_1 = frozenset({"avx512cd", "avx512bw", "avx512dq", "avx512vl"})


def platform_of(cpu: Cpu) -> tuple[str, tuple[str, ...]]:
    """Return glibc's names for a CPU: the value of $PLATFORM, and `ProcessSettings.capabilities`.

    Only Intel CPUs and Arm CPUs with atomics get special names. GLIBC_TUNABLES can change the names; this is not
    modelled.
    Sources: glibc's sysdeps/x86/cpu-features.c, elf/dl-hwcaps.c and sysdeps/unix/sysv/linux/aarch64/dl-procinfo.h.

    Args:
        cpu: the processor; only its architecture, vendor and features matter.
    """
    architecture, flags = architecture_of(cpu.architecture), frozenset(cpu.flags)
    usual, capabilities = architecture.platform, (*(flags & {"atomics"}), *architecture.capabilities)
    if cpu.vendor != "GenuineIntel":
        return usual, capabilities
    if flags >= _AVX512_1 and "avx512er" not in flags:
        capabilities = ("avx512_1", *capabilities)
    if flags >= _XEON_PHI:
        return "xeon_phi", capabilities
    return "haswell" if flags >= _HASWELL else usual, capabilities
