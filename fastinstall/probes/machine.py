"""What bounds a loader of images on this machine: processors, memory, huge pages, the settings of malloc."""

import re
from collections.abc import Mapping
from pathlib import Path

from fastinstall.model.cpu import Cpu
from fastinstall.model.measured_machine import Machine
from fastinstall.probes.cpu import control_groups
from fastinstall.system import foreign

_CHOSEN = re.compile(r"\[(\w+)\]")
_TOTAL = re.compile(r"^MemTotal:\s+(\d+) kB$", re.MULTILINE)


def observe_machine(cpu: Cpu, libc_version: str, variables: Mapping[str, str], root: Path = Path("/")) -> Machine:
    """The machine as the measured processes find it.

    Args:
        cpu: as `probes.cpu` observed it.
        libc_version: of glibc; empty elsewhere.
        variables: the environment variables that the processes are given.
        root: what stands for "/": another directory holds the files of a captured machine.
    """
    return Machine(
        cpu=cpu.name or cpu.architecture,
        cores=cpu.cores,
        quota=cpu.quota,
        memory_bytes=memory_bytes(root),
        huge_pages=huge_pages(root),
        libc_version=libc_version,
        tunables=variables.get("GLIBC_TUNABLES", ""),
    )


def memory_bytes(root: Path = Path("/")) -> int:
    """Memory that may be used: what there is, or less where a control group above this process grants less.

    Source: Documentation/admin-guide/cgroup-v2.rst (`memory.max`) and cgroup-v1/memory.rst
    (`memory.limit_in_bytes`, which says a number larger than any memory where there is no limit).
    """
    total = _TOTAL.search(_text(root / "proc/meminfo"))
    limits = [int(total[1]) * 1024] if total else []
    for group in control_groups(root, "memory"):
        said = (_text(group / "memory.max"), _text(group / "memory.limit_in_bytes"))
        limits += [int(text) for text in map(str.strip, said) if text.isdigit()]
    return min(limits, default=0)


def huge_pages(root: Path = Path("/")) -> str:
    """The kernel's word on transparent huge pages: "always", "madvise", "never"; empty if unknown.

    Source: Documentation/admin-guide/mm/transhuge.rst.
    """
    chosen = _CHOSEN.search(_text(root / "sys/kernel/mm/transparent_hugepage/enabled"))
    return chosen[1] if chosen else ""


def _text(path: Path) -> str:
    try:
        return foreign.read_text(path, errors="replace")
    except OSError:
        return ""
