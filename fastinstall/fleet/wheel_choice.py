"""Choose few wheels that serve many machines, and the wheel that each machine takes. Pure.

One wheel can carry several CPU levels if the loader chooses among them (glibc 2.33 and later). An older loader takes
the baseline of such a wheel, which is correct but slower. Hosts with an older loader therefore get a wheel for their
level alone, in a separate directory. The wheel at the top of the wheelhouse must run on every host with its Python,
because pip and uv choose by file name and ignore the CPU.

A finished wheel runs on the hosts that its platform tags allow. Source: PEP 600, "manylinux_X_Y": the wheel runs with
glibc X.Y and every later version.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache

from fastinstall.core.architecture import level_label
from fastinstall.core.errors import RefusedError
from fastinstall.core.messages import listing
from fastinstall.core.version_numbers import contains
from fastinstall.elf.cpu import LEVELS, Cpu, find_offered_level, knows_levels, rank
from fastinstall.fleet.fleet import Cause, ExcludedHost, Fleet, FleetArtefact, HostGroup
from fastinstall.fleet.hosts import FleetHost, MachineClass
from fastinstall.index.upgrades import OTHER_RECIPE
from fastinstall.model.facts import EnvironmentKind
from fastinstall.model.recipe import Level, Recipe
from fastinstall.model.request import LinkMode, Request
from fastinstall.setup.decide.levels import (
    choose_best_level,
    find_lacking_features,
    list_requested_levels,
    sort_recipe_levels,
)

DAY = 86400.0
_SHOWN = 3
_STOCK = "keep stock Pillow there: python -m pip install pillow"
_MANYLINUX = re.compile(r"manylinux_(\d+)_(\d+)_\w+")

Names = Mapping[MachineClass, list[str]]
"""Names of the hosts of each class of machines."""

Verdict = tuple[Cause, str, str]
"""Why a host is excluded: the cause, a sentence, and a hint."""


_Share = tuple[list[MachineClass], tuple[str, ...], str, str]
"""One wheel: the machines that take it, its levels, its directory in the wheelhouse, and why it has these levels."""


def plan_fleet(
    hosts: Sequence[FleetHost],
    unread: Iterable[ExcludedHost],
    recipe: Recipe,
    request: Request,
    *,
    now: float,
    max_age: float | None = None,
) -> Fleet:
    """Plan which wheels to build, and which host takes which of them.

    Args:
        hosts: the hosts whose facts files were read, in any order.
        unread: hosts whose facts files could not be read.
        recipe: the recipe to build for all hosts.
        request: what to build. If it names levels, they apply to all hosts of their architecture; otherwise, each host
            gets the best level of its CPU.
        now: the current time, in seconds since the epoch.
        max_age: days after which a facts file is too old, so that its host is excluded; None for no limit.
    """
    names, refused = _sort_out_hosts(hosts, recipe, request, now, max_age)
    by_python: dict[tuple[str, ...], list[MachineClass]] = {}
    for machine in names:
        by_python.setdefault(_make_python_key(machine), []).append(machine)
    artefacts: list[FleetArtefact] = []
    groups: list[HostGroup] = []
    for key in sorted(by_python):
        for share in _share_out(by_python[key], recipe, request):
            artefacts.append(_make_artefact(share, names))
            groups += _make_groups(artefacts[-1], share[0], names, recipe, request)
    groups.sort(key=lambda group: (-len(group.hosts), group.artefact, group.libc_version, group.level))
    served = {name for each in names.values() for name in each}
    systems = sum(host.kind is EnvironmentKind.SYSTEM and host.name in served for host in hosts)
    fleet = Fleet(
        summary="",
        request=request,
        groups=tuple(groups),
        artefacts=tuple(artefacts),
        notes=tuple(_make_notes(systems, groups, artefacts)),
    )
    return _leave_out(fleet, (*refused, *unread))


def name_artefact(abi: str, levels: Iterable[str]) -> str:
    """Return the `id` of an artefact: "cp311-v2.v3"."""
    return f"{abi}-{'.'.join(map(level_label, levels))}"


def select_reachable_hosts(fleet: Fleet, needed: Mapping[str, str]) -> Fleet:
    """Return the fleet after excluding the hosts whose glibc is too old for their finished wheel.

    Args:
        fleet: a fleet whose wheels are built.
        needed: an artefact's `id` to the oldest glibc that its wheel runs with, or to "" if that is unknown.
    """
    out: list[ExcludedHost] = []
    groups: list[HostGroup] = []
    for group in fleet.groups:
        glibc, has = needed.get(group.artefact, ""), _numbers(group.libc_version)
        if not glibc or not has or has >= _numbers(glibc):
            groups.append(group)
            continue
        reason = f"it has glibc {group.libc_version}, and the wheel needs {glibc} or later"
        hint = "build on a machine with the older glibc, for these hosts alone: fastinstall build --hosts DIR -o DIR"
        out += [ExcludedHost(host=name, cause=Cause.MINIMUM_GLIBC, reason=reason, hint=hint) for name in group.hosts]
    lost = {each.host for each in out}
    artefacts = tuple(
        replace(artefact, hosts=tuple(name for name in artefact.hosts if name not in lost))
        for artefact in fleet.artefacts
    )
    return _leave_out(replace(fleet, groups=tuple(groups), artefacts=artefacts), out)


def find_oldest_glibc(platforms: Iterable[str]) -> str:
    """Return the oldest glibc that a wheel with these platform tags runs with; empty if no tag says so.

    >>> find_oldest_glibc(["manylinux_2_28_x86_64", "manylinux_2_17_x86_64"])
    '2.17'
    """
    told = [(int(found[1]), int(found[2])) for found in map(_MANYLINUX.fullmatch, platforms) if found]
    return "{}.{}".format(*min(told)) if told else ""


def format_quantity(number: int, what: str) -> str:
    """Format a number with its noun: "1 host", "2 hosts", "10,000 hosts".

    >>> format_quantity(10_000, "host")
    '10,000 hosts'
    """
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _leave_out(fleet: Fleet, more: Iterable[ExcludedHost]) -> Fleet:
    """Return the fleet with more excluded hosts and a new summary."""
    left_out = tuple(sorted((*fleet.left_out, *more), key=lambda each: (each.host, each.reason)))
    served = format_quantity(sum(len(artefact.hosts) for artefact in fleet.artefacts), "host")
    wheels = f"{format_quantity(len(fleet.artefacts), 'wheel')} {'serves' if len(fleet.artefacts) == 1 else 'serve'}"
    beyond = f"; {len(left_out):,} left out" if left_out else ""
    return replace(fleet, summary=f"{wheels} {served}{beyond}", left_out=left_out)


def _sort_out_hosts(
    hosts: Iterable[FleetHost], recipe: Recipe, request: Request, now: float, max_age: float | None
) -> tuple[dict[MachineClass, list[str]], list[ExcludedHost]]:
    """Return the names of the hosts to build for, grouped by class of machine, and the excluded hosts."""
    by_name: dict[str, list[FleetHost]] = {}
    for host in hosts:
        by_name.setdefault(host.name, []).append(host)
    names: dict[MachineClass, list[str]] = {}
    refused: list[ExcludedHost] = []
    judge_machine = cache(lambda machine: _judge_machine(machine, recipe, request))
    for name, (host, *others) in by_name.items():
        verdict = _judge_documents(host, others, now, max_age) or judge_machine(host.machine)
        if verdict is None:
            names.setdefault(host.machine, []).append(name)
        else:
            cause, reason, hint = verdict
            file = "" if others else host.file
            refused.append(ExcludedHost(host=name, cause=cause, reason=reason, hint=hint, file=file))
    return names, refused


def _judge_documents(host: FleetHost, others: list[FleetHost], now: float, max_age: float | None) -> Verdict | None:
    """Return why a host is excluded: for a duplicate name, old facts or a protected environment; None otherwise."""
    if others:
        files = sorted(each.file for each in (host, *others))
        hint = f"keep the one for {host.name}, or give each host its own name"
        return Cause.DUPLICATE, f"{len(files)} documents have its name: {listing(files, _SHOWN)}", hint
    days = (now - host.seen) / DAY
    if max_age is not None and days > max_age:
        told = f"its facts are {days:.0f} days old (allowed: {max_age:g})"
        return Cause.STALE, told, "write them again on that host: fastinstall inspect --json > HOST.json"
    if host.protected:
        hint = "clone the environment or create your own there, then write its facts: fastinstall inspect --json"
        return Cause.PROTECTED, host.protected, hint
    return None


def _judge_machine(machine: MachineClass, recipe: Recipe, request: Request) -> Verdict | None:
    """Return why no wheel is built for a machine, or None. The architecture is checked first: levels depend on it."""
    known = (machine.cpu.architecture, machine.architecture)
    architecture = next((each for each in known if not recipe.serves(each)), None)
    if architecture is not None:
        told = f"it is {architecture or 'of unknown architecture'}, and {recipe.name} is built for {recipe.served} only"
        hint = f"{_STOCK}; its libjpeg-turbo has SIMD code for other architectures too (NEON on Arm)"
        return Cause.ARCHITECTURE, told, hint
    if machine.implementation != "cpython":
        told = f"its Python is {machine.implementation}: the core is built for CPython only"
        return Cause.IMPLEMENTATION, told, _STOCK
    if machine.libc != "glibc":
        told = f"its C library is {machine.libc or 'unknown'}: wheels built here need glibc"
        return Cause.LIBC, told, "build on a machine of that kind: fastinstall build -o DIR"
    pythons = recipe.source.pythons
    if pythons and not contains(pythons, machine.python):
        told = f"{recipe.name} supports Python {pythons}, and it has {machine.python}"
        return Cause.PYTHON, told, f"give it a later Python, or {OTHER_RECIPE}"
    return _judge_cpu(machine.cpu, recipe, request)


def _judge_cpu(cpu: Cpu, recipe: Recipe, request: Request) -> Verdict | None:
    asked = _list_asked_levels(recipe, request, cpu.architecture)
    if not asked:
        try:
            choose_best_level(recipe, cpu)
        except RefusedError as error:
            return Cause.CPU, error.message, _STOCK
        return None
    least = asked[0]
    missing = find_lacking_features(least, cpu)
    if not missing:
        return None
    told = f"{cpu.name or 'its CPU'} lacks {listing(missing)} for {least.name}, the lowest requested level"
    return Cause.CPU, told, f"request a lower level too, or pass --level auto; or {_STOCK}"


def _list_asked_levels(recipe: Recipe, request: Request, architecture: str) -> tuple[Level, ...]:
    """Return the requested levels of an architecture, the baseline first; empty if no level is requested for it."""
    asked = sort_recipe_levels(recipe, list_requested_levels(request))
    return tuple(level for level in asked if level.architecture == architecture)


def _make_python_key(machine: MachineClass) -> tuple[str, ...]:
    major, _, minor = machine.python.partition(".")
    return machine.implementation, f"{major:>3}.{minor:>3}", machine.abi, machine.architecture, machine.libc


def _share_out(machines: list[MachineClass], recipe: Recipe, request: Request) -> Iterator[_Share]:
    """Yield the few wheels for machines with the same Python, the wheel at the top of the wheelhouse first.

    Without requested levels, each machine gets the best level of its CPU.
    """
    asked = tuple(level.name for level in _list_asked_levels(recipe, request, machines[0].architecture))
    if asked:
        yield machines, asked, ".", f"{listing(asked)}, as requested"
        return
    best = {machine: choose_best_level(recipe, machine.cpu).name for machine in machines}
    least = _sort_levels(recipe, set(best.values()))[0]
    chosen = {name for machine, name in best.items() if name in LEVELS and _has_choosing_loader(machine, request)}
    common = _sort_levels(recipe, {least, *(chosen if least in LEVELS else ())})
    top: list[MachineClass] = []
    apart: dict[str, list[MachineClass]] = {}
    for machine, name in best.items():
        served = name == least or (name in common and _has_choosing_loader(machine, request))
        (top if served else apart.setdefault(name, [])).append(machine)
    reason = f"{listing(common)} in one wheel: the loader takes the best for each CPU"
    if len(common) == 1:
        reason = f"{least} is what all its hosts have"
    yield top, common, ".", reason
    why = "a wheel linked to outside libraries carries one level"
    if request.link is LinkMode.BUNDLE:
        why = "the loader (glibc before 2.33) cannot choose among several"
    for name in sorted(apart):
        yield apart[name], (name,), name, f"{name} alone: {why}"


def _sort_levels(recipe: Recipe, names: Collection[str]) -> tuple[str, ...]:
    return tuple(level.name for level in sort_recipe_levels(recipe, names))


def _has_choosing_loader(machine: MachineClass, request: Request) -> bool:
    """Return whether the machine's loader can choose among several levels in one wheel."""
    return request.link is LinkMode.BUNDLE and knows_levels(machine.libc, machine.libc_version)


def _choose_loaded_level(machine: MachineClass, levels: tuple[str, ...], recipe: Recipe, request: Request) -> str:
    """Return which of a wheel's `levels` a machine loads."""
    if len(levels) == 1 or not _has_choosing_loader(machine, request):
        return levels[0]
    ordered = sort_recipe_levels(recipe, levels)
    return [level.name for level in ordered if not find_lacking_features(level, machine.cpu)][-1]


def _make_artefact(share: _Share, names: Names) -> FleetArtefact:
    machines, levels, directory, reason = share
    machine = machines[0]
    known = (each.libc_version for each in machines if _numbers(each.libc_version))
    return FleetArtefact(
        id=name_artefact(machine.abi, levels),
        python=machine.python,
        implementation=machine.implementation,
        abi=machine.abi,
        architecture=machine.architecture,
        libc=machine.libc,
        minimum_glibc=min(known, key=_numbers, default=""),
        levels=levels,
        directory=directory,
        reason=reason,
        hosts=_sort_names(machines, names),
    )


def _make_groups(
    artefact: FleetArtefact, machines: list[MachineClass], names: Names, recipe: Recipe, request: Request
) -> Iterator[HostGroup]:
    alike: dict[tuple[str, ...], list[MachineClass]] = {}
    for machine in machines:
        level = find_offered_level(machine.cpu) or ""
        runs = _choose_loaded_level(machine, artefact.levels, recipe, request)
        alike.setdefault((machine.libc_version, level, runs), []).append(machine)
    for (libc_version, level, runs), members in alike.items():
        yield HostGroup(
            python=artefact.python,
            abi=artefact.abi,
            architecture=artefact.architecture,
            libc=artefact.libc,
            libc_version=libc_version,
            level=level,
            runs=runs,
            artefact=artefact.id,
            hosts=_sort_names(members, names),
        )


def _sort_names(machines: Iterable[MachineClass], names: Names) -> tuple[str, ...]:
    return tuple(sorted(name for machine in machines for name in names[machine]))


def _numbers(version: str) -> tuple[int, ...]:
    """Return the numbers in a version for comparison: (2, 36) for "2.36"; empty if it has none."""
    return tuple(int(part) for part in re.findall(r"\d+", version))


def _make_notes(systems: int, groups: Iterable[HostGroup], artefacts: Iterable[FleetArtefact]) -> Iterator[str]:
    """Yield notes on hosts with a system Python, hosts that run a lower level, and separate directories of wheels."""
    if systems:
        yield (
            f"{format_quantity(systems, 'host')} {'uses' if systems == 1 else 'use'} the system's own Python, which "
            "fastinstall never changes: create an environment there (--new-env DIR)"
        )
    levels = {artefact.id: artefact.levels for artefact in artefacts}
    behind = Counter[tuple[str, str]]()
    for group in groups:
        has = [level for level in levels[group.artefact] if rank(level) <= rank(group.level)]
        if has and has[-1] != group.runs:
            behind[group.runs, has[-1]] += len(group.hosts)
    for (runs, better), number in sorted(behind.items()):
        told = f"{format_quantity(number, 'host')} will run {runs}, although the CPU has {better}"
        yield f"{told}: glibc before 2.33 loads the lowest level of a wheel"
    apart = list(dict.fromkeys(artefact.directory for artefact in artefacts if artefact.directory != "."))
    if apart:
        what = "is a separate wheelhouse" if len(apart) == 1 else "are separate wheelhouses"
        where = listing(f"{name}/" for name in apart)
        yield f"{where} {what}: pip and uv ignore the CPU, and would install such a wheel on any host"
