"""The wheel or its conda packages alone: built for a target, put into a directory; the target stays as it is."""

import errno
import json
import os
import zipfile
from dataclasses import replace
from pathlib import Path

from fastinstall.actions.build import bring_headers, make_wheel
from fastinstall.actions.proven import Ground, make_proven
from fastinstall.api.observing import facts_of, recipe_named
from fastinstall.api.planning import plan_build
from fastinstall.api.proven import before
from fastinstall.api.session import Session
from fastinstall.api.setup import workshop_for
from fastinstall.api.target import Target
from fastinstall.build.conda_channel import publish, write_index
from fastinstall.build.conda_package import pack_guard, pack_stack
from fastinstall.build.label import MERGE_FILE
from fastinstall.build.request import BuildResult
from fastinstall.errors import FailedError, UnprovenError
from fastinstall.installers.conda.microarchitectures import microarchitectures
from fastinstall.model.codec import open_document
from fastinstall.model.conda import CondaPackage, CondaStack
from fastinstall.model.environment import Environment
from fastinstall.model.event import Noted, Started
from fastinstall.model.facts import Facts, Interpreter
from fastinstall.model.immutable import immutable
from fastinstall.model.merge import MergeReport
from fastinstall.model.steps import Build
from fastinstall.model.wish import Wish
from fastinstall.probes.environment import kind_of_prefix
from fastinstall.probes.facts import ObservationRequest
from fastinstall.rules.conda_stack import planned_guard, planned_stack
from fastinstall.system import files


@immutable
class Built:
    """What came of a build.

    Attributes:
        result: the wheel.
        stack: the conda packages that it became; None where none were asked for.
    """

    result: BuildResult
    stack: CondaStack | None = None


@immutable
class _Made:
    """A wheel in the cache, by which step, and for whom."""

    result: BuildResult
    step: Build
    interpreter: Interpreter


def build_into(session: Session, target: Target, wish: Wish, directory: Path) -> Built:
    """Build, prove what was merged, and copy the wheel to `directory` with a line in its SHA256SUMS.

    Raises:
        UnprovenError: no version proves; where one was named, that one does not.
        FailedError: it could not be built or written.
    """
    _refuse_file(directory)
    built = _proven(session, target, wish).result
    wheel = directory / built.wheel.name
    try:
        directory.mkdir(parents=True, exist_ok=True)
        files.write_bytes(wheel, built.wheel.read_bytes())
        _add_sum(directory / "SHA256SUMS", built.sha256, wheel.name)
    except OSError as error:
        raise _unwritable(directory, error) from error
    return Built(result=replace(built, wheel=wheel))


def build_channel(session: Session, target: Target, wish: Wish, directory: Path) -> Built:
    """Build, prove what was merged, and make conda packages of it in a channel; what lies there already stays.

    Args:
        session: where variables, caches and directories come from.
        target: whose Python it is for. Of a conda environment, the packages that its Python goes with count.
        wish: what to build; without a guard, no guard package is made.
        directory: of the channel, which may hold packages.

    Raises:
        UnprovenError: no version proves; where one was named, that one does not.
        FailedError: it could not be built or written.
        RefusedError: the extra "conda" is not installed.
    """
    _refuse_file(directory)
    known = microarchitectures(level.name for level in recipe_named(session, wish.recipe).levels)
    made = _proven(session, target, wish)
    facts = _facts(session, wish, made.interpreter)
    session.emit(Started(stage="package", message=f"making conda packages of {made.result.wheel.name}"))

    def packed(number: int, place: Path) -> CondaPackage:
        libraries = recipe_named(session, wish.recipe).libraries
        planned = planned_stack(made.step, facts, known, number=number, libraries=libraries)
        return pack_stack(made.result.wheel, planned, made.interpreter, place)

    try:
        package = publish(packed, directory)
        guard = pack_guard(planned_guard(package, made.interpreter.prefix), directory) if wish.guard else None
        write_index(directory)
    except OSError as error:
        raise _unwritable(directory, error) from error
    return Built(result=made.result, stack=CondaStack(package=package, guard=guard, channel=directory))


def _facts(session: Session, wish: Wish, interpreter: Interpreter) -> Facts:
    prefix = Path(interpreter.prefix)
    environment = Environment(prefix=prefix, kind=kind_of_prefix(prefix), python=interpreter.executable)
    return facts_of(session, environment, ObservationRequest(recipe=recipe_named(session, wish.recipe)))


def _proven(session: Session, target: Target, wish: Wish) -> _Made:
    """The wheel of the newest version that proves."""
    while True:
        try:
            return _built(session, target, wish)
        except UnprovenError as error:
            wish = before(session, wish, error)


def _built(session: Session, target: Target, wish: Wish) -> _Made:
    plan, interpreter = plan_build(session, target, wish)
    for note in (*plan.warnings, *(f"risk {hazard.risk}: {hazard.summary}" for hazard in plan.hazards)):
        session.emit(Noted(message=note, warning=True))
    workshop = workshop_for(session, plan, recipe_named(session, wish.recipe))
    brought = bring_headers(plan, workshop)
    step = next(step for step in plan.steps if isinstance(step, Build))
    ground = Ground(interpreter=interpreter, cpu=workshop.cpu, reference=step.chassis)
    result = make_proven(step, lambda each: make_wheel(each, interpreter, brought, workshop), ground, workshop)
    return _Made(result=result, step=step, interpreter=interpreter)


def merge_report(wheel: Path) -> MergeReport | None:
    """What was merged into a wheel and from where, as it says itself; None where nothing was.

    Raises:
        DocumentError: it cannot be read.
    """
    with zipfile.ZipFile(wheel) as archive:
        told = [name for name in archive.namelist() if name.endswith(f".dist-info/{MERGE_FILE}")]
        text = archive.read(told[0]).decode() if told else None
    return open_document(MergeReport, "merge", json.loads(text), file=wheel) if text is not None else None


def _refuse_file(directory: Path) -> None:
    """Say before a build what could not be written after it."""
    if directory.exists() and not directory.is_dir():
        raise _unwritable(directory, NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR)))


def _unwritable(directory: Path, error: OSError) -> FailedError:
    return FailedError(f"-o {directory}: cannot be written: {error.strerror}", hint="name another directory")


def _add_sum(file: Path, sha256: str, name: str) -> None:
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    kept = [line for line in lines if line.partition("  ")[2] != name]
    files.write_text(file, "".join(f"{line}\n" for line in sorted([*kept, f"{sha256}  {name}"])))
