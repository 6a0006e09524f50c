"""Observe the CPU level, the CPU and memory limits, and the huge pages that programs get on this machine.

The level comes from the dynamic loader if possible: the loader chooses among libraries for several levels, and its
answer is also right under an emulator. Otherwise the level comes from /proc/cpuinfo or, if that file shows the
emulator's host, from the auxiliary vector, which the kernel gives to each program. Facts about loading images are
observed only if a training framework is installed. Frameworks and image decoders are recognised by name.
"""

import os
import re
import struct
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from fastinstall.core import foreign
from fastinstall.core.architecture import ARCHITECTURES, Architecture, architecture_of
from fastinstall.core.parsing import json_data
from fastinstall.core.process import CommandError, run
from fastinstall.elf.cpu import (
    EMULATED,
    LEVELS,
    Cpu,
    find_masked_features,
    level_of,
    list_auxiliary_features,
    select_level_features,
)
from fastinstall.model.facts import Distribution
from fastinstall.model.machine import LoaderLimits, LoadingFacts

_HIDING = ("glibc.cpu.hwcaps", "glibc.tune.hwcaps")
_TIMEOUT = 5.0
_AT_HWCAP, _AT_HWCAP2 = 16, 26
_PAIR = struct.Struct("=QQ")


def observe_cpu(*, root: Path = Path("/"), allowed_cores: int, tunables: str = "") -> Cpu:
    """Return the facts about the processor; takes about 2 ms if /proc/cpuinfo exists.

    Args:
        root: the root directory: "/", or a directory with the files of a captured machine.
        allowed_cores: number of logical CPUs that this process may run on.
        tunables: value of GLIBC_TUNABLES, which can hide features from the loader.
    """
    text = foreign.text_or_empty(root / "proc/cpuinfo")
    seen, machine = Cpu(architecture=""), os.uname().machine
    if text:
        seen = parse_cpuinfo(text)
    elif root == Path("/"):
        flags = execute_cpuid(machine) or ()
        seen = Cpu(architecture=machine, flags=flags, level_source="CPUID" if flags else "")
    if root == Path("/"):
        seen = _place_here(seen, machine)
    level, source = _find_level(root, seen, tunables)
    return replace(
        seen,
        level=level,
        level_source=source,
        masked=find_masked_features(seen.flags, seen.name, level) if seen.flags else (),
        tunables=find_hiding_tunables(tunables) if source == "ld.so" else "",
        cores=allowed_cores,
        quota=observe_quota(root),
    )


def _place_here(seen: Cpu, machine: str) -> Cpu:
    """Return the CPU as programs on this machine see it, with this machine's architecture.

    If `seen` has another architecture, this machine is emulated, and /proc/cpuinfo shows the emulator's host. The flags
    then come from the auxiliary vector, if that contains the architecture's features.
    """
    emulated = architecture_of(machine)
    if seen.architecture in ("", machine) or not any(emulated.auxiliary):
        return replace(seen, architecture=machine)
    host = seen.name or architecture_of(seen.architecture).title
    flags = parse_auxiliary(foreign.bytes_or_empty("/proc/self/auxv"), emulated)
    return Cpu(architecture=machine, name=f"{EMULATED} {host}", flags=flags, level_source="AT_HWCAP")


def parse_auxiliary(content: bytes, architecture: Architecture) -> tuple[str, ...]:
    """Return the features in an auxiliary vector (/proc/PID/auxv), named as in /proc/cpuinfo.

    Source: getauxval(3), proc_pid_auxv(5).
    """
    values = dict(_PAIR.iter_unpack(content[: len(content) // _PAIR.size * _PAIR.size]))
    return list_auxiliary_features(architecture, values.get(_AT_HWCAP, 0), values.get(_AT_HWCAP2, 0))


def parse_cpuinfo(text: str) -> Cpu:
    """Return the first processor in the text of /proc/cpuinfo, with the features that all processors share."""
    blocks = []
    for block in re.split(r"\n\s*\n", text.strip()):
        pairs = (line.partition(":") for line in block.splitlines())
        blocks.append({key.strip(): value.strip() for key, colon, value in pairs if colon})
    first = blocks[0]
    listed = [fields.get("flags", fields.get("Features", "")).split() for fields in blocks]
    shared = set(listed[0]).intersection(*filter(None, listed))
    flags = tuple(flag for flag in listed[0] if flag in shared)
    signs = ((each, *each.cpuinfo) for each in ARCHITECTURES)
    architecture = next((each for each, key, word in signs if word in first.get(key, "").split()), architecture_of(""))
    vendor, name = first.get("vendor_id", ""), first.get("model name", "")
    if not vendor or not name:
        # Needed only if /proc/cpuinfo does not name the CPU.
        from fastinstall.elf.processor_names import name_implementer, name_processors

        vendor, name = vendor or name_implementer(first), name or name_processors(blocks)
    return Cpu(
        architecture=architecture.machine,
        vendor=vendor,
        name=name,
        flags=flags,
        level=level_of(flags, architecture),
        level_source="/proc/cpuinfo",
        hypervisor="hypervisor" in flags,
    )


_CPUID_TIMEOUT = 10.0

# get_cpu_info() is not used: it merges in /proc/cpuinfo, and sleeps for a second to measure the clock.
_SCRIPT = """
import json
from cpuinfo.cpuinfo import CPUID
asked = CPUID()
print(json.dumps(sorted(asked.get_flags(asked.get_max_extension_support()))))
"""


def execute_cpuid(architecture: str, command: Sequence[str | Path] = (sys.executable, "-I")) -> tuple[str, ...] | None:
    """Return the features that the CPUID instruction reports, limited to those that CPU levels above the first require.

    py-cpuinfo executes the instruction, in its own process. /proc/cpuinfo shows the features that the kernel lets
    programs use; the instruction does not depend on the kernel. If the results differ, either the kernel hides
    features, or an emulator runs programs on a CPU that is not the kernel's.

    Args:
        architecture: architecture of this machine, as in `uname -m`.
        command: the command that starts a Python with py-cpuinfo.

    Returns:
        Names of features, as in /proc/cpuinfo. None if the architecture has no such instruction, or if it could not be
        executed; for example, a hardened kernel allows no code in writable memory.
    """
    known = architecture_of(architecture)
    if not known.has_cpuid:
        return None
    try:
        flags = json_data(run((*command, "-c", _SCRIPT), timeout=_CPUID_TIMEOUT).stdout)
    except (CommandError, ValueError):
        return None
    return select_level_features(known, flags)


def find_hiding_tunables(tunables: str) -> str:
    """Return the part of GLIBC_TUNABLES that hides CPU features from the loader; empty if none does.

    >>> find_hiding_tunables("glibc.malloc.hugetlb=1:glibc.cpu.hwcaps=-AVX2")
    'glibc.cpu.hwcaps=-AVX2'

    Source: the GNU C Library manual, "Hardware Capability Tunables".
    """
    settings = (setting.partition("=") for setting in tunables.split(":"))
    found = [(name, value) for name, _, value in settings if name in _HIDING]
    return next((f"{name}={value}" for name, value in found if "-" in value), "")


def _find_level(root: Path, seen: Cpu, tunables: str) -> tuple[str | None, str]:
    architecture = architecture_of(seen.architecture)
    if not architecture.levels:
        return None, ""
    loader = next((root / name for name in architecture.loaders if (root / name).is_file()), None)
    if loader is not None and architecture.hwcaps:
        variables = {"GLIBC_TUNABLES": tunables} if tunables else {}
        with suppress(CommandError):
            told = run((loader, "--help"), environment=variables, timeout=_TIMEOUT, check=False).stdout
            level = level_from_help(told)
            if level is not None:
                return level, "ld.so"
    return level_of(seen.flags, architecture), seen.level_source


def level_from_help(text: str) -> str | None:
    """Return the level from the output of `ld.so --help` (glibc 2.33 and later).

    Returns:
        The highest level marked "supported"; the baseline if the output names levels but supports none of them; None if
        the output names no level.
    """
    lines = re.findall(r"^\s+([\w-]+)\b(.*)$", text, re.MULTILINE)
    named = {level: rest for level, rest in lines if level in LEVELS}
    supported = [level for level in LEVELS if "supported" in named.get(level, "")]
    if supported:
        return supported[-1]
    return next(iter(LEVELS)) if named else None


def observe_quota(root: Path = Path("/")) -> float | None:
    """Return the number of CPUs that this process's control groups grant, or None if they set no limit.

    The tightest limit from the process's own group up to the root group counts. Versions 1 and 2 of the interface are
    read. Sources: Documentation/admin-guide/cgroup-v2.rst, cgroup-v1/, sched-bwc.rst.
    """
    limits = []
    for group in control_groups(root, "cpu"):
        second = foreign.text_or_empty(group / "cpu.max").split()
        first = [foreign.text_or_empty(group / f"cpu.cfs_{name}_us").strip() for name in ("quota", "period")]
        for quota, period in (each for each in (second, first) if len(each) == 2):  # noqa: PLR2004 (a pair)
            if quota.isdigit() and period.isdigit() and int(period):  # "max" and "-1" mean no limit
                limits.append(int(quota) / int(period))
    return min(limits, default=None)


def control_groups(root: Path, controller: str) -> list[Path]:
    """Return the directories of this process's control groups and of their parents, for cgroup v1 and v2.

    Args:
        root: the root directory: "/", or a directory with the files of a captured machine.
        controller: name of the controller: "cpu", "memory".
    """
    mount = root / "sys/fs/cgroup"
    groups = []
    for line in foreign.text_or_empty(root / "proc/self/cgroup").splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        bases: tuple[Path, ...] = ()
        if not controllers:
            bases = (mount, mount / "unified")
        elif controller in controllers.split(","):
            bases = (mount / controllers, mount / controller)
        own = Path(path.lstrip("/"))
        groups += [base / group for base in bases for group in (own, *own.parents)]
    return groups


_CHOSEN = re.compile(r"\[(\w+)\]")


def observe_machine(cpu: Cpu, libc_version: str, variables: Mapping[str, str], root: Path = Path("/")) -> LoaderLimits:
    """Return the machine's limits for processes that are measured with these environment variables.

    Args:
        cpu: as returned by `observe_cpu`.
        libc_version: version of glibc; empty for another C library.
        variables: the environment variables of the processes.
        root: the root directory: "/", or a directory with the files of a captured machine.
    """
    return LoaderLimits(
        cpu=cpu.name or cpu.architecture,
        cores=cpu.cores,
        quota=cpu.quota,
        memory_bytes=memory_bytes(root),
        huge_pages=huge_pages(root),
        libc_version=libc_version,
        tunables=variables.get("GLIBC_TUNABLES", ""),
    )


def huge_pages(root: Path = Path("/")) -> str:
    """Return the kernel's setting of transparent huge pages: "always", "madvise", "never"; empty if unknown.

    Source: Documentation/admin-guide/mm/transhuge.rst.
    """
    chosen = _CHOSEN.search(foreign.text_or_empty(root / "sys/kernel/mm/transparent_hugepage/enabled"))
    return chosen[1] if chosen else ""


def observe_loading(distributions: Sequence[Distribution], tunables: str) -> LoadingFacts | None:
    """Return settings that affect memory allocation in training, or None if no training framework is installed.

    Args:
        distributions: everything installed in the target.
        tunables: value of GLIBC_TUNABLES, as the target's programs receive it.
    """
    return LoadingFacts(huge_pages=huge_pages(), tunables=tunables) if frameworks_of(distributions) else None


FRAMEWORKS = frozenset({"torch", "tensorflow", "tensorflow-cpu", "jax", "keras"})
DECODERS = frozenset(
    {
        *("imagecodecs", "kornia-rs", "nvidia-nvimgcodec-cu12", "nvidia-nvimgcodec-cu13", "pyturbojpeg"),
        *("opencv-contrib-python", "opencv-contrib-python-headless", "opencv-python", "opencv-python-headless"),
        *("pyvips", "simplejpeg"),
    }
)


def frameworks_of(distributions: Iterable[Distribution]) -> tuple[str, ...]:
    """Return the training frameworks among distributions, with their versions: "torch 2.13.0"."""
    return tuple(sorted(f"{each.name} {each.version}" for each in distributions if each.name in FRAMEWORKS))


def decoders_of(distributions: Iterable[Distribution]) -> tuple[str, ...]:
    """Return the image decoders among distributions, with their versions."""
    return tuple(sorted(f"{each.name} {each.version}" for each in distributions if each.name in DECODERS))


_TOTAL = re.compile(r"^MemTotal:\s+(\d+) kB$", re.MULTILINE)


def memory_bytes(root: Path = Path("/")) -> int:
    """Return the memory that this process can use, in bytes: the machine's or a control group's limit; 0 if unknown.

    Source: Documentation/admin-guide/cgroup-v2.rst (`memory.max`) and cgroup-v1/memory.rst
    (`memory.limit_in_bytes`, which without a limit is larger than any memory).
    """
    total = _TOTAL.search(foreign.text_or_empty(root / "proc/meminfo"))
    limits = [int(total[1]) * 1024] if total else []
    for group in control_groups(root, "memory"):
        said = (foreign.text_or_empty(group / "memory.max"), foreign.text_or_empty(group / "memory.limit_in_bytes"))
        limits += [int(text) for text in map(str.strip, said) if text.isdigit()]
    return min(limits, default=0)
