"""A set: one wheel for each CPython in use, in one directory that pip alone can install from."""

import os
from enum import StrEnum
from pathlib import Path, PurePath

from fastinstall.apply.wheel_only import NO_EMULATION, Emulation
from fastinstall.core.architecture import level_label
from fastinstall.core.errors import UndeterminedError, UsageError
from fastinstall.core.messages import listing
from fastinstall.core.values import immutable
from fastinstall.core.version_numbers import contains
from fastinstall.fleet.fleet import FleetArtefact
from fastinstall.fleet.host_plan import add_builders, refuse_native
from fastinstall.fleet.wheels import make_artefacts
from fastinstall.model.recipe import Recipe
from fastinstall.model.request import LinkMode, Request
from fastinstall.observe.interpreter import observe_interpreter
from fastinstall.observe.recipes import recipe_named
from fastinstall.observe.session import Session
from fastinstall.plan.level_choice import list_requested_levels, refuse_unknown, sort_recipe_levels
from fastinstall.wheelbuild.package_index.publish import require_wheelhouse

PYTHONS = ("3.10", "3.11", "3.12", "3.13", "3.14", "3.14t")
"""The CPythons in use; with a "t" the free-threaded one, which Python supports since 3.14 (PEP 779)."""


class WheelOutcome(StrEnum):
    """What came of a wheel of a set."""

    THERE = "there"
    """It was built, or was there already."""
    NO_INTERPRETER = "no-interpreter"
    """This machine does not have the Python that it would be built with."""
    FAILED = "failed"
    """It could not be built."""


@immutable
class SetWheel:
    """The wheel of a set for one CPython.

    Attributes:
        python: minor version of Python, such as "3.11".
        abi: the interpreter's ABI tag, such as "cp311"; "cp314t" of a free-threaded one.
        levels: the CPU levels in it, the baseline first.
        outcome: whether it is there.
        wheel: the name of its file; None if there is none.
        sha256: of the wheel, hexadecimal; empty if there is none.
        problem: why it is not there; empty if it is.
        hint: what to do about the problem.
    """

    python: str
    abi: str
    levels: tuple[str, ...]
    outcome: WheelOutcome
    wheel: str | None = None
    sha256: str = ""
    problem: str = ""
    hint: str = ""


@immutable
class WheelSet:
    """Wheels for several CPythons, in a directory that is a package index.

    Attributes:
        summary: how many of the wheels are there, in a line.
        request: what was built.
        directory: where the wheels and the pages of the index are.
        wheels: one for each CPython, the oldest first.
    """

    summary: str
    request: Request
    directory: PurePath
    wheels: tuple[SetWheel, ...]


def plan_set(session: Session, python: Path | None, request: Request, machine: str = "") -> tuple[FleetArtefact, ...]:
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
    recipe = recipe_named(session, request.recipe)
    refuse_unknown(recipe, request)
    refuse_native(recipe, request, "--set is for others")
    if request.link is not LinkMode.BUNDLE:
        raise UsageError(
            f"--link {request.link} is for the libraries of this machine, and --set is for others", hint="leave it out"
        )
    machine = machine or os.uname().machine
    names = _choose_levels(recipe, request, machine)
    pythons = dict.fromkeys(each for each in PYTHONS if contains(recipe.source.pythons, each.rstrip("t")))
    if python is not None:
        pythons[_name_python(python)] = None
    wanted = tuple(_make_artefact(each, machine, names) for each in sorted(pythons, key=_sort_key))
    return tuple(add_builders(session, python, wanted))


def build_set(
    session: Session,
    wanted: tuple[FleetArtefact, ...],
    request: Request,
    directory: Path,
    emulation: Emulation = NO_EMULATION,
) -> WheelSet:
    """Build the wheels of a set that are not there yet. If one cannot be built, the others still are.

    Args:
        session: where variables, caches and directories come from.
        wanted: what `plan_set` has returned.
        request: the one that it was given.
        directory: made where it is missing; further wheels in it stay.
        emulation: how wheels for another architecture are proven.

    Raises:
        FailedError: the directory cannot be written, or a wheel in it is damaged.
        DocumentError: its SHA256SUMS cannot be read.
    """
    require_wheelhouse(directory)
    made = make_artefacts(session, wanted, request, directory, emulation)
    wheels = tuple(_report(artefact) for artefact in made)
    there = [wheel for wheel in wheels if wheel.outcome is WheelOutcome.THERE]
    summary = f"{len(there)} of {len(wheels)} wheels are there: {listing(wheel.abi for wheel in there) or 'none'}"
    return WheelSet(summary=summary, request=request, directory=directory, wheels=wheels)


def _choose_levels(recipe: Recipe, request: Request, machine: str) -> tuple[str, ...]:
    """Choose the requested levels, or all that are worth having."""
    asked = list_requested_levels(request)
    names = asked or [level.name for level in recipe.list_levels(machine) if level.automatic]
    return tuple(level.name for level in sort_recipe_levels(recipe, names))


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


def _make_artefact(python: str, machine: str, levels: tuple[str, ...]) -> FleetArtefact:
    abi = f"cp{python.replace('.', '')}"
    return FleetArtefact(
        id=f"{abi}-{'.'.join(map(level_label, levels))}",
        python=python.rstrip("t"),
        implementation="cpython",
        abi=abi,
        architecture=machine,
        libc="glibc",
        minimum_glibc="",
        levels=levels,
        directory=".",
        reason="one wheel for each CPython in use",
        hosts=(),
    )


def _report(artefact: FleetArtefact) -> SetWheel:
    failed = WheelOutcome.NO_INTERPRETER if artefact.builder is None else WheelOutcome.FAILED
    return SetWheel(
        python=artefact.python,
        abi=artefact.abi,
        levels=artefact.levels,
        outcome=failed if artefact.wheel is None else WheelOutcome.THERE,
        wheel=artefact.wheel,
        sha256=artefact.sha256,
        problem=artefact.problem,
        hint=artefact.hint,
    )
