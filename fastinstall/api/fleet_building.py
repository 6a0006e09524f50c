"""The wheels that many hosts need, built one after the other into one wheelhouse."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from fastinstall.api.building import build_into
from fastinstall.api.fleet import FleetRequest, plan_hosts
from fastinstall.api.fleet_wheels import WheelThere, described, wheel_there
from fastinstall.api.indexing import require_wheelhouse, unwritable
from fastinstall.api.observing import recipe_named
from fastinstall.api.session import Session
from fastinstall.api.target import Target
from fastinstall.errors import FailedError, FastinstallError, RefusedError
from fastinstall.model.codec import document, dump
from fastinstall.model.event import Noted, Started
from fastinstall.model.fleet import Fleet, FleetArtefact
from fastinstall.model.recipe import Recipe
from fastinstall.model.wish import Wish
from fastinstall.rules.fleet_reach import needed_glibc, within_reach
from fastinstall.rules.fleet_words import counted
from fastinstall.system import files, foreign
from fastinstall.system.lock import locked

FLEET_FILE = "fleet.json"
"""In a wheelhouse: which host takes which wheel of it."""


def build_fleet(session: Session, request: FleetRequest, wish: Wish, wheelhouse: Path) -> Fleet:
    """Build what the hosts need, each wheel by itself, and write down who takes which.

    What the wheelhouse has already is not built again. A wheel that cannot be built is named in its artefact, and the
    others are built all the same.

    Args:
        session: where variables, caches and directories come from.
        request: which hosts are meant.
        wish: what to build.
        wheelhouse: the directory, made where it is missing.

    Raises:
        UsageError: as `plan_hosts` says.
        FailedError: the wheelhouse cannot be written.
        RefusedError: another run works on it.
    """
    fleet = plan_hosts(session, request, wish)
    if not fleet.artefacts:
        return fleet
    recipe = recipe_named(session, wish.recipe)
    require_wheelhouse(session, wheelhouse)
    with _alone(wheelhouse):
        pairs = list(_made(session, fleet, recipe, wheelhouse))
        needed = {artefact.id: needed_glibc(wheel.platforms) for artefact, wheel in pairs if wheel is not None}
        built = within_reach(replace(fleet, artefacts=tuple(artefact for artefact, _ in pairs)), needed)
        _write(wheelhouse / FLEET_FILE, built)
    return built


def _made(
    session: Session, fleet: Fleet, recipe: Recipe, wheelhouse: Path
) -> Iterator[tuple[FleetArtefact, WheelThere | None]]:
    for number, artefact in enumerate(fleet.artefacts, start=1):
        turn = f"{artefact.id} for {counted(len(artefact.hosts), 'host')} ({number} of {len(fleet.artefacts)})"
        directory = wheelhouse / artefact.directory
        there = wheel_there(directory, artefact, recipe, fleet.wish)
        if there is not None:
            session.emit(Noted(message=f"{turn}: {there.name} is there already"))
            yield _with_wheel(artefact, there), there
        elif artefact.builder is None:
            session.emit(Noted(message=f"{turn}: {artefact.problem}", warning=True))
            yield artefact, None
        else:
            session.emit(Started(stage="build", message=turn))
            yield _built(session, artefact, fleet.wish, directory)


def _built(
    session: Session, artefact: FleetArtefact, wish: Wish, directory: Path
) -> tuple[FleetArtefact, WheelThere | None]:
    """The artefact with its wheel, or with what kept it from being built."""
    target = Target(python=Path(artefact.builder) if artefact.builder is not None else None)
    try:
        result = build_into(session, target, replace(wish, level="auto", levels=artefact.levels), directory).result
    except FastinstallError as error:
        session.emit(Noted(message=f"{artefact.id}: {error.message}", warning=True))
        details = f" ({error.details[-1]})" if error.details else ""
        return replace(artefact, problem=f"{error.message}{details}", hint=error.hint or ""), None
    there = described(result.wheel.name, result.sha256)
    return _with_wheel(artefact, there), there


def _with_wheel(artefact: FleetArtefact, wheel: WheelThere) -> FleetArtefact:
    """What made it says nothing of a wheel that is there, so a machine without that Python writes the same."""
    path = Path(artefact.directory, wheel.name)
    return replace(artefact, wheel=str(path), sha256=wheel.sha256, builder=None, problem="", hint="")


@contextmanager
def _alone(wheelhouse: Path) -> Iterator[None]:
    """One writer of a wheelhouse at a time."""
    try:
        wheelhouse.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(wheelhouse, error) from error
    try:
        with locked(wheelhouse):
            yield
    except RefusedError as error:
        raise RefusedError(error.message.replace("this environment", "this wheelhouse"), hint=error.hint) from error


def _write(file: Path, fleet: Fleet) -> None:
    text = dump(document("fleet", fleet))
    try:
        if not file.is_file() or foreign.read_text(file) != text:
            files.write_text(file, text)
    except (OSError, ValueError) as error:
        raise FailedError(f"{file}: cannot be written: {error}", hint="name another directory with -o") from error
