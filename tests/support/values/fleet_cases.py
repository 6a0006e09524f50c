"""Hosts of a fleet, described by a few values and converted to the documents that they would write."""

import json
from collections.abc import Mapping
from typing import Any

from support.values.builders import changed, conda_facts, healthy_facts

from fastinstall.core.codec import document, encode
from fastinstall.elf.cpu import LEVELS, list_level_features
from fastinstall.fleet.hosts import HostDocument

NOW = 1_763_800_000.0
"""The current time in the tests, in seconds since the epoch."""

_DAY = 86400.0
_KNOWN = {
    *("level", "python", "abi", "implementation", "architecture", "platform", "libc", "glibc"),
    *("kind", "frozen", "base", "age", "host"),
}


def facts_document(name: str, host: Mapping[str, Any]) -> HostDocument:
    """Return a host's document, as `inspect --json` writes it.

    Args:
        name: name of its file.
        host: differences from a usual host: level, python, abi, implementation, architecture, platform, libc, glibc;
            kind, frozen, base (of the environment); age (of the document, in days), host (the name in the document).
    """
    assert set(host) <= _KNOWN, set(host) - _KNOWN
    python, architecture = host.get("python", "3.11"), host.get("architecture", "x86_64")
    changes: dict[str, Any] = {
        "cpu": {"architecture": architecture, **_cpu(host.get("level", "x86-64-v3"))},
        "interpreter": {
            "implementation": host.get("implementation", "cpython"),
            "version": f"{python}.4",
            "abi": host.get("abi", f"cp{python.replace('.', '')}"),
            "platform": host.get("platform", f"linux-{architecture}"),
            "libc": host.get("libc", "glibc"),
            "libc_version": host.get("glibc", "2.36"),
        },
    }
    for key in ("kind",):
        if key in host:
            changes["environment"] = {key: host[key]}
    if "frozen" in host:
        changes["frozen"] = host["frozen"]
    if "base" in host:
        changes["conda"] = {**encode(conda_facts().conda), "is_base": host["base"]}
    told = document("facts", changed(healthy_facts(), changes))
    if "host" in host:
        told["host"] = host["host"]
    content = json.dumps(told, indent=2).encode()
    return HostDocument(name=name, file=f"{name}.json", modified=NOW - host.get("age", 0) * _DAY, content=content)


def _cpu(level: str | None) -> dict[str, Any]:
    flags = list_level_features(level) if level is not None else ("fp", "asimd")
    return {"level": level, "flags": list(flags), "name": f"a CPU of {level}" if level in LEVELS else "an Arm CPU"}
