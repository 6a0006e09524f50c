"""Plan wheels for many machines from their facts files, or a set with one wheel for each CPython in use.

The plan also says which of the wheels this machine can build.
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from fastinstall.core.errors import UndeterminedError, UsageError
from fastinstall.core.version_numbers import contains
from fastinstall.fleet.fleet import Fleet, FleetArtefact
from fastinstall.fleet.hosts import read_hosts
from fastinstall.fleet.wheel_choice import name_artefact, plan_fleet
from fastinstall.model.recipe import Recipe
from fastinstall.model.request import LinkMode, Request
from fastinstall.observe.environments import base_python
from fastinstall.observe.interpreter import interpreter_with, observe_interpreter
from fastinstall.observe.recipes import recipe_named
from fastinstall.observe.session import Session
from fastinstall.setup.decide.levels import list_requested_levels, refuse_unknown, sort_recipe_levels

PYTHONS = ("3.10", "3.11", "3.12", "3.13", "3.14", "3.14t", "3.15", "3.15t")
"""Minor versions of CPython in use; "t" marks the free-threaded build, supported since 3.14 (PEP 779)."""


def plan_hosts(
    session: Session, place: Path, request: Request, python: Path | None = None, max_age: float | None = None
) -> Fleet:
    """Plan few artefacts that serve many hosts, without building them or asking an index.

    Args:
        session: provides the clock, and the variables for finding interpreters.
        place: a directory of facts files.
        request: what to build for all hosts.
        python: the interpreter of this machine to prefer as builder; None to search this machine for builders.
        max_age: days after which a facts file is too old, so that its host is excluded; None for no limit.

    Raises:
        UsageError: the directory has no facts files, the recipe does not support the request, or the request is for
            this machine only.
        DocumentError: the recipe is malformed.
    """
    recipe = _find_recipe(session, request, "", "--hosts names others")
    hosts, unread = read_hosts(place)
    if not hosts and not unread:
        hint = "on each host: fastinstall inspect --json > HOST.json"
        raise UsageError(f"--hosts {place}: no facts files there", hint=hint)
    fleet = plan_fleet(hosts, unread, recipe, request, now=session.now().timestamp(), max_age=max_age)
    return replace(fleet, artefacts=tuple(_add_builders(session, python, fleet.artefacts)))


def plan_set(session: Session, python: Path | None, request: Request, machine: str = "") -> Fleet:
    """Plan the wheels of a set, and the interpreter of this machine that builds each.

    Args:
        session: provides the variables for finding interpreters.
        python: the interpreter to prefer as builder; its version is added to the set. None to search for builders.
        request: what to build. If it names no levels, each wheel has all levels that the recipe selects automatically.
        machine: the architecture of the wheels, as the kernel names it; empty for this machine's.

    Raises:
        UndeterminedError: the named interpreter cannot be run, or is not a CPython.
        UsageError: the recipe does not support the request, or the request is for this machine only.
    """
    machine = machine or os.uname().machine
    recipe = _find_recipe(session, request, machine, "--set is for others")
    if request.link is not LinkMode.BUNDLE:
        raise UsageError(
            f"--link {request.link} is for the libraries of this machine, and --set is for others", hint="leave it out"
        )
    names = list_requested_levels(request) or [level.name for level in recipe.list_levels(machine) if level.automatic]
    levels = tuple(level.name for level in sort_recipe_levels(recipe, names))
    pythons = {each for each in PYTHONS if contains(recipe.source.pythons, each.rstrip("t"))}
    if python is not None:
        pythons.add(_name_python(python))
    ordered = sorted(pythons, key=lambda each: ([int(part) for part in each.rstrip("t").split(".")], each))
    by_abi = {f"cp{each.replace('.', '')}": each.rstrip("t") for each in ordered}
    artefacts = [
        FleetArtefact(
            id=name_artefact(abi, levels),
            python=version,
            implementation="cpython",
            abi=abi,
            architecture=machine,
            libc="glibc",
            minimum_glibc="",
            levels=levels,
            directory=".",
            reason="",
            hosts=(),
        )
        for abi, version in by_abi.items()
    ]
    return Fleet(
        summary=f"one wheel for each of {len(artefacts)} CPythons",
        request=request,
        groups=(),
        artefacts=tuple(_add_builders(session, python, artefacts)),
    )


def _name_python(python: Path) -> str:
    """Return the version of an interpreter as `PYTHONS` writes it, such as "3.14t".

    Raises:
        UndeterminedError: the interpreter cannot be run, or is not a CPython.
    """
    found = observe_interpreter(python)
    if found.implementation != "cpython":
        raise UndeterminedError(
            f"{python}: wheels are built for CPython, and this is {found.implementation}",
            hint="name another one, or leave --python out",
        )
    return ".".join(found.version.split(".")[:2]) + ("t" if found.free_threaded else "")


def _find_recipe(session: Session, request: Request, machine: str, why: str) -> Recipe:
    """Return the recipe that a request for other machines names; refuse the level "native".

    Args:
        session: provides the directories of recipes.
        request: the request, which names the recipe.
        machine: the architecture to build for, as the kernel names it; empty for several.
        why: end of the error message on `--level native`: why a level for this machine does not suit.

    Raises:
        UsageError: the recipe does not support the request, or the request has the level "native".
    """
    recipe = recipe_named(session, request.recipe)
    refuse_unknown(recipe, request, machine)
    if "native" in list_requested_levels(request):
        levels = recipe.list_levels(machine) or recipe.levels
        known = ", ".join(level.name for level in levels if level.name != "native")
        raise UsageError(f"--level native fits this machine only, and {why}", hint=f"name a level: {known}")
    return recipe


def _add_builders(
    session: Session, preferred: Path | None, artefacts: Sequence[FleetArtefact]
) -> Iterator[FleetArtefact]:
    """Yield each artefact with its builder, or with a problem if this machine has no suitable interpreter.

    Args:
        session: provides the variables for finding interpreters.
        preferred: the interpreter to use wherever its ABI fits; None to search this machine for builders.
        artefacts: the planned wheels.
    """
    first = tuple(python for python in (preferred, base_python()) if python is not None)
    find_builder = cache(lambda abi, version: interpreter_with(abi, version, first, session.variables))
    for artefact in artefacts:
        builder = find_builder(artefact.abi, artefact.python)
        if builder is not None:
            yield replace(artefact, builder=Path(builder.executable))
            continue
        name = f"python{artefact.python}{'t' if artefact.abi.endswith('t') else ''}"
        yield replace(
            artefact,
            problem=f"this machine has no CPython {artefact.python} with the ABI {artefact.abi} to build it with",
            hint=f"put a {name} on PATH or name one with --python EXE, or build on a machine that has it",
        )
