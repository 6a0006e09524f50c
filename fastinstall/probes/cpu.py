"""What the processor can do, as programs on this machine see it.

The level comes from the dynamic loader where there is one, because that is who will choose between
libraries of several levels (and it is right under an emulator too); else from /proc/cpuinfo.
"""

import os
import re
from dataclasses import replace
from pathlib import Path

from fastinstall.model.cpu import Cpu
from fastinstall.model.immutable import immutable
from fastinstall.rules.levels import LEVELS, level_of, masked_features
from fastinstall.system import foreign
from fastinstall.system.process import CommandError, run

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
    level, source = _level(root, seen, tunables)
    return Cpu(
        architecture=seen.architecture,
        vendor=seen.vendor,
        name=seen.name,
        flags=seen.flags,
        level=level,
        level_source=source,
        masked=masked_features(seen.flags, seen.name, level) if seen.flags else (),
        tunables=hiding(tunables) if source == "ld.so" else "",
        hypervisor="hypervisor" in seen.flags,
        cores=allowed_cores,
        quota=observe_quota(root),
    )


def parse_cpuinfo(text: str) -> Cpu:
    """The processor of another machine, by a copy of its /proc/cpuinfo."""
    seen = _parsed(text)
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
    found = (limit for group in control_groups(root, "cpu") for limit in (_limit_v2(group), _limit_v1(group)))
    return min((limit for limit in found if limit is not None), default=None)


def control_groups(root: Path, controller: str) -> list[Path]:
    """The directories of the control groups that this process is in, each with those above it, in both versions.

    Args:
        root: what stands for "/".
        controller: "cpu", "memory".
    """
    lines = _text(root / "proc/self/cgroup").splitlines()
    return [group for line in lines for group in _groups(root / "sys/fs/cgroup", line, controller)]


@immutable
class _Seen:
    architecture: str
    vendor: str = ""
    name: str = ""
    flags: tuple[str, ...] = ()
    source: str = ""


def _from_cpuinfo(root: Path) -> _Seen | None:
    text = _text(root / "proc/cpuinfo")
    if not text:
        return None
    seen = _parsed(text)
    return replace(seen, architecture=os.uname().machine) if root == Path("/") else seen


def _parsed(text: str) -> _Seen:
    """The first processor of /proc/cpuinfo; the features that all processors share."""
    blocks = [_fields(block) for block in re.split(r"\n\s*\n", text.strip())]
    first = blocks[0]
    listed = [fields.get("flags", fields.get("Features", "")).split() for fields in blocks]
    shared = set.intersection(*(set(flags) for flags in listed if flags)) if any(listed) else set()
    return _Seen(
        architecture=_architecture(first),
        vendor=first.get("vendor_id", ""),
        name=first.get("model name", ""),
        flags=tuple(flag for flag in listed[0] if flag in shared),
        source="/proc/cpuinfo",
    )


def _fields(block: str) -> dict[str, str]:
    pairs = (line.partition(":") for line in block.splitlines())
    return {key.strip(): value.strip() for key, colon, value in pairs if colon}


def _architecture(fields: dict[str, str]) -> str:
    """What a captured machine's cpuinfo implies."""
    if "lm" in fields.get("flags", "").split():
        return "x86_64"
    return "aarch64" if fields.get("CPU architecture") == "8" else ""


def _from_package(root: Path) -> _Seen:
    """py-cpuinfo's answer, which takes a second, for systems without /proc."""
    if root != Path("/"):
        return _Seen(architecture="")
    import cpuinfo  # noqa: PLC0415 (slow, and needed only off Linux)

    found = cpuinfo.get_cpu_info()
    return _Seen(
        architecture=os.uname().machine,
        vendor=found.get("vendor_id_raw", ""),
        name=found.get("brand_raw", ""),
        flags=tuple(found.get("flags", ())),
        source="py-cpuinfo",
    )


def hiding(tunables: str) -> str:
    """The part of GLIBC_TUNABLES that hides features of the CPU from the loader; empty where it hides none.

    Source: the GNU C Library manual, "Hardware Capability Tunables".
    """
    settings = (setting.partition("=") for setting in tunables.split(":"))
    found = [(name, value) for name, _, value in settings if name in _HIDING]
    return next((f"{name}={value}" for name, value in found if "-" in value), "")


def _level(root: Path, seen: _Seen, tunables: str) -> tuple[str | None, str]:
    if seen.architecture != "x86_64":
        return None, ""
    loader = next((root / name for name in _LOADERS if (root / name).is_file()), None)
    from_loader = level_from_help(_help(loader, tunables)) if loader is not None else None
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


def _help(loader: Path, tunables: str) -> str:
    variables = {"GLIBC_TUNABLES": tunables} if tunables else {}
    try:
        return run((loader, "--help"), environment=variables, timeout=_TIMEOUT, check=False).stdout
    except CommandError:
        return ""


def _groups(mount: Path, line: str, controller: str) -> list[Path]:
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


def _limit_v2(group: Path) -> float | None:
    quota, _, period = _text(group / "cpu.max").strip().partition(" ")
    return _ratio(quota, period)


def _limit_v1(group: Path) -> float | None:
    return _ratio(_text(group / "cpu.cfs_quota_us").strip(), _text(group / "cpu.cfs_period_us").strip())


def _ratio(quota: str, period: str) -> float | None:
    """Quota over period in CPUs; "max" and -1 mean that there is no limit."""
    if not quota.isdigit() or not period.isdigit() or int(period) == 0:
        return None
    return int(quota) / int(period)


def _text(path: Path) -> str:
    try:
        return foreign.read_text(path, errors="replace")
    except OSError:
        return ""
