"""Plan wheels for many machines by their facts files, or a set with one wheel for each CPython in use.

Says which of them can be built here.
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
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
"""The CPythons in use; with a "t" the free-threaded one, which Python supports since 3.14 (PEP 779)."""


def plan_hosts(
    session: Session, place: Path, request: Request, python: Path | None = None, max_age: float | None = None
) -> Fleet:
    """Decide which few artefacts serve many hosts. Nothing is built, and no index is asked.

    Args:
        session: where interpreters are looked for, and the clock comes from.
        place: a directory of facts files.
        request: what is built for all hosts.
        python: an interpreter of this machine that is preferred where it fits; None for those that are found.
        max_age: days that a document may be old; None for any age.

    Raises:
        UsageError: no facts files there, or a request that the recipe does not know or that fits one machine only.
        DocumentError: a malformed recipe.
    """
    recipe = _find_recipe(session, request, "", "--hosts names others")
    hosts, unread = read_hosts(place)
    if not hosts and not unread:
        hint = "on each host: fastinstall inspect --json > HOST.json"
        raise UsageError(f"--hosts {place}: no facts files there", hint=hint)
    fleet = plan_fleet(hosts, unread, recipe, request, now=session.now().timestamp(), max_age=max_age)
    return replace(fleet, artefacts=tuple(_add_builders(session, python, fleet.artefacts)))


def plan_set(session: Session, python: Path | None, request: Request, machine: str = "") -> Fleet:
    """Decide which wheels a set has, and with which interpreters of this machine they are built.

    Args:
        session: where interpreters are looked for.
        python: an interpreter that is taken where it fits, and adds its version if the set would not have it.
        request: named levels hold for all wheels; else each has all that the recipe lets us choose.
        machine: that the wheels are for, as the kernel names it; empty for this one.

    Raises:
        UndeterminedError: the named interpreter does not answer.
        UsageError: a request that the recipe does not know, or that fits this machine only.
    """
    recipe = _find_recipe(session, request, machine or os.uname().machine, "--set is for others")
    if request.link is not LinkMode.BUNDLE:
        raise UsageError(
            f"--link {request.link} is for the libraries of this machine, and --set is for others", hint="leave it out"
        )
    machine = machine or os.uname().machine
    names = list_requested_levels(request) or [level.name for level in recipe.list_levels(machine) if level.automatic]
    levels = tuple(level.name for level in sort_recipe_levels(recipe, names))
    pythons = {each for each in PYTHONS if contains(recipe.source.pythons, each.rstrip("t"))}
    if python is not None:
        pythons.add(_name_python(python))
    by_abi = {f"cp{each.replace('.', '')}": each.rstrip("t") for each in sorted(pythons, key=_sort_key)}
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
    """Return what an interpreter is called in `PYTHONS`.

    Raises:
        UndeterminedError: it does not answer, or is not a CPython.
    """
    found = observe_interpreter(python)
    if found.implementation != "cpython":
        raise UndeterminedError(
            f"{python}: wheels are built for CPython, and this is {found.implementation}",
            hint="name another one, or leave --python out",
        )
    return ".".join(found.version.split(".")[:2]) + ("t" if found.free_threaded else "")


def _sort_key(python: str) -> tuple[list[int], str]:
    return [int(part) for part in python.rstrip("t").split(".")], python


def _find_recipe(session: Session, request: Request, machine: str, why: str) -> Recipe:
    """Return the recipe of a request for other machines.

    Args:
        session: where recipes are looked for.
        request: names the recipe.
        machine: that is built for, as the kernel names it; empty for several.
        why: the wheels are for other machines than this one.

    Raises:
        UsageError: it does not know what is requested, or a level is that fits this machine alone; says why not.
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
    """Yield each artefact with the interpreter of this machine that it is built with, or that there is none.

    Args:
        session: for the variables by which interpreters are found.
        preferred: an interpreter that is taken where it fits; None for those that are found.
        artefacts: what is to be built.
    """
    first = tuple(python for python in (preferred, base_python(session)) if python is not None)
    builders = {
        artefact.abi: interpreter_with(artefact.abi, artefact.python, first, session.variables)
        for artefact in artefacts
    }
    for artefact in artefacts:
        builder = builders[artefact.abi]
        if builder is not None:
            yield replace(artefact, builder=Path(builder.executable))
            continue
        name = f"python{artefact.python}{'t' if artefact.abi.endswith('t') else ''}"
        yield replace(
            artefact,
            problem=f"this machine has no CPython {artefact.python} with the ABI {artefact.abi} to build it with",
            hint=f"put a {name} on PATH or name one with --python EXE, or build on a machine that has it",
        )
