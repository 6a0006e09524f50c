"""Translate the numbers that identify an Arm CPU in /proc/cpuinfo into names such as "Neoverse N1".

Sources: arch/arm64/include/asm/cputype.h of Linux; sys-utils/lscpu-arm.c of util-linux.
"""

from collections.abc import Iterable, Mapping
from contextlib import suppress

IMPLEMENTER, PART = "CPU implementer", "CPU part"

_IMPLEMENTERS = {
    0x41: "ARM",
    0x42: "Broadcom",
    0x43: "Cavium",
    0x46: "Fujitsu",
    0x48: "HiSilicon",
    0x4E: "NVIDIA",
    0x50: "APM",
    0x51: "Qualcomm",
    0x53: "Samsung",
    0x61: "Apple",
    0x6D: "Microsoft",
    0x70: "Phytium",
    0xC0: "Ampere",
}

_PARTS = {
    0x41: "d02 Cortex-A34, d03 Cortex-A53, d04 Cortex-A35, d05 Cortex-A55, d06 Cortex-A65, d07 Cortex-A57, "
    "d08 Cortex-A72, d09 Cortex-A73, d0a Cortex-A75, d0b Cortex-A76, d0c Neoverse N1, d0d Cortex-A77, "
    "d0e Cortex-A76AE, d40 Neoverse V1, d41 Cortex-A78, d42 Cortex-A78AE, d44 Cortex-X1, "
    "d46 Cortex-A510, d47 Cortex-A710, d48 Cortex-X2, d49 Neoverse N2, d4a Neoverse E1, d4b Cortex-A78C, "
    "d4c Cortex-X1C, d4d Cortex-A715, d4e Cortex-X3, d4f Neoverse V2, d80 Cortex-A520, d81 Cortex-A720, "
    "d82 Cortex-X4, d83 Neoverse V3AE, d84 Neoverse V3, d85 Cortex-X925, d87 Cortex-A725, "
    "d8e Neoverse N3",
    0x43: "0a1 ThunderX, 0af ThunderX2",
    0x46: "001 A64FX",
    0x48: "d01 Kunpeng-920, d02 Kunpeng-930",
    0x4E: "003 Denver 2, 004 Carmel",
    0x50: "000 X-Gene",
    0x51: "001 Oryon, c00 Falkor",
    0x61: "000 Apple (virtual), 022 M1, 023 M1, 024 M1 Pro, 025 M1 Pro, 028 M1 Max, 029 M1 Max, 032 M2, "
    "033 M2, 034 M2 Pro, 035 M2 Pro, 038 M2 Max, 039 M2 Max",
    0xC0: "ac3 Ampere-1, ac4 Ampere-1a, ac5 Ampere-1b",
}
"""By implementer: part numbers, hexadecimal, and their names."""


def name_implementer(processor: Mapping[str, str]) -> str:
    """Return the name of a processor's designer, or "" if the designer's number is missing or unknown.

    >>> name_implementer({"CPU implementer": "0x41", "CPU part": "0xd0c"})
    'ARM'
    """
    return _IMPLEMENTERS.get(_number(processor, IMPLEMENTER), "")


def name_processors(processors: Iterable[Mapping[str, str]]) -> str:
    """Return the distinct names of processors, joined by " + "; empty if the identifying numbers are missing.

    >>> name_processors([{"CPU implementer": "0x41", "CPU part": part} for part in ("0xd05", "0xd05", "0xd0b")])
    'Cortex-A55 + Cortex-A76'
    >>> name_processors([{"CPU implementer": "0x41", "CPU part": "0xfff"}])
    'ARM part 0xfff'

    Args:
        processors: for each processor, its keys and values in /proc/cpuinfo.
    """
    return " + ".join(dict.fromkeys(filter(None, map(_name_processor, processors))))


def _name_processor(processor: Mapping[str, str]) -> str:
    implementer, part = _number(processor, IMPLEMENTER), _number(processor, PART)
    if implementer < 0 or part < 0:
        return ""
    names = dict(entry.split(" ", 1) for entry in _PARTS.get(implementer, "").split(", ") if entry)
    unknown = f"{_IMPLEMENTERS.get(implementer, f'implementer {implementer:#x}')} part {part:#x}"
    return names.get(f"{part:03x}", unknown)


def _number(processor: Mapping[str, str], key: str) -> int:
    with suppress(ValueError):
        return int(processor.get(key, ""), 0)
    return -1
