"""Which few wheels serve many hosts, which host takes which, and who is left out, and why. Pure.

One wheel carries several CPU levels if the loader chooses among them (glibc 2.33). An older loader takes the baseline
of such a wheel, which is right and slower. So hosts with one get a wheel for their level alone, in a directory of its
own: at the top of a wheelhouse lies nothing that any host of that Python could not run, because a tool that looks at
file names (pip, uv) sees no CPU.

A finished wheel runs on the hosts that its platform tags allow. Source: PEP 600, "manylinux_X_Y": the wheel runs with
glibc X.Y and every later one.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from fastinstall.core.errors import RefusedError
from fastinstall.core.messages import listing
from fastinstall.core.values import immutable
from fastinstall.core.version_numbers import contains
from fastinstall.elf.cpu_levels import LEVELS, find_offered_level, knows_levels, rank
from fastinstall.fleet.fleet import Cause, ExcludedHost, Fleet, FleetArtefact, FleetHost, HostGroup, MachineClass
from fastinstall.index.upgrades import OTHER_RECIPE
from fastinstall.model.recipe import Recipe
from fastinstall.model.request import EnvironmentKind, LinkMode, Request
from fastinstall.plan.level_choice import (
    choose_best_level,
    find_lacking_features,
    list_requested_levels,
    sort_recipe_levels,
)

TOP = "."


@immutable
class Share:
    """What one wheel serves of the machines with one Python.

    Attributes:
        machines: that take it; all have the same Python, ABI, architecture and kind of C library.
        levels: in the wheel, the baseline first.
        directory: where it lies in a wheelhouse.
        reason: why these levels.
    """

    machines: tuple[MachineClass, ...]
    levels: tuple[str, ...]
    directory: str
    reason: str


def shares(machines: Iterable[MachineClass], recipe: Recipe, request: Request) -> tuple[Share, ...]:
    """The wheels that serve machines at their best, as few as that takes; by Python, the top of the wheelhouse first.

    Args:
        machines: each of which something can be built for (`fleet_refusals`).
        recipe: knows the levels.
        request: names levels, which then are in every wheel, or leaves the choice to us.
    """
    by_python: dict[tuple[str, ...], list[MachineClass]] = {}
    for machine in machines:
        by_python.setdefault(_make_python_key(machine), []).append(machine)
    return tuple(share for key in sorted(by_python) for share in _list_shares(by_python[key], recipe, request))


def choose_loaded_level(machine: MachineClass, share: Share, recipe: Recipe, request: Request) -> str:
    """Which of a wheel's levels a machine runs."""
    if len(share.levels) == 1 or not _has_choosing_loader(machine, request):
        return share.levels[0]
    return [
        level.name
        for level in sort_recipe_levels(recipe, share.levels)
        if not find_lacking_features(level, machine.cpu)
    ][-1]


def _list_shares(machines: list[MachineClass], recipe: Recipe, request: Request) -> Iterator[Share]:
    asked = tuple(level.name for level in sort_recipe_levels(recipe, list_requested_levels(request)))
    if asked:
        yield Share(machines=tuple(machines), levels=asked, directory=TOP, reason=f"{listing(asked)}, as asked")
        return
    best = {machine: choose_best_level(recipe, machine.cpu).name for machine in machines}
    common = _choose_common_levels(best, recipe, request)
    apart: dict[str, list[MachineClass]] = {}
    for machine in machines:
        if best[machine] != common[0] and not (best[machine] in common and _has_choosing_loader(machine, request)):
            apart.setdefault(best[machine], []).append(machine)
    elsewhere = {machine for found in apart.values() for machine in found}
    top = tuple(machine for machine in machines if machine not in elsewhere)
    yield Share(machines=top, levels=common, directory=TOP, reason=_explain_levels(common))
    for name in sorted(apart):
        yield Share(
            machines=tuple(apart[name]), levels=(name,), directory=name, reason=_explain_single_level(name, request)
        )


def _choose_common_levels(best: dict[MachineClass, str], recipe: Recipe, request: Request) -> tuple[str, ...]:
    """The levels of the wheel at the top: the least of all machines, and the best of those whose loader chooses."""
    ordered = [level.name for level in sort_recipe_levels(recipe, set(best.values()))]
    chosen = {name for machine, name in best.items() if name in LEVELS and _has_choosing_loader(machine, request)}
    together = chosen if ordered[0] in LEVELS else set()
    return tuple(level.name for level in sort_recipe_levels(recipe, {ordered[0], *together}))


def _has_choosing_loader(machine: MachineClass, request: Request) -> bool:
    """Whether the loader there takes the best of several levels in one wheel."""
    return request.link is LinkMode.BUNDLE and knows_levels(machine.libc, machine.libc_version)


def _make_python_key(machine: MachineClass) -> tuple[str, ...]:
    major, _, minor = machine.python.partition(".")
    return machine.implementation, f"{major:>3}.{minor:>3}", machine.abi, machine.architecture, machine.libc


def _explain_levels(levels: tuple[str, ...]) -> str:
    if len(levels) == 1:
        return f"{levels[0]} is what every host has that takes it"
    return f"{listing(levels)} in one wheel: the loader takes the best that each CPU has"


def _explain_single_level(level: str, request: Request) -> str:
    if request.link is LinkMode.BUNDLE:
        return f"{level} alone: the loader there (glibc before 2.33) cannot choose among several"
    return f"{level} alone: a wheel that is linked to libraries outside of it carries one level"


Names = Mapping[MachineClass, list[str]]
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
    hosts: Iterable[FleetHost], unread: Iterable[ExcludedHost], recipe: Recipe, request: Request, limits: Limits
) -> Fleet:
    """Decide what is built for whom.

    Args:
        hosts: by their documents, in any order.
        unread: hosts whose documents could not be read.
        recipe: what is built.
        request: named levels hold for all hosts; else each gets the best that it has.
        limits: which documents count.
    """
    known = tuple(hosts)
    names, refused = _sort_out_hosts(known, recipe, request, limits)
    found = shares(names, recipe, request)
    artefacts = tuple(_make_artefact(share, names) for share in found)
    groups = _make_groups(zip(found, artefacts, strict=True), names, recipe, request)
    left_out = tuple(sorted((*refused, *unread), key=lambda each: (each.host, each.reason)))
    served = {name for each in names.values() for name in each}
    systems = sum(host.kind is EnvironmentKind.SYSTEM and host.name in served for host in known)
    notes = (*system_note(systems), *explain_least_level(groups, artefacts), *explain_wheelhouse_directories(artefacts))
    return Fleet(
        summary=summary_of(artefacts, left_out),
        wish=request,
        groups=groups,
        artefacts=artefacts,
        left_out=left_out,
        notes=notes,
    )


def _sort_out_hosts(
    hosts: tuple[FleetHost, ...], recipe: Recipe, request: Request, limits: Limits
) -> tuple[dict[MachineClass, list[str]], list[ExcludedHost]]:
    """The hosts that something is built for, by machine, and the others."""
    twice = duplicates(hosts)
    refused, names = list(twice.values()), dict[MachineClass, list[str]]()
    verdicts: dict[MachineClass, Verdict | None] = {}
    for host in hosts:
        if host.name in twice:
            continue
        machine = host.machine
        if machine not in verdicts:
            verdicts[machine] = machine_verdict(machine, recipe, request)
        verdict = host_verdict(host, limits.now, limits.max_age) or verdicts[machine]
        if verdict is None:
            names.setdefault(machine, []).append(host.name)
        else:
            cause, reason, hint = verdict
            refused.append(ExcludedHost(host=host.name, cause=cause, reason=reason, hint=hint, file=host.file))
    return names, refused


def _make_artefact(share: Share, names: Names) -> FleetArtefact:
    machine = share.machines[0]
    return FleetArtefact(
        id=f"{machine.abi}-{'.'.join(level.removeprefix('x86-64-') for level in share.levels)}",
        python=machine.python,
        implementation=machine.implementation,
        abi=machine.abi,
        architecture=machine.architecture,
        libc=machine.libc,
        minimum_glibc=_find_oldest(each.libc_version for each in share.machines),
        levels=share.levels,
        directory=share.directory,
        reason=share.reason,
        hosts=_sort_names(share.machines, names),
    )


def _make_groups(
    found: Iterable[tuple[Share, FleetArtefact]], names: Names, recipe: Recipe, request: Request
) -> tuple[HostGroup, ...]:
    alike: dict[tuple[str, ...], list[MachineClass]] = {}
    for share, artefact in found:
        for machine in share.machines:
            level = find_offered_level(machine.cpu) or ""
            key = (artefact.id, machine.libc_version, level, choose_loaded_level(machine, share, recipe, request))
            alike.setdefault(key, []).append(machine)
    groups = (_group(key, machines, names) for key, machines in alike.items())
    return tuple(sorted(groups, key=lambda group: (-len(group.hosts), group.artefact, group.libc_version, group.level)))


def _group(key: tuple[str, ...], machines: list[MachineClass], names: Names) -> HostGroup:
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
        hosts=_sort_names(machines, names),
    )


def _sort_names(machines: Iterable[MachineClass], names: Names) -> tuple[str, ...]:
    return tuple(sorted(name for machine in machines for name in names[machine]))


def _find_oldest(versions: Iterable[str]) -> str:
    """The lowest of version numbers; empty if none is known."""
    return min((version for version in versions if numbers(version)), key=numbers, default="")


_MANYLINUX = re.compile(r"manylinux_(\d+)_(\d+)_\w+")


def find_oldest_glibc(platforms: tuple[str, ...]) -> str:
    """The oldest glibc that a wheel with these platform tags runs with; empty if they promise nothing."""
    told = [(int(found[1]), int(found[2])) for found in map(_MANYLINUX.fullmatch, platforms) if found]
    return "{}.{}".format(*min(told)) if told else ""


def select_reachable_hosts(fleet: Fleet, needed: Mapping[str, str]) -> Fleet:
    """The fleet without the hosts whose C library is older than what their wheel needs.

    Args:
        fleet: with its wheels.
        needed: the glibc that each artefact's wheel needs, by the artefact's `id`; empty if nothing is known.
    """
    beyond = tuple(group for group in fleet.groups if not _is_served(group, needed.get(group.artefact, "")))
    if not beyond:
        return fleet
    out = {name: _exclude_old_glibc(name, group, needed[group.artefact]) for group in beyond for name in group.hosts}
    artefacts = tuple(_remove_hosts(artefact, out) for artefact in fleet.artefacts)
    left_out = tuple(sorted((*fleet.left_out, *out.values()), key=lambda each: (each.host, each.reason)))
    return replace(
        fleet,
        summary=summary_of(artefacts, left_out),
        groups=tuple(group for group in fleet.groups if group not in beyond),
        artefacts=artefacts,
        left_out=left_out,
    )


def _is_served(group: HostGroup, needed: str) -> bool:
    return not needed or not group.libc_version or numbers(group.libc_version) >= numbers(needed)


def _remove_hosts(artefact: FleetArtefact, out: Mapping[str, ExcludedHost]) -> FleetArtefact:
    return replace(artefact, hosts=tuple(name for name in artefact.hosts if name not in out))


def _exclude_old_glibc(name: str, group: HostGroup, needed: str) -> ExcludedHost:
    return ExcludedHost(
        host=name,
        cause=Cause.REACH,
        reason=f"it has glibc {group.libc_version}, and the wheel needs {needed} or later",
        hint="build on a machine with the older glibc, for these hosts alone: fastinstall build --hosts DIR -o DIR",
    )


_MACHINE = "x86_64"
_STOCK = "keep stock Pillow there: python -m pip install pillow"
DAY = 86400.0
_SHOWN = 3

Verdict = tuple[Cause, str, str]
"""Why, in a word and in a sentence, and what to do about it."""


def machine_verdict(machine: MachineClass, recipe: Recipe, request: Request) -> Verdict | None:
    """Explain why nothing is built for a machine, or return None if something is.

    The architecture comes first, because a level says nothing on another.
    """
    architecture = next((each for each in (machine.cpu.architecture, machine.architecture) if each != _MACHINE), None)
    if architecture is not None:
        told = f"it is {architecture or 'of unknown architecture'}, and wheels are built for x86-64 only"
        hint = f"{_STOCK}; its libjpeg-turbo has SIMD code for other architectures too (NEON on Arm)"
        return Cause.ARCHITECTURE, told, hint
    if machine.implementation != "cpython":
        told = f"its Python is {machine.implementation}: the core is built for CPython only"
        return Cause.IMPLEMENTATION, told, _STOCK
    if machine.libc != "glibc":
        told = f"its C library is {machine.libc or 'unknown'}: what is built here runs with glibc"
        return Cause.LIBC, told, "build on a machine of that kind: fastinstall build -o DIR"
    pythons = recipe.source.pythons
    if pythons and not contains(pythons, machine.python):
        told = f"{recipe.name} is for Python {pythons}, and it has {machine.python}"
        return Cause.PYTHON, told, f"give it a later Python, or {OTHER_RECIPE}"
    return _judge_cpu(machine, recipe, request)


def host_verdict(host: FleetHost, now: float, max_age: float | None) -> Verdict | None:
    """Why a host is left out whatever its machine could take.

    Args:
        host: by its document.
        now: in seconds since the epoch.
        max_age: days that a document may be old; None for any age.
    """
    days = (now - host.seen) / DAY
    if max_age is not None and days > max_age:
        told = f"its facts are {days:.0f} days old, and {max_age:g} were allowed"
        return Cause.STALE, told, "write them again on that host: fastinstall inspect --json > HOST.json"
    if host.protected:
        hint = "clone the environment or make one of your own there, and write its facts: fastinstall inspect --json"
        return Cause.PROTECTED, host.protected, hint
    return None


def duplicates(hosts: Iterable[FleetHost]) -> dict[str, ExcludedHost]:
    """The hosts whose name several documents bear, by name: nobody knows which of them speaks of it."""
    files: dict[str, list[str]] = {}
    for host in hosts:
        files.setdefault(host.name, []).append(host.file)
    return {name: _exclude_duplicate(name, sorted(found)) for name, found in files.items() if len(found) > 1}


def _exclude_duplicate(name: str, files: list[str]) -> ExcludedHost:
    told = listing([*files[:_SHOWN], f"{len(files) - _SHOWN} more"] if len(files) > _SHOWN else files)
    hint = f"keep the one that speaks of {name}, or give each a name of its own"
    return ExcludedHost(
        host=name, cause=Cause.DUPLICATE, reason=f"{len(files)} documents bear its name: {told}", hint=hint
    )


def _judge_cpu(machine: MachineClass, recipe: Recipe, request: Request) -> Verdict | None:
    asked = list_requested_levels(request)
    if not asked:
        try:
            choose_best_level(recipe, machine.cpu)
        except RefusedError as error:
            return Cause.CPU, error.message, _STOCK
        return None
    least = sort_recipe_levels(recipe, asked)[0]
    missing = find_lacking_features(least, machine.cpu)
    if not missing:
        return None
    told = f"{machine.cpu.name or 'its CPU'} lacks {listing(missing)} for {least.name}, the least that was asked for"
    return Cause.CPU, told, f"ask for a lower level too, or leave the choice to us: --level auto; or {_STOCK}"


def format_quantity(number: int, what: str) -> str:
    """A number with its noun: "1 host", "2 hosts", "10,000 hosts"."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def numbers(version: str) -> tuple[int, ...]:
    """The numbers of a version, for comparing: (2, 36) of "2.36"; empty if it has none."""
    return tuple(int(part) for part in re.findall(r"\d+", version))


def summary_of(artefacts: Sequence[FleetArtefact], left_out: Sequence[ExcludedHost]) -> str:
    """How few wheels serve how many hosts, and how many are left out."""
    served = sum(len(artefact.hosts) for artefact in artefacts)
    wheels = format_quantity(len(artefacts), "wheel")
    told = f"{wheels} {'serves' if len(artefacts) == 1 else 'serve'} {format_quantity(served, 'host')}"
    return f"{told}; {len(left_out):,} left out" if left_out else told


def system_note(number: int) -> Iterator[str]:
    """Where setup does not go into what was inspected."""
    if number:
        verb = "names" if number == 1 else "name"
        yield (
            f"{format_quantity(number, 'host')} {verb} the system's own Python, which is never changed: "
            "setup there makes an environment of it (--new-env DIR)"
        )


def explain_least_level(groups: Sequence[HostGroup], artefacts: Sequence[FleetArtefact]) -> Iterator[str]:
    """Where a loader that cannot choose takes the least level of a wheel, and the CPU has a better one of it."""
    levels = {artefact.id: artefact.levels for artefact in artefacts}
    behind = Counter[tuple[str, str]]()
    for group in groups:
        has = [level for level in levels[group.artefact] if rank(level) <= rank(group.level)]
        if has and has[-1] != group.runs:
            behind[group.runs, has[-1]] += len(group.hosts)
    for (runs, better), number in sorted(behind.items()):
        told = f"{format_quantity(number, 'host')} will run {runs}, though the CPU has {better}"
        yield f"{told}: glibc before 2.33 takes the least level of a wheel"


def explain_wheelhouse_directories(artefacts: Sequence[FleetArtefact]) -> Iterator[str]:
    """What the directories inside a wheelhouse are."""
    apart = list(dict.fromkeys(artefact.directory for artefact in artefacts if artefact.directory != "."))
    if apart:
        what = "is a wheelhouse of its own" if len(apart) == 1 else "are wheelhouses of their own"
        where = listing(f"{name}/" for name in apart)
        yield f"{where} {what}: pip and uv see no CPU, and would take such a wheel on any host"
