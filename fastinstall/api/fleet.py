"""Many hosts, by facts files of theirs: which few wheels serve them, and which of these can be built here."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from fastinstall.api.observing import recipe_named
from fastinstall.api.session import Session
from fastinstall.api.target import base_python
from fastinstall.errors import UsageError
from fastinstall.model.fleet import Fleet, FleetArtefact, FleetHost, LeftOut
from fastinstall.model.immutable import immutable
from fastinstall.model.recipe import Recipe
from fastinstall.model.wish import Wish
from fastinstall.probes.host_documents import document_files
from fastinstall.probes.host_facts import read_hosts
from fastinstall.probes.interpreters import interpreter_with
from fastinstall.rules.fleet import Limits, plan_fleet
from fastinstall.rules.wishes import asked_levels, refuse_unknown


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


def plan_hosts(session: Session, request: FleetRequest, wish: Wish) -> Fleet:
    """Decide which few artefacts serve many hosts. Nothing is built, and no index is asked.

    Raises:
        UsageError: no facts files there, or a wish that the recipe does not know or that fits one machine only.
        DocumentError: a malformed recipe.
    """
    recipe = recipe_named(session, wish.recipe)
    refuse_unknown(recipe, wish)
    _refuse_native(recipe, wish)
    hosts, unread = _read(request.hosts)
    limits = Limits(now=session.now().timestamp(), max_age=request.max_age)
    fleet = plan_fleet(hosts, unread, recipe, wish, limits)
    return replace(fleet, artefacts=tuple(_with_builders(session, request, fleet)))


def _read(directory: Path) -> tuple[list[FleetHost], list[LeftOut]]:
    hosts: list[FleetHost] = []
    unread: list[LeftOut] = []
    for each in read_hosts(document_files(directory, "--hosts")):
        if isinstance(each, FleetHost):
            hosts.append(each)
        else:
            unread.append(each)
    if not hosts and not unread:
        raise UsageError(
            f"--hosts {directory}: no facts files there", hint="on each host: fastinstall inspect --json > HOST.json"
        )
    return hosts, unread


def _refuse_native(recipe: Recipe, wish: Wish) -> None:
    """Code for the CPU of this machine is for no other."""
    if "native" in asked_levels(wish):
        known = ", ".join(level.name for level in recipe.levels if level.name != "native")
        raise UsageError(
            "--level native is for the machine that builds, and --hosts are others", hint=f"name a level: {known}"
        )


def _with_builders(session: Session, request: FleetRequest, fleet: Fleet) -> Iterator[FleetArtefact]:
    """Each artefact with the interpreter of this machine that it is built with."""
    first = tuple(python for python in (request.python, base_python(session)) if python is not None)
    builders: dict[str, Path | None] = {}
    for artefact in fleet.artefacts:
        if artefact.abi not in builders:
            found = interpreter_with(artefact.abi, artefact.python, first, session.variables)
            builders[artefact.abi] = Path(found.executable) if found is not None else None
        builder = builders[artefact.abi]
        yield replace(artefact, builder=builder) if builder is not None else _without_builder(artefact)


def _without_builder(artefact: FleetArtefact) -> FleetArtefact:
    name = f"python{artefact.python}{'t' if artefact.abi.endswith('t') else ''}"
    return replace(
        artefact,
        problem=f"this machine has no CPython {artefact.python} with the ABI {artefact.abi} to build it with",
        hint=f"put a {name} on PATH or name one with --python EXE, or build on a machine that has it",
    )
