"""Describe a processor as programs see it: its micro-architecture level, and the features hidden from programs."""

import re
from collections.abc import Collection

from fastinstall.core.architecture import ARCHITECTURES, X86_64, Architecture, FeatureLevel, architecture_of
from fastinstall.core.values import immutable

EMULATED = "emulated on"


@immutable
class Cpu:
    """The processor as programs on this machine see it.

    Attributes:
        architecture: as the kernel names it: "x86_64", "aarch64".
        vendor: "AuthenticAMD", "GenuineIntel", "ARM"; empty if unknown.
        name: the marketing name; under an emulator, "emulated on" and the name of the host's CPU; empty if unknown.
        flags: feature names in the kernel's spelling (/proc/cpuinfo).
        executed: features that the CPUID instruction reports, limited to those that `select_level_features` selects;
            None if the instruction was not executed.
        level: the highest micro-architecture level of the CPU, "x86-64-v1" to "x86-64-v4" or "armv8-a"; None if the
            CPU reaches no level.
        level_source: where `level` comes from: "ld.so", "/proc/cpuinfo", "AT_HWCAP", "CPUID".
        masked: features of the next higher level that this model of CPU should have, but that a virtual machine or
            the kernel hides; empty if nothing seems hidden.
        tunables: the setting in GLIBC_TUNABLES ("glibc.cpu.hwcaps=-AVX2") that hides features from the loader, so that
            `level` is lower than the level that programs can use; empty if no setting does.
        hypervisor: True inside a virtual machine.
        cores: number of logical CPUs that this process may run on.
        quota: number of CPUs that the control group grants; None if unlimited.
    """

    architecture: str
    vendor: str = ""
    name: str = ""
    flags: tuple[str, ...] = ()
    executed: tuple[str, ...] | None = None
    level: str | None = None
    level_source: str = ""
    masked: tuple[str, ...] = ()
    tunables: str = ""
    hypervisor: bool = False
    cores: int = 1
    quota: float | None = None

    @property
    def is_emulated(self) -> bool:
        """Whether a CPU of another architecture emulates this CPU, which makes speed measurements meaningless."""
        return self.name.startswith(EMULATED)


@immutable
class Host:
    """Another machine for which a build is checked.

    Attributes:
        name: the name to display: the host's name, or the name of its report file.
        cpu: the machine's processor, as described in its report.
    """

    name: str
    cpu: Cpu


LEVELS: dict[str, tuple[str, ...]] = {level.name: level.requires for level in X86_64.levels}
"""The features that each x86-64 level requires beyond the level below."""

_RANKS = {
    name: rank
    for architecture in ARCHITECTURES
    for rank, level in enumerate(architecture.levels, start=1)
    for name in (level.name, *level.aliases)
}
_FAMILIES = {level.name: architecture.levels for architecture in ARCHITECTURES for level in architecture.levels}
LOADER_WITH_LEVELS = (2, 33)  # the first glibc version whose loader searches glibc-hwcaps


def rank(level: str | None) -> int:
    """Return the position, from 1, of a level among the levels of its architecture; 0 if `level` is not a level.

    >>> rank("x86-64-v3"), rank("native"), rank(None)
    (3, 0, 0)
    """
    return _RANKS.get(level or "", 0)


def knows_levels(libc: str, version: str) -> bool:
    """Return whether a C library's loader searches the level directories of glibc-hwcaps.

    True for glibc 2.33 and later and for a glibc of unknown version; False for older glibc and for musl.
    """
    if libc == "musl":
        return False
    matched = re.match(r"(\d+)\.(\d+)", version)
    return matched is None or (int(matched[1]), int(matched[2])) >= LOADER_WITH_LEVELS


def tunable_for(level: str) -> str:
    """Return the GLIBC_TUNABLES setting that limits the loader to a level; empty if no higher level exists.

    Source: the GNU C Library manual, "Hardware Capability Tunables".
    """
    switch = "".join(each.switch for each in _list_following(level)[:1])
    return f"glibc.cpu.hwcaps=-{switch}" if switch else ""


def list_level_features(level: str) -> tuple[str, ...]:
    """Return every feature of a level, including the features of lower levels."""
    return tuple(flag for each in _FAMILIES[level][: rank(level)] for flag in each.requires)


def _list_following(level: str | None) -> tuple[FeatureLevel, ...]:
    """Return the levels above a level, lowest first; empty if `level` is not a level."""
    return _FAMILIES.get(level or "", ())[rank(level) :]


def list_missing_features(level: str, flags: Collection[str]) -> tuple[str, ...]:
    """Return the features of `level` that are missing from `flags`."""
    return tuple(flag for flag in list_level_features(level) if flag not in flags)


def select_level_features(architecture: Architecture, flags: Collection[str]) -> tuple[str, ...]:
    """Return the features in `flags` that some level above the lowest requires, in the order of the levels."""
    return tuple(flag for level in architecture.levels[1:] for flag in level.requires if flag in flags)


def level_of(flags: Collection[str], architecture: Architecture = X86_64) -> str | None:
    """Return the highest level whose features are all in `flags`, or None if no level qualifies."""
    reached = [level.name for level in architecture.levels if not list_missing_features(level.name, flags)]
    return reached[-1] if reached else None


def list_auxiliary_features(architecture: Architecture, hwcap: int, hwcap2: int) -> tuple[str, ...]:
    """Return the features that the kernel passes to a program in its auxiliary vector, named as in /proc/cpuinfo.

    Bits that stand for no known feature are skipped.

    Args:
        architecture: the CPU's architecture.
        hwcap: the value of AT_HWCAP.
        hwcap2: the value of AT_HWCAP2.

    Source: getauxval(3).
    """
    pairs = zip(architecture.auxiliary, (hwcap, hwcap2), strict=True)
    return tuple(name for names, word in pairs for bit, name in enumerate(names) if word >> bit & 1)


def find_offered_level(cpu: Cpu) -> str | None:
    """Return the highest level that programs can use, even if GLIBC_TUNABLES hides its features from the loader."""
    if cpu.level is not None and not cpu.tunables:
        return cpu.level
    return max(cpu.level, level_of(cpu.flags, architecture_of(cpu.architecture)), key=rank)


def find_masked_features(flags: Collection[str], name: str, level: str | None) -> tuple[str, ...]:
    """Return the features of the next higher level that a virtual machine or the kernel seems to hide; empty if none.

    A missing feature counts as hidden if CPUs of this family are known to reach that level, or if the CPU reports
    another feature that only CPUs of that level have.

    Args:
        flags: the features that the CPU reports.
        name: the CPU's marketing name, which shows its family.
        level: the CPU's level; None if it reaches none.
    """
    following = _list_following(level)
    if not following:
        return ()
    of_family = any(each.families is not None and each.families.search(name) for each in following)
    if of_family or not following[0].implied_by.isdisjoint(flags):
        return list_missing_features(following[0].name, flags)
    return ()
