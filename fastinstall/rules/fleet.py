"""Which few wheels serve many hosts, which host takes which, and who is left out. Pure."""

from collections.abc import Iterable, Mapping

from fastinstall.model.environment import EnvironmentKind
from fastinstall.model.fleet import Fleet, FleetArtefact, FleetHost, HostGroup, LeftOut, Machine
from fastinstall.model.immutable import immutable
from fastinstall.model.recipe import Recipe
from fastinstall.model.wish import Wish
from fastinstall.rules.fleet_levels import Share, loaded_level, shares
from fastinstall.rules.fleet_refusals import Verdict, duplicates, host_verdict, machine_verdict
from fastinstall.rules.fleet_words import apart_note, behind_note, numbers, summary_of, system_note
from fastinstall.rules.levels import offered_by

Names = Mapping[Machine, list[str]]
"""The hosts of each machine, by their names."""


@immutable
class Limits:
    """Which documents count.

    Attributes:
        now: in seconds since the epoch.
        max_age: days that a document may be old; None for any age.
    """

    now: float
    max_age: float | None = None


def plan_fleet(
    hosts: Iterable[FleetHost], unread: Iterable[LeftOut], recipe: Recipe, wish: Wish, limits: Limits
) -> Fleet:
    """Decide what is built for whom.

    Args:
        hosts: by their documents, in any order.
        unread: hosts whose documents could not be read.
        recipe: what is built.
        wish: named levels hold for all hosts; else each gets the best that it has.
        limits: which documents count.
    """
    known = tuple(hosts)
    names, refused = _sorted_out(known, recipe, wish, limits)
    found = shares(names, recipe, wish)
    artefacts = tuple(_artefact(share, names) for share in found)
    groups = _groups(zip(found, artefacts, strict=True), names, recipe, wish)
    left_out = tuple(sorted((*refused, *unread), key=lambda each: (each.host, each.reason)))
    served = {name for each in names.values() for name in each}
    systems = sum(host.kind is EnvironmentKind.SYSTEM and host.name in served for host in known)
    notes = (*system_note(systems), *behind_note(groups, artefacts), *apart_note(artefacts))
    return Fleet(
        summary=summary_of(artefacts, left_out),
        wish=wish,
        groups=groups,
        artefacts=artefacts,
        left_out=left_out,
        notes=notes,
    )


def _sorted_out(
    hosts: tuple[FleetHost, ...], recipe: Recipe, wish: Wish, limits: Limits
) -> tuple[dict[Machine, list[str]], list[LeftOut]]:
    """The hosts that something is built for, by machine, and the others."""
    twice = duplicates(hosts)
    refused, names = list(twice.values()), dict[Machine, list[str]]()
    verdicts: dict[Machine, Verdict | None] = {}
    for host in hosts:
        if host.name in twice:
            continue
        machine = host.machine
        if machine not in verdicts:
            verdicts[machine] = machine_verdict(machine, recipe, wish)
        verdict = host_verdict(host, limits.now, limits.max_age) or verdicts[machine]
        if verdict is None:
            names.setdefault(machine, []).append(host.name)
        else:
            cause, reason, hint = verdict
            refused.append(LeftOut(host=host.name, cause=cause, reason=reason, hint=hint, file=host.file))
    return names, refused


def _artefact(share: Share, names: Names) -> FleetArtefact:
    machine = share.machines[0]
    return FleetArtefact(
        id=f"{machine.abi}-{'.'.join(level.removeprefix('x86-64-') for level in share.levels)}",
        python=machine.python,
        implementation=machine.implementation,
        abi=machine.abi,
        architecture=machine.architecture,
        libc=machine.libc,
        minimum_glibc=_oldest(each.libc_version for each in share.machines),
        levels=share.levels,
        directory=share.directory,
        reason=share.reason,
        hosts=_sorted_names(share.machines, names),
    )


def _groups(
    found: Iterable[tuple[Share, FleetArtefact]], names: Names, recipe: Recipe, wish: Wish
) -> tuple[HostGroup, ...]:
    alike: dict[tuple[str, ...], list[Machine]] = {}
    for share, artefact in found:
        for machine in share.machines:
            level = offered_by(machine.cpu) or ""
            key = (artefact.id, machine.libc_version, level, loaded_level(machine, share, recipe, wish))
            alike.setdefault(key, []).append(machine)
    groups = (_group(key, machines, names) for key, machines in alike.items())
    return tuple(sorted(groups, key=lambda group: (-len(group.hosts), group.artefact, group.libc_version, group.level)))


def _group(key: tuple[str, ...], machines: list[Machine], names: Names) -> HostGroup:
    artefact, libc_version, level, runs = key
    machine = machines[0]
    return HostGroup(
        python=machine.python,
        abi=machine.abi,
        architecture=machine.architecture,
        libc=machine.libc,
        libc_version=libc_version,
        level=level,
        runs=runs,
        artefact=artefact,
        hosts=_sorted_names(machines, names),
    )


def _sorted_names(machines: Iterable[Machine], names: Names) -> tuple[str, ...]:
    return tuple(sorted(name for machine in machines for name in names[machine]))


def _oldest(versions: Iterable[str]) -> str:
    """The lowest of version numbers; empty where none is known."""
    return min((version for version in versions if numbers(version)), key=numbers, default="")
