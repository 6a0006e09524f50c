"""Build the wheels of a fleet or a set into one wheelhouse; wheels that it already has are not built again."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from fastinstall.core import files, foreign
from fastinstall.core.archives import list_zip_files, open_zip
from fastinstall.core.codec import document, dump
from fastinstall.core.errors import FailedError, FastinstallError, RefusedError
from fastinstall.core.events import Noted, Started
from fastinstall.core.lock import lock_environment
from fastinstall.core.messages import listing
from fastinstall.core.parsing import json_data
from fastinstall.core.version_numbers import base_version, parse_version_number
from fastinstall.fleet.fleet import FLEET_FILE, Fleet, FleetArtefact
from fastinstall.fleet.wheel_choice import find_oldest_glibc, format_quantity, select_reachable_hosts
from fastinstall.index.selection import parse_filename
from fastinstall.index.wheelhouse import read_sums
from fastinstall.model.recipe import Recipe, parse_labelled_levels
from fastinstall.model.request import Request
from fastinstall.observe.environments import NamedTarget
from fastinstall.observe.recipes import recipe_named
from fastinstall.observe.session import Session
from fastinstall.setup.wheel import NO_EMULATION, Emulation, build_wheel_into
from fastinstall.wheelbuild.output_directory import explain_write_errors, refuse_links
from fastinstall.wheelbuild.package_index import SUMS, require_wheelhouse

_MADE = ".dist-info/fastinstall.json"


def find_existing_wheel(
    directory: Path, artefact: FleetArtefact, recipe: Recipe, request: Request
) -> FleetArtefact | None:
    """Return the artefact with the newest matching wheel of a directory, or None if no wheel matches.

    A wheel matches if its name fits the artefact and the request, its digest is the one in SHA256SUMS, and its metadata
    names the requested recipe and linking. With --upgrade or --require no wheel matches, so that one is built.

    Raises:
        DocumentError: SHA256SUMS cannot be read.
    """
    if request.upgrade or request.require:
        return None
    sums = read_sums(directory / SUMS)
    fitting = {name: version for name in sums if (version := _find_version(name, artefact, recipe, request))}
    for name in sorted(fitting, key=lambda name: parse_version_number(fitting[name]), reverse=True):
        if _is_sound(directory / name, sums[name], request):
            return _add_wheel(artefact, name, sums[name])
    return None


def _find_version(name: str, artefact: FleetArtefact, recipe: Recipe, request: Request) -> str:
    """Return a wheel's version if its file name fits the artefact and the request; empty otherwise."""
    known = parse_filename(name) if name.endswith(".whl") else None
    if known is None or known.name != request.dist_name or artefact.abi not in {tag.abi for tag in known.tags}:
        return ""
    version = str(known.version)
    if request.version is not None and base_version(version) != base_version(request.version):
        return ""
    return version if parse_labelled_levels(recipe, version) == artefact.levels else ""


def _is_sound(wheel: Path, sha256: str, request: Request) -> bool:
    """Return whether a wheel has the listed digest, and was built with the requested recipe and linking."""
    try:
        if files.sha256(wheel) != sha256.lower():
            return False
        with open_zip(wheel) as archive:
            told = next((name for name in list_zip_files(archive) if name.endswith(_MADE)), None)
            made = json_data(archive.read(told)) if told is not None else None
    except (OSError, FailedError, ValueError):
        return False
    return isinstance(made, dict) and made.get("recipe") == request.recipe and made.get("link") == request.link


def build_fleet(session: Session, fleet: Fleet, wheelhouse: Path, emulation: Emulation = NO_EMULATION) -> Fleet:
    """Build the wheels that the hosts need, and record in `FLEET_FILE` which host takes which wheel.

    Wheels that the wheelhouse already has are not rebuilt. If a wheel cannot be built, its artefact in the result says
    why, and the others are still built.

    Args:
        session: provides variables, the cache and directories.
        fleet: the plan that `plan_hosts` returned.
        wheelhouse: the directory; created if missing.
        emulation: how to prove wheels for another architecture.

    Raises:
        FailedError: the wheelhouse cannot be written.
        RefusedError: another run is using the wheelhouse.
    """
    if not fleet.artefacts:
        return fleet
    require_wheelhouse(wheelhouse)
    refuse_links(wheelhouse, {artefact.directory for artefact in fleet.artefacts})
    with _lock_wheelhouse(wheelhouse):
        artefacts = tuple(_make_artefacts(session, fleet, wheelhouse, emulation))
        wheels = {artefact.id: artefact.wheel for artefact in artefacts if artefact.wheel is not None}
        parsed = {identifier: parse_filename(Path(wheel).name) for identifier, wheel in wheels.items()}
        needed = {each: find_oldest_glibc(tag.platform for tag in name.tags) for each, name in parsed.items() if name}
        built = select_reachable_hosts(replace(fleet, artefacts=artefacts), needed)
        file, text = wheelhouse / FLEET_FILE, dump(document("fleet", built))
        with explain_write_errors(file):
            if foreign.bytes_or_empty(file) != text.encode():
                files.write_text(file, text)
    return built


def build_set(session: Session, fleet: Fleet, wheelhouse: Path, emulation: Emulation = NO_EMULATION) -> Fleet:
    """Build the wheels of a set that the wheelhouse lacks; if one cannot be built, the others still are.

    Args:
        session: provides variables, the cache and directories.
        fleet: the plan that `plan_set` returned.
        wheelhouse: the directory; created if missing. Other wheels in it are kept.
        emulation: how to prove wheels for another architecture.

    Raises:
        FailedError: the directory cannot be written, or a wheel in it is damaged.
        DocumentError: SHA256SUMS in the directory cannot be read.
    """
    require_wheelhouse(wheelhouse)
    artefacts = tuple(_make_artefacts(session, fleet, wheelhouse, emulation))
    available = [artefact.abi for artefact in artefacts if artefact.wheel is not None]
    summary = f"{len(available)} of {len(artefacts)} wheels are there: {listing(available) or 'none'}"
    return replace(fleet, summary=summary, artefacts=artefacts)


def _make_artefacts(session: Session, fleet: Fleet, wheelhouse: Path, emulation: Emulation) -> Iterator[FleetArtefact]:
    """Build the wheels that the wheelhouse lacks; yield each artefact with its wheel, or with its problem.

    Raises:
        DocumentError: SHA256SUMS cannot be read.
    """
    recipe = recipe_named(session, fleet.request.recipe)
    for number, artefact in enumerate(fleet.artefacts, start=1):
        served = f" for {format_quantity(len(artefact.hosts), 'host')}" if artefact.hosts else ""
        turn = f"{artefact.id}{served} ({number} of {len(fleet.artefacts)})"
        directory = wheelhouse / artefact.directory
        there = find_existing_wheel(directory, artefact, recipe, fleet.request)
        if there is not None and there.wheel is not None:
            session.emit(Noted(message=f"{turn}: {Path(there.wheel).name} is there already"))
            yield there
        elif artefact.builder is None:
            session.emit(Noted(message=f"{turn}: {artefact.problem}", warning=True))
            yield artefact
        else:
            session.emit(Started(stage="build", message=turn))
            request = replace(fleet.request, level="auto", levels=artefact.levels)
            yield _build_artefact(session, artefact, request, directory, emulation)


def _build_artefact(
    session: Session, artefact: FleetArtefact, request: Request, directory: Path, emulation: Emulation
) -> FleetArtefact:
    """Build a wheel; return the artefact with the wheel, or with the problem that prevented the build."""
    builder = Path(artefact.builder) if artefact.builder is not None else None
    target = NamedTarget(python=builder, machine=artefact.architecture)
    try:
        result = build_wheel_into(session, target, request, directory, emulation)
    except FastinstallError as error:
        session.emit(Noted(message=f"{artefact.id}: {error.message}", warning=True))
        details = f" ({error.details[-1]})" if error.details else ""
        return replace(artefact, problem=f"{error.message}{details}", hint=error.hint or "")
    return _add_wheel(artefact, result.wheel.name, result.sha256)


def _add_wheel(artefact: FleetArtefact, name: str, sha256: str) -> FleetArtefact:
    """Add a wheel to an artefact; drop the builder, so that `FLEET_FILE` does not depend on this machine's Pythons."""
    path = str(Path(artefact.directory, name))
    return replace(artefact, wheel=path, sha256=sha256, builder=None, problem="", hint="")


@contextmanager
def _lock_wheelhouse(wheelhouse: Path) -> Iterator[None]:
    """Hold the lock of a wheelhouse, so that one run at a time writes to it."""
    with explain_write_errors(wheelhouse):
        wheelhouse.mkdir(parents=True, exist_ok=True)
    try:
        with lock_environment(wheelhouse):
            yield
    except RefusedError as error:
        raise RefusedError(error.message.replace("this environment", "this wheelhouse"), hint=error.hint) from error
