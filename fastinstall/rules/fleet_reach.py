"""Which hosts a finished wheel runs on, by its platform tags; the others are left out. Pure.

Source of the rule: PEP 600, "manylinux_X_Y": the wheel runs with glibc X.Y and every later one.
"""

import re
from collections.abc import Mapping
from dataclasses import replace

from fastinstall.model.fleet import Cause, Fleet, FleetArtefact, HostGroup, LeftOut
from fastinstall.rules.fleet_words import numbers, summary_of

_MANYLINUX = re.compile(r"manylinux_(\d+)_(\d+)_\w+")


def needed_glibc(platforms: tuple[str, ...]) -> str:
    """The oldest glibc that a wheel with these platform tags runs with; empty where they promise nothing."""
    told = [(int(found[1]), int(found[2])) for found in map(_MANYLINUX.fullmatch, platforms) if found]
    return "{}.{}".format(*min(told)) if told else ""


def within_reach(fleet: Fleet, needed: Mapping[str, str]) -> Fleet:
    """The fleet without the hosts whose C library is older than what their wheel needs.

    Args:
        fleet: with its wheels.
        needed: the glibc that each artefact's wheel needs, by the artefact's `id`; empty where nothing is known.
    """
    beyond = tuple(group for group in fleet.groups if not _reaches(group, needed.get(group.artefact, "")))
    if not beyond:
        return fleet
    out = {name: _left_out(name, group, needed[group.artefact]) for group in beyond for name in group.hosts}
    artefacts = tuple(_without(artefact, out) for artefact in fleet.artefacts)
    left_out = tuple(sorted((*fleet.left_out, *out.values()), key=lambda each: (each.host, each.reason)))
    return replace(
        fleet,
        summary=summary_of(artefacts, left_out),
        groups=tuple(group for group in fleet.groups if group not in beyond),
        artefacts=artefacts,
        left_out=left_out,
    )


def _reaches(group: HostGroup, needed: str) -> bool:
    return not needed or not group.libc_version or numbers(group.libc_version) >= numbers(needed)


def _without(artefact: FleetArtefact, out: Mapping[str, LeftOut]) -> FleetArtefact:
    return replace(artefact, hosts=tuple(name for name in artefact.hosts if name not in out))


def _left_out(name: str, group: HostGroup, needed: str) -> LeftOut:
    return LeftOut(
        host=name,
        cause=Cause.REACH,
        reason=f"it has glibc {group.libc_version}, and the wheel needs {needed} or later",
        hint="build on a machine with the older glibc, for these hosts alone: fastinstall build --hosts DIR -o DIR",
    )
