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
    0x41: {
        0xD02: "Cortex-A34",
        0xD03: "Cortex-A53",
        0xD04: "Cortex-A35",
        0xD05: "Cortex-A55",
        0xD06: "Cortex-A65",
        0xD07: "Cortex-A57",
        0xD08: "Cortex-A72",
        0xD09: "Cortex-A73",
        0xD0A: "Cortex-A75",
        0xD0B: "Cortex-A76",
        0xD0C: "Neoverse N1",
        0xD0D: "Cortex-A77",
        0xD0E: "Cortex-A76AE",
        0xD40: "Neoverse V1",
        0xD41: "Cortex-A78",
        0xD42: "Cortex-A78AE",
        0xD44: "Cortex-X1",
        0xD46: "Cortex-A510",
        0xD47: "Cortex-A710",
        0xD48: "Cortex-X2",
        0xD49: "Neoverse N2",
        0xD4A: "Neoverse E1",
        0xD4B: "Cortex-A78C",
        0xD4C: "Cortex-X1C",
        0xD4D: "Cortex-A715",
        0xD4E: "Cortex-X3",
        0xD4F: "Neoverse V2",
        0xD80: "Cortex-A520",
        0xD81: "Cortex-A720",
        0xD82: "Cortex-X4",
        0xD83: "Neoverse V3AE",
        0xD84: "Neoverse V3",
        0xD85: "Cortex-X925",
        0xD87: "Cortex-A725",
        0xD8E: "Neoverse N3",
    },
    0x43: {0x0A1: "ThunderX", 0x0AF: "ThunderX2"},
    0x46: {0x001: "A64FX"},
    0x48: {0xD01: "Kunpeng-920", 0xD02: "Kunpeng-930"},
    0x4E: {0x003: "Denver 2", 0x004: "Carmel"},
    0x50: {0x000: "X-Gene"},
    0x51: {0x001: "Oryon", 0xC00: "Falkor"},
    0x61: {
        0x000: "Apple (virtual)",
        0x022: "M1",
        0x023: "M1",
        0x024: "M1 Pro",
        0x025: "M1 Pro",
        0x028: "M1 Max",
        0x029: "M1 Max",
        0x032: "M2",
        0x033: "M2",
        0x034: "M2 Pro",
        0x035: "M2 Pro",
        0x038: "M2 Max",
        0x039: "M2 Max",
    },
    0xC0: {0xAC3: "Ampere-1", 0xAC4: "Ampere-1a", 0xAC5: "Ampere-1b"},
}


def name_implementer(processor: Mapping[str, str]) -> str:
    """Return the name of a processor's designer, or "" if the designer's number is missing or unknown.

    >>> name_implementer({"CPU implementer": "0x41", "CPU part": "0xd0c"})
    'ARM'
    """
    return _IMPLEMENTERS.get(_number(processor, IMPLEMENTER), "")


def name_processors(processors: Iterable[Mapping[str, str]]) -> str:
    """Return the distinct names of processors, joined by " + "; empty if no processor has the two numbers.

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
    unknown = f"{_IMPLEMENTERS.get(implementer, f'implementer {implementer:#x}')} part {part:#x}"
    return _PARTS.get(implementer, {}).get(part, unknown)


def _number(processor: Mapping[str, str], key: str) -> int:
    with suppress(ValueError):
        return int(processor.get(key, ""), 0)
    return -1
