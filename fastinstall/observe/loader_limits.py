"""What limits loading images: memory, huge pages and malloc's settings, for whoever trains on images.

They are observed only if a package that trains on images is installed. Such packages, and other image decoders, are
known by name.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from fastinstall.core import foreign
from fastinstall.elf.cpu import Cpu
from fastinstall.model.facts import Distribution, LoadingFacts
from fastinstall.model.machine import LoaderLimits
from fastinstall.observe.cpu import control_groups

_CHOSEN = re.compile(r"\[(\w+)\]")


def observe_machine(cpu: Cpu, libc_version: str, variables: Mapping[str, str], root: Path = Path("/")) -> LoaderLimits:
    """Return the machine's limits as the measured processes see them.

    Args:
        cpu: as `probes.cpu` observed it.
        libc_version: of glibc; empty otherwise.
        variables: the environment variables of the processes.
        root: what stands for "/"; another directory holds the files of a captured machine.
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
    """Return how memory is allocated for training, or None if no training framework is installed.

    Args:
        distributions: everything installed in the target.
        tunables: the variable GLIBC_TUNABLES, as the target's programs receive it.
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
    """Return the training frameworks, with their versions: "torch 2.13.0"."""
    return tuple(sorted(f"{each.name} {each.version}" for each in distributions if each.name in FRAMEWORKS))


def decoders_of(distributions: Iterable[Distribution]) -> tuple[str, ...]:
    """Return the image decoders, with their versions."""
    return tuple(sorted(f"{each.name} {each.version}" for each in distributions if each.name in DECODERS))


_TOTAL = re.compile(r"^MemTotal:\s+(\d+) kB$", re.MULTILINE)


def memory_bytes(root: Path = Path("/")) -> int:
    """Return the usable memory: the machine's, or less if a control group of this process limits it.

    Source: Documentation/admin-guide/cgroup-v2.rst (`memory.max`) and cgroup-v1/memory.rst
    (`memory.limit_in_bytes`, which without a limit is larger than any memory).
    """
    total = _TOTAL.search(foreign.text_or_empty(root / "proc/meminfo"))
    limits = [int(total[1]) * 1024] if total else []
    for group in control_groups(root, "memory"):
        said = (foreign.text_or_empty(group / "memory.max"), foreign.text_or_empty(group / "memory.limit_in_bytes"))
        limits += [int(text) for text in map(str.strip, said) if text.isdigit()]
    return min(limits, default=0)
