"""Plan the few wheels that many hosts need, by their facts files; say which of them can be built here."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from fastinstall.core.errors import UsageError
from fastinstall.core.values import immutable
from fastinstall.fleet.fleet import Fleet, FleetArtefact
from fastinstall.fleet.hosts import read_hosts
from fastinstall.fleet.wheel_choice import Limits, plan_fleet
from fastinstall.model.recipe import Recipe
from fastinstall.model.request import Request
from fastinstall.observe.environments import base_python
from fastinstall.observe.interpreter import interpreter_with
from fastinstall.observe.recipes import recipe_named
from fastinstall.observe.session import Session
from fastinstall.plan.level_choice import list_requested_levels, refuse_unknown


@immutable
class FleetRequest:
    """Which hosts are meant, and with what is built.

    Attributes:
        hosts: a directory of facts files, or one file with a document in each line.
        python: an interpreter of this machine that is preferred where it fits; None for those that are found.
        max_age: days that a document may be old; None for any age.
    """

    hosts: Path
    python: Path | None = None
    max_age: float | None = None


def plan_hosts(session: Session, fleet_request: FleetRequest, request: Request) -> Fleet:
    """Decide which few artefacts serve many hosts. Nothing is built, and no index is asked.

    Raises:
        UsageError: no facts files there, or a request that the recipe does not know or that fits one machine only.
        DocumentError: a malformed recipe.
    """
    recipe = recipe_named(session, request.recipe)
    refuse_unknown(recipe, request)
    refuse_native(recipe, request, "--hosts names others")
    hosts, unread = read_hosts(fleet_request.hosts)
    if not hosts and not unread:
        raise UsageError(
            f"--hosts {fleet_request.hosts}: no facts files there",
            hint="on each host: fastinstall inspect --json > HOST.json",
        )
    fleet = plan_fleet(
        hosts, unread, recipe, request, Limits(now=session.now().timestamp(), max_age=fleet_request.max_age)
    )
    return replace(fleet, artefacts=tuple(add_builders(session, fleet_request.python, fleet.artefacts)))


def refuse_native(recipe: Recipe, request: Request, why: str) -> None:
    """Refuse a level that fits the CPU of this machine alone.

    Raises:
        UsageError: it is requested; says why that makes no sense.
    """
    if "native" in list_requested_levels(request):
        known = ", ".join(level.name for level in recipe.levels if level.name != "native")
        raise UsageError(f"--level native fits this machine only, and {why}", hint=f"name a level: {known}")


def add_builders(
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
