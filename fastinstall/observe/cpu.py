"""The machine as programs see it: the processor's CPU level, and what limits loading images.

The level comes from the dynamic loader if there is one, because the loader chooses between libraries of several levels
(and is right under an emulator too); otherwise from /proc/cpuinfo. A build can also be judged for other machines, each
described by a file about its processor.

What limits loading: processors, memory, huge pages, and malloc's settings. These are observed only if a package is
installed that trains on images. Such packages, and those that decode images beside Pillow, are known by name.
"""

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from fastinstall.core import foreign
from fastinstall.core.errors import DocumentError
from fastinstall.core.parsing import json_data
from fastinstall.core.process import CommandError, run
from fastinstall.core.values import decode, immutable
from fastinstall.elf.cpu_levels import LEVELS, find_masked_features, level_of
from fastinstall.elf.description import Cpu, Host
from fastinstall.model.facts import Distribution, LoadingFacts
from fastinstall.model.machine import LoaderLimits

_LOADERS = ("lib64/ld-linux-x86-64.so.2", "lib/x86_64-linux-gnu/ld-linux-x86-64.so.2", "lib/ld-linux-x86-64.so.2")
_HIDING = ("glibc.cpu.hwcaps", "glibc.tune.hwcaps")
_TIMEOUT = 5.0


def observe_cpu(*, root: Path = Path("/"), allowed_cores: int, tunables: str = "") -> Cpu:
    """The processor, in about 2 ms where /proc/cpuinfo exists.

    Args:
        root: what stands for "/": another directory holds the files of a captured machine.
        allowed_cores: logical CPUs that this process may run on.
        tunables: the variable GLIBC_TUNABLES, by which the loader can be made to overlook features.
    """
    seen = _from_cpuinfo(root) or _from_package(root)
    level, source = _find_level(root, seen, tunables)
    return Cpu(
        architecture=seen.architecture,
        vendor=seen.vendor,
        name=seen.name,
        flags=seen.flags,
        level=level,
        level_source=source,
        masked=find_masked_features(seen.flags, seen.name, level) if seen.flags else (),
        tunables=find_hiding_tunables(tunables) if source == "ld.so" else "",
        hypervisor="hypervisor" in seen.flags,
        cores=allowed_cores,
        quota=observe_quota(root),
    )


def parse_cpuinfo(text: str) -> Cpu:
    """The processor of another machine, by a copy of its /proc/cpuinfo."""
    seen = _parse_cpuinfo(text)
    return Cpu(
        architecture=seen.architecture,
        vendor=seen.vendor,
        name=seen.name,
        flags=seen.flags,
        level=level_of(seen.flags) if seen.architecture == "x86_64" else None,
        level_source=seen.source,
        hypervisor="hypervisor" in seen.flags,
    )


def observe_quota(root: Path = Path("/")) -> float | None:
    """Read how many CPUs this process's control groups grant, or return None if they set no limit.

    The tightest limit from the process's own group up to the root counts, in both versions of the
    interface. Source: Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/, and sched-bwc.rst.
    """
    found = (limit for group in control_groups(root, "cpu") for limit in (_read_limit_v2(group), _read_limit_v1(group)))
    return min((limit for limit in found if limit is not None), default=None)


def control_groups(root: Path, controller: str) -> list[Path]:
    """The directories of the control groups that this process is in, each with those above it, in both versions.

    Args:
        root: what stands for "/".
        controller: "cpu", "memory".
    """
    lines = _read_text_if_readable(root / "proc/self/cgroup").splitlines()
    return [group for line in lines for group in _list_control_groups(root / "sys/fs/cgroup", line, controller)]


@immutable
class _CpuInfo:
    architecture: str
    vendor: str = ""
    name: str = ""
    flags: tuple[str, ...] = ()
    source: str = ""


def _from_cpuinfo(root: Path) -> _CpuInfo | None:
    text = _read_text_if_readable(root / "proc/cpuinfo")
    if not text:
        return None
    seen = _parse_cpuinfo(text)
    return replace(seen, architecture=os.uname().machine) if root == Path("/") else seen


def _parse_cpuinfo(text: str) -> _CpuInfo:
    """The first processor of /proc/cpuinfo; the features that all processors share."""
    blocks = [_parse_fields(block) for block in re.split(r"\n\s*\n", text.strip())]
    first = blocks[0]
    listed = [fields.get("flags", fields.get("Features", "")).split() for fields in blocks]
    shared = set.intersection(*(set(flags) for flags in listed if flags)) if any(listed) else set()
    return _CpuInfo(
        architecture=_infer_architecture(first),
        vendor=first.get("vendor_id", ""),
        name=first.get("model name", ""),
        flags=tuple(flag for flag in listed[0] if flag in shared),
        source="/proc/cpuinfo",
    )


def _parse_fields(block: str) -> dict[str, str]:
    pairs = (line.partition(":") for line in block.splitlines())
    return {key.strip(): value.strip() for key, colon, value in pairs if colon}


def _infer_architecture(fields: dict[str, str]) -> str:
    """What a captured machine's cpuinfo implies."""
    if "lm" in fields.get("flags", "").split():
        return "x86_64"
    return "aarch64" if fields.get("CPU architecture") == "8" else ""


def _from_package(root: Path) -> _CpuInfo:
    """py-cpuinfo's answer, which takes a second, for systems without /proc."""
    if root != Path("/"):
        return _CpuInfo(architecture="")
    import cpuinfo  # noqa: PLC0415 (slow, and needed only off Linux)

    found = cpuinfo.get_cpu_info()
    return _CpuInfo(
        architecture=os.uname().machine,
        vendor=found.get("vendor_id_raw", ""),
        name=found.get("brand_raw", ""),
        flags=tuple(found.get("flags", ())),
        source="py-cpuinfo",
    )


def find_hiding_tunables(tunables: str) -> str:
    """The part of GLIBC_TUNABLES that hides features of the CPU from the loader; empty if it hides none.

    Source: the GNU C Library manual, "Hardware Capability Tunables".
    """
    settings = (setting.partition("=") for setting in tunables.split(":"))
    found = [(name, value) for name, _, value in settings if name in _HIDING]
    return next((f"{name}={value}" for name, value in found if "-" in value), "")


def _find_level(root: Path, seen: _CpuInfo, tunables: str) -> tuple[str | None, str]:
    if seen.architecture != "x86_64":
        return None, ""
    loader = next((root / name for name in _LOADERS if (root / name).is_file()), None)
    from_loader = level_from_help(_ask_loader_help(loader, tunables)) if loader is not None else None
    if from_loader is not None:
        return from_loader, "ld.so"
    return level_of(seen.flags), seen.source


def level_from_help(text: str) -> str | None:
    """Read the level from `ld.so --help` (glibc 2.33 and later), or return None if it names none.

    A loader that names levels but supports none of them runs on the baseline.
    """
    named = dict(re.findall(r"^\s+(x86-64-v\d)\b(.*)$", text, re.MULTILINE))
    supported = [level for level in LEVELS if "supported" in named.get(level, "")]
    if supported:
        return supported[-1]
    return "x86-64-v1" if named else None


def _ask_loader_help(loader: Path, tunables: str) -> str:
    variables = {"GLIBC_TUNABLES": tunables} if tunables else {}
    try:
        return run((loader, "--help"), environment=variables, timeout=_TIMEOUT, check=False).stdout
    except CommandError:
        return ""


def _list_control_groups(mount: Path, line: str, controller: str) -> list[Path]:
    """The groups that one line of /proc/self/cgroup ("ID:CONTROLLERS:PATH") leads to."""
    _, _, rest = line.partition(":")
    controllers, _, path = rest.partition(":")
    if not controllers:
        bases = (mount, mount / "unified")
    elif controller in controllers.split(","):
        bases = (mount / controllers, mount / controller)
    else:
        return []
    own = Path(path.lstrip("/"))
    return [base / group for base in bases for group in (own, *own.parents)]


def _read_limit_v2(group: Path) -> float | None:
    quota, _, period = _read_text_if_readable(group / "cpu.max").strip().partition(" ")
    return _compute_quota(quota, period)


def _read_limit_v1(group: Path) -> float | None:
    return _compute_quota(
        _read_text_if_readable(group / "cpu.cfs_quota_us").strip(),
        _read_text_if_readable(group / "cpu.cfs_period_us").strip(),
    )


def _compute_quota(quota: str, period: str) -> float | None:
    """Quota over period in CPUs; "max" and -1 mean that there is no limit."""
    if not quota.isdigit() or not period.isdigit() or int(period) == 0:
        return None
    return int(quota) / int(period)


def _read_text_if_readable(path: Path) -> str:
    try:
        return foreign.read_text(path, errors="replace")
    except OSError:
        return ""


_SCHEMA = "fastinstall.facts/1"
_FLAG = re.compile(r"[a-z0-9][a-z0-9_]*")
_CPUINFO = re.compile(r"^(?:flags|Features|processor)\s*:", re.MULTILINE)
_FEATURES = re.compile(r"(?:flags|Features)\s*:")
_LARGEST = 1 << 24
_HINT = (
    "give what `fastinstall inspect --json` printed on that host, a copy of its /proc/cpuinfo, "
    "or a list of its flags: `ssh HOST cat /proc/cpuinfo > HOST.txt`"
)


def read_host(path: Path) -> Host:
    """Read a machine's description; it is named after the file.

    The file is a document of `fastinstall inspect --json`, redacted or not, a copy of /proc/cpuinfo, or a list of
    flags as the kernel names them, separated by white space; there, `#` begins a comment.

    Raises:
        DocumentError: it is none of these, is cut off, or cannot be read.
    """
    text = _read_host_file(path)
    if text.lstrip().startswith("{"):
        cpu = _from_facts(path, text)
    elif _CPUINFO.search(text):
        cpu = _read_host_cpuinfo(path, text)
    else:
        cpu = _from_flags(path, text)
    return Host(name=path.stem or path.name, cpu=cpu)


def _read_host_file(path: Path) -> str:
    try:
        return foreign.read_text(path, limit=_LARGEST)
    except OSError as error:
        raise DocumentError(path, "", f"cannot be read: {error.strerror or error}", hint=_HINT) from None
    except UnicodeDecodeError:
        raise DocumentError(path, "", "is no text", hint=_HINT) from None


def _from_facts(path: Path, text: str) -> Cpu:
    try:
        data = json_data(text)
    except ValueError as error:
        raise DocumentError(path, "", f"is no JSON: {error}", hint=_HINT) from None
    if data.get("schema") != _SCHEMA:
        raise DocumentError(path, "schema", f"expected {_SCHEMA!r}, found {data.get('schema')!r}", hint=_HINT)
    if "cpu" not in data:
        raise DocumentError(path, "cpu", "missing", hint=_HINT)
    try:
        return decode(Cpu, data["cpu"], file=path, key="cpu")
    except DocumentError as error:
        raise error.hinting(_HINT) from None


def _read_host_cpuinfo(path: Path, text: str) -> Cpu:
    if _is_cut(text):
        raise DocumentError(path, "flags", "the file ends in the middle of them: a copy that was cut off", hint=_HINT)
    cpu = parse_cpuinfo(text)
    if not cpu.flags:
        raise DocumentError(path, "flags", "missing: no line of it names the processor's features", hint=_HINT)
    return cpu


def _is_cut(text: str) -> bool:
    """Whether a copy of /proc/cpuinfo ends with features that may be some of several.

    Their line has an end. Further lines of the same processor follow it, or an empty one; where all that somebody has
    kept are these lines, which begin with no number of a processor, nothing follows.
    """
    last = re.split(r"\n\s*\n", text)[-1]
    lines = last.splitlines()
    if not lines or not _FEATURES.match(lines[-1]):
        return False
    return not last.endswith("\n") or any(line.startswith("processor") for line in lines)


def _from_flags(path: Path, text: str) -> Cpu:
    if not text.endswith("\n") and text.strip():
        raise DocumentError(path, "", "its last line has no end: end it, if no flag is missing there", hint=_HINT)
    words = [word for line in text.splitlines() for word in line.partition("#")[0].split()]
    wrong = next((word for word in words if not _FLAG.fullmatch(word)), None)
    if wrong is not None:
        raise DocumentError(path, "", f"{wrong[:40]!r} is no flag of a processor", hint=_HINT)
    known = {flag for flags in LEVELS.values() for flag in flags}
    if known.isdisjoint(words):
        raise DocumentError(path, "", "holds no flag that a level of x86-64 knows", hint=_HINT)
    flags = tuple(dict.fromkeys((*LEVELS["x86-64-v1"], *words)))
    return Cpu(architecture="x86_64", flags=flags, level=level_of(flags), level_source=path.name)


_CHOSEN = re.compile(r"\[(\w+)\]")
_TOTAL = re.compile(r"^MemTotal:\s+(\d+) kB$", re.MULTILINE)


def observe_machine(cpu: Cpu, libc_version: str, variables: Mapping[str, str], root: Path = Path("/")) -> LoaderLimits:
    """The machine as the measured processes find it.

    Args:
        cpu: as `probes.cpu` observed it.
        libc_version: of glibc; empty otherwise.
        variables: the environment variables that the processes are given.
        root: what stands for "/": another directory holds the files of a captured machine.
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
    """Memory that may be used: what there is, or less where a control group above this process grants less.

    Source: Documentation/admin-guide/cgroup-v2.rst (`memory.max`) and cgroup-v1/memory.rst
    (`memory.limit_in_bytes`, which says a number larger than any memory where there is no limit).
    """
    total = _TOTAL.search(_read_text_if_readable(root / "proc/meminfo"))
    limits = [int(total[1]) * 1024] if total else []
    for group in control_groups(root, "memory"):
        said = (_read_text_if_readable(group / "memory.max"), _read_text_if_readable(group / "memory.limit_in_bytes"))
        limits += [int(text) for text in map(str.strip, said) if text.isdigit()]
    return min(limits, default=0)


def huge_pages(root: Path = Path("/")) -> str:
    """The kernel's word on transparent huge pages: "always", "madvise", "never"; empty if unknown.

    Source: Documentation/admin-guide/mm/transhuge.rst.
    """
    chosen = _CHOSEN.search(_read_text_if_readable(root / "sys/kernel/mm/transparent_hugepage/enabled"))
    return chosen[1] if chosen else ""


def observe_loading(distributions: Sequence[Distribution], tunables: str) -> LoadingFacts | None:
    """Read how memory is allocated for training, or return None if no training framework is installed.

    Args:
        distributions: what is installed in the target.
        tunables: the variable GLIBC_TUNABLES, as the target's programs get it.
    """
    if not frameworks_of(distributions):
        return None

    return LoadingFacts(huge_pages=huge_pages(), tunables=tunables)


FRAMEWORKS = frozenset({"torch", "tensorflow", "tensorflow-cpu", "jax", "keras"})
DECODERS = frozenset(
    {
        "imagecodecs",
        "jpeg4py",
        "kornia-rs",
        "nvidia-nvimgcodec-cu12",
        "nvidia-nvimgcodec-cu13",
        "opencv-contrib-python",
        "opencv-contrib-python-headless",
        "opencv-python",
        "opencv-python-headless",
        "pyturbojpeg",
        "pyvips",
        "simplejpeg",
    }
)


def frameworks_of(distributions: Iterable[Distribution]) -> tuple[str, ...]:
    """Those that train, with their versions: "torch 2.13.0"."""
    return _select_distributions(distributions, FRAMEWORKS)


def decoders_of(distributions: Iterable[Distribution]) -> tuple[str, ...]:
    """Those that decode images, with their versions."""
    return _select_distributions(distributions, DECODERS)


def _select_distributions(distributions: Iterable[Distribution], names: frozenset[str]) -> tuple[str, ...]:
    return tuple(sorted(f"{each.name} {each.version}" for each in distributions if each.name in names))
