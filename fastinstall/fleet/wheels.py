"""Build the few wheels that many hosts need, by their facts files, one after the other into one wheelhouse.

It tells which of them can be built here. Wheels that the wheelhouse has already are not built again.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from fastinstall.apply.wheel_only import build_wheel_into
from fastinstall.core import files, foreign
from fastinstall.core.archives import sound_zip
from fastinstall.core.errors import FailedError, FastinstallError, RefusedError, UsageError
from fastinstall.core.events import Noted, Started
from fastinstall.core.lock import lock_environment
from fastinstall.core.parsing import json_data
from fastinstall.core.values import document, dump, immutable
from fastinstall.core.version_numbers import base_version, parse_version_number
from fastinstall.fleet.fleet import ExcludedHost, Fleet, FleetArtefact, FleetHost
from fastinstall.fleet.hosts import document_files, read_hosts
from fastinstall.fleet.wheel_choice import (
    Limits,
    find_oldest_glibc,
    format_quantity,
    plan_fleet,
    select_reachable_hosts,
)
from fastinstall.index.selection import parse_filename
from fastinstall.index.wheelhouse import read_sums
from fastinstall.model.artefact import parse_labelled_levels
from fastinstall.model.recipe import Recipe
from fastinstall.model.request import Request
from fastinstall.observe.active_environment import NamedTarget, base_python
from fastinstall.observe.interpreter import interpreter_with
from fastinstall.observe.observation import recipe_named
from fastinstall.observe.session import Session
from fastinstall.plan.level_choice import list_requested_levels, refuse_unknown
from fastinstall.wheelbuild.package_index import make_unwritable_error, require_wheelhouse


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


def plan_hosts(session: Session, request: FleetRequest, wish: Request) -> Fleet:
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
    return replace(fleet, artefacts=tuple(_add_builders(session, request, fleet)))


def _read(directory: Path) -> tuple[list[FleetHost], list[ExcludedHost]]:
    hosts: list[FleetHost] = []
    unread: list[ExcludedHost] = []
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


def _refuse_native(recipe: Recipe, request: Request) -> None:
    """Code for the CPU of this machine is for no other."""
    if "native" in list_requested_levels(request):
        known = ", ".join(level.name for level in recipe.levels if level.name != "native")
        raise UsageError(
            "--level native is for the machine that builds, and --hosts are others", hint=f"name a level: {known}"
        )


def _add_builders(session: Session, request: FleetRequest, fleet: Fleet) -> Iterator[FleetArtefact]:
    """Each artefact with the interpreter of this machine that it is built with."""
    first = tuple(python for python in (request.python, base_python(session)) if python is not None)
    builders: dict[str, Path | None] = {}
    for artefact in fleet.artefacts:
        if artefact.abi not in builders:
            found = interpreter_with(artefact.abi, artefact.python, first, session.variables)
            builders[artefact.abi] = Path(found.executable) if found is not None else None
        builder = builders[artefact.abi]
        yield replace(artefact, builder=builder) if builder is not None else _report_missing_builder(artefact)


def _report_missing_builder(artefact: FleetArtefact) -> FleetArtefact:
    name = f"python{artefact.python}{'t' if artefact.abi.endswith('t') else ''}"
    return replace(
        artefact,
        problem=f"this machine has no CPython {artefact.python} with the ABI {artefact.abi} to build it with",
        hint=f"put a {name} on PATH or name one with --python EXE, or build on a machine that has it",
    )


SUMS = "SHA256SUMS"
_MADE = ".dist-info/fastinstall.json"


@immutable
class WheelThere:
    """A wheel in a wheelhouse.

    Attributes:
        name: of the file.
        sha256: of it, hexadecimal.
        platforms: its platform tags.
    """

    name: str
    sha256: str
    platforms: tuple[str, ...]


def find_existing_wheel(
    directory: Path, artefact: FleetArtefact, recipe: Recipe, request: Request
) -> WheelThere | None:
    """Find the newest wheel in a directory that matches an artefact, or return None.

    It counts where SHA256SUMS lists it with the sum that it has, and where it says itself that this recipe made it,
    linked as wished. Whether there is a later version is asked with --upgrade only.

    Raises:
        DocumentError: SHA256SUMS cannot be read.
    """
    if request.upgrade or request.require:
        return None
    sums = read_sums(directory / SUMS)
    fitting = sorted(
        _list_fitting(sums, artefact, recipe, request), key=lambda pair: parse_version_number(pair[0]), reverse=True
    )
    for _, name in fitting:
        if _is_sound(directory / name, sums[name], request):
            return describe_wheel_file(name, sums[name])
    return None


def describe_wheel_file(name: str, sha256: str) -> WheelThere:
    """A wheel by the name of its file."""
    known = parse_filename(name)
    platforms = {tag.platform for tag in known.tags} if known is not None else set()
    return WheelThere(name=name, sha256=sha256, platforms=tuple(sorted(platforms)))


def _list_fitting(
    names: "dict[str, str]", artefact: FleetArtefact, recipe: Recipe, request: Request
) -> Iterator[tuple[str, str]]:
    """Version and name of each file that is for this Python, with these levels, at the wished version."""
    for name in names:
        known = parse_filename(name) if name.endswith(".whl") else None
        if known is None or known.name != request.dist_name or artefact.abi not in {tag.abi for tag in known.tags}:
            continue
        version = str(known.version)
        named = request.version is None or base_version(version) == base_version(request.version)
        if named and parse_labelled_levels(recipe, version) == artefact.levels:
            yield version, name


def _is_sound(wheel: Path, sha256: str, request: Request) -> bool:
    try:
        return files.sha256(wheel) == sha256.lower() and _is_made_as(wheel, request)
    except (OSError, FailedError, ValueError):
        return False


def _is_made_as(wheel: Path, request: Request) -> bool:
    with sound_zip(wheel) as archive:
        told = next((name for name in archive.files if name.endswith(_MADE)), None)
        made = json_data(archive.read(told)) if told is not None else None
    return isinstance(made, dict) and made.get("recipe") == request.recipe and made.get("link") == request.link


FLEET_FILE = "fleet.json"
"""In a wheelhouse: which host takes which wheel of it."""


def build_fleet(session: Session, request: FleetRequest, wish: Request, wheelhouse: Path) -> Fleet:
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
    with _lock_wheelhouse(wheelhouse):
        pairs = list(_make_artefacts(session, fleet, recipe, wheelhouse))
        needed = {artefact.id: find_oldest_glibc(wheel.platforms) for artefact, wheel in pairs if wheel is not None}
        built = select_reachable_hosts(replace(fleet, artefacts=tuple(artefact for artefact, _ in pairs)), needed)
        _write(wheelhouse / FLEET_FILE, built)
    return built


def _make_artefacts(
    session: Session, fleet: Fleet, recipe: Recipe, wheelhouse: Path
) -> Iterator[tuple[FleetArtefact, WheelThere | None]]:
    for number, artefact in enumerate(fleet.artefacts, start=1):
        turn = f"{artefact.id} for {format_quantity(len(artefact.hosts), 'host')} ({number} of {len(fleet.artefacts)})"
        directory = wheelhouse / artefact.directory
        there = find_existing_wheel(directory, artefact, recipe, fleet.wish)
        if there is not None:
            session.emit(Noted(message=f"{turn}: {there.name} is there already"))
            yield _add_wheel(artefact, there), there
        elif artefact.builder is None:
            session.emit(Noted(message=f"{turn}: {artefact.problem}", warning=True))
            yield artefact, None
        else:
            session.emit(Started(stage="build", message=turn))
            yield _build_artefact(session, artefact, fleet.wish, directory)


def _build_artefact(
    session: Session, artefact: FleetArtefact, request: Request, directory: Path
) -> tuple[FleetArtefact, WheelThere | None]:
    """The artefact with its wheel, or with what kept it from being built."""
    target = NamedTarget(python=Path(artefact.builder) if artefact.builder is not None else None)
    try:
        result = build_wheel_into(
            session, target, replace(request, level="auto", levels=artefact.levels), directory
        ).result
    except FastinstallError as error:
        session.emit(Noted(message=f"{artefact.id}: {error.message}", warning=True))
        details = f" ({error.details[-1]})" if error.details else ""
        return replace(artefact, problem=f"{error.message}{details}", hint=error.hint or ""), None
    there = describe_wheel_file(result.wheel.name, result.sha256)
    return _add_wheel(artefact, there), there


def _add_wheel(artefact: FleetArtefact, wheel: WheelThere) -> FleetArtefact:
    """What made it says nothing of a wheel that is there, so a machine without that Python writes the same."""
    path = Path(artefact.directory, wheel.name)
    return replace(artefact, wheel=str(path), sha256=wheel.sha256, builder=None, problem="", hint="")


@contextmanager
def _lock_wheelhouse(wheelhouse: Path) -> Iterator[None]:
    """One writer of a wheelhouse at a time."""
    try:
        wheelhouse.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise make_unwritable_error(wheelhouse, error) from error
    try:
        with lock_environment(wheelhouse):
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
