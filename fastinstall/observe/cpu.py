"""Observe the machine as programs see it: the CPU level, and what limits loading images.

The level comes from the dynamic loader if possible, because the loader chooses between libraries of several levels
and is right under an emulator too; otherwise from /proc/cpuinfo. A build can also be judged for other machines, each
described by a file about its processor.

Limits of loading are processors, memory, huge pages, and malloc's settings. They are observed only if a package that
trains on images is installed. Such packages, and other image decoders, are known by name.
"""

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from fastinstall.core import foreign
from fastinstall.core.architecture import ARCHITECTURES, SUPPORTED, X86_64, architecture_of
from fastinstall.core.codec import decode
from fastinstall.core.errors import DocumentError
from fastinstall.core.parsing import json_data
from fastinstall.core.process import CommandError, run
from fastinstall.core.values import immutable
from fastinstall.elf.cpu import Cpu, Host
from fastinstall.elf.cpu_levels import LEVELS, find_masked_features, level_of
from fastinstall.model.facts import Distribution, LoadingFacts
from fastinstall.model.machine import LoaderLimits

_HIDING = ("glibc.cpu.hwcaps", "glibc.tune.hwcaps")
_TIMEOUT = 5.0


def observe_cpu(*, root: Path = Path("/"), allowed_cores: int, tunables: str = "") -> Cpu:
    """Observe the processor, in about 2 ms where /proc/cpuinfo exists.

    Args:
        root: what stands for "/"; another directory holds the files of a captured machine.
        allowed_cores: logical CPUs that this process may run on.
        tunables: the variable GLIBC_TUNABLES, which can hide features from the loader.
    """
    text = foreign.text_or_empty(root / "proc/cpuinfo")
    seen = parse_cpuinfo(text) if text else _ask_package(root)
    if root == Path("/"):
        seen = replace(seen, architecture=os.uname().machine)
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


def parse_cpuinfo(text: str) -> Cpu:
    """Parse the first processor of a /proc/cpuinfo, with the features that all processors share."""
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
    return Cpu(
        architecture=architecture.machine,
        vendor=first.get("vendor_id", ""),
        name=first.get("model name", ""),
        flags=flags,
        level=level_of(flags) if architecture.supported else None,
        level_source="/proc/cpuinfo",
        hypervisor="hypervisor" in flags,
    )


def observe_quota(root: Path = Path("/")) -> float | None:
    """Return how many CPUs this process's control groups grant, or None without a limit.

    The tightest limit from the process's own group up to the root counts, in both versions of the
    interface. Source: Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/, and sched-bwc.rst.
    """
    limits = []
    for group in control_groups(root, "cpu"):
        second = foreign.text_or_empty(group / "cpu.max").split()
        first = [foreign.text_or_empty(group / f"cpu.cfs_{name}_us").strip() for name in ("quota", "period")]
        for quota, period in (each for each in (second, first) if len(each) == 2):  # noqa: PLR2004 (a pair)
            if quota.isdigit() and period.isdigit() and int(period):  # not "max", nor -1
                limits.append(int(quota) / int(period))
    return min(limits, default=None)


def control_groups(root: Path, controller: str) -> list[Path]:
    """Return the directories of this process's control groups and those above them, in both versions.

    Args:
        root: what stands for "/".
        controller: "cpu", "memory".
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


def _ask_package(root: Path) -> Cpu:
    """Return py-cpuinfo's answer, which takes a second, for systems without /proc."""
    if root != Path("/"):
        return Cpu(architecture="")
    import cpuinfo  # noqa: PLC0415 (slow, and needed only off Linux)

    found = cpuinfo.get_cpu_info()
    flags = tuple(found.get("flags", ()))
    return Cpu(
        architecture=os.uname().machine,
        vendor=found.get("vendor_id_raw", ""),
        name=found.get("brand_raw", ""),
        flags=flags,
        level_source="py-cpuinfo",
        hypervisor="hypervisor" in flags,
    )


def find_hiding_tunables(tunables: str) -> str:
    """Return the part of GLIBC_TUNABLES that hides CPU features from the loader; empty if none does.

    Source: the GNU C Library manual, "Hardware Capability Tunables".
    """
    settings = (setting.partition("=") for setting in tunables.split(":"))
    found = [(name, value) for name, _, value in settings if name in _HIDING]
    return next((f"{name}={value}" for name, value in found if "-" in value), "")


def _find_level(root: Path, seen: Cpu, tunables: str) -> tuple[str | None, str]:
    architecture = architecture_of(seen.architecture)
    if not architecture.supported:
        return None, ""
    loader = next((root / name for name in architecture.loaders if (root / name).is_file()), None)
    if loader is not None:
        variables = {"GLIBC_TUNABLES": tunables} if tunables else {}
        with suppress(CommandError):
            told = run((loader, "--help"), environment=variables, timeout=_TIMEOUT, check=False).stdout
            level = level_from_help(told)
            if level is not None:
                return level, "ld.so"
    return level_of(seen.flags), seen.level_source


def level_from_help(text: str) -> str | None:
    """Return the level from `ld.so --help` (glibc 2.33 and later), or None if it names none.

    A loader that names levels but supports none of them runs on the baseline.
    """
    lines = re.findall(r"^\s+([\w-]+)\b(.*)$", text, re.MULTILINE)
    named = {level: rest for level, rest in lines if level in LEVELS}
    supported = [level for level in LEVELS if "supported" in named.get(level, "")]
    if supported:
        return supported[-1]
    return next(iter(LEVELS)) if named else None


_SCHEMA = "fastinstall.facts/1"


@immutable
class _Facts:
    """The parts of `model.facts.Facts` read here."""

    cpu: Cpu


_FLAG = re.compile(r"[a-z0-9][a-z0-9_]*")
_CPUINFO = re.compile(r"^(?:flags|Features|processor)\s*:", re.MULTILINE)
_FEATURES = re.compile(r"(?:flags|Features)\s*:")
_LARGEST = 1 << 24
_HINT = (
    "pass the output of `fastinstall inspect --json` from that host, a copy of its /proc/cpuinfo, "
    "or a list of its flags: `ssh HOST cat /proc/cpuinfo > HOST.txt`"
)


def read_host(path: Path) -> Host:
    """Read a machine's description; its name is the file's.

    The file is a document of `fastinstall inspect --json`, redacted or not, a copy of /proc/cpuinfo, or a list of
    kernel flag names separated by white space, with comments after `#`.

    Raises:
        DocumentError: the file is none of these, is incomplete, or cannot be read.
    """
    try:
        text = foreign.read_text(path, limit=_LARGEST)
        if text.lstrip().startswith("{"):
            cpu = _read_facts(path, text)
        else:
            cpu = _read_cpuinfo(path, text) if _CPUINFO.search(text) else _read_flags(path, text)
    except DocumentError as error:
        raise error.hinting(_HINT) from None
    except OSError as error:
        raise DocumentError(path, "", f"cannot be read: {error.strerror or error}", hint=_HINT) from None
    except UnicodeDecodeError:
        raise DocumentError(path, "", "is not text", hint=_HINT) from None
    return Host(name=path.stem or path.name, cpu=cpu)


def _read_facts(path: Path, text: str) -> Cpu:
    try:
        data = json_data(text)
    except ValueError as error:
        raise DocumentError(path, "", f"is not JSON: {error}") from None
    if data.get("schema") != _SCHEMA:
        raise DocumentError(path, "schema", f"expected {_SCHEMA!r}, found {data.get('schema')!r}")
    return decode(_Facts, data, file=path, strict=False).cpu


def _read_cpuinfo(path: Path, text: str) -> Cpu:
    if _is_cut(text):
        raise DocumentError(path, "flags", "the file ends in the middle of the list: copy it again")
    cpu = parse_cpuinfo(text)
    if not cpu.flags:
        raise DocumentError(path, "flags", "missing: no line lists the processor's features")
    return cpu


def _is_cut(text: str) -> bool:
    """Return whether a copy of /proc/cpuinfo ends within a list of features.

    A complete list ends with a line break. After it come further lines of the same processor or an empty line, unless
    the file consists of such lists alone and no line gives a processor's number.
    """
    last = re.split(r"\n\s*\n", text)[-1]
    lines = last.splitlines()
    if not lines or not _FEATURES.match(lines[-1]):
        return False
    return not last.endswith("\n") or any(line.startswith("processor") for line in lines)


def _read_flags(path: Path, text: str) -> Cpu:
    if not text.endswith("\n") and text.strip():
        raise DocumentError(path, "", "its last line has no line break: add one if no flag is missing")
    words = [word for line in text.splitlines() for word in line.partition("#")[0].split()]
    wrong = next((word for word in words if not _FLAG.fullmatch(word)), None)
    if wrong is not None:
        raise DocumentError(path, "", f"{wrong[:40]!r} is not a processor flag")
    known = {flag for flags in LEVELS.values() for flag in flags}
    if known.isdisjoint(words):
        raise DocumentError(path, "", f"has no flag of an {SUPPORTED} level")
    flags = tuple(dict.fromkeys((*X86_64.levels[0].requires, *words)))
    return Cpu(architecture=X86_64.machine, flags=flags, level=level_of(flags), level_source=path.name)


_CHOSEN = re.compile(r"\[(\w+)\]")
_TOTAL = re.compile(r"^MemTotal:\s+(\d+) kB$", re.MULTILINE)


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
        *("imagecodecs", "jpeg4py", "kornia-rs", "nvidia-nvimgcodec-cu12", "nvidia-nvimgcodec-cu13", "pyturbojpeg"),
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
