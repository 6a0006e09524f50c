"""The wheel or its conda packages alone: built for a target, put into a directory; the target stays as it is."""

import zipfile
from dataclasses import replace
from pathlib import Path

from fastinstall.actions.build import bring_headers, make_wheel
from fastinstall.actions.proven import Ground, make_proven
from fastinstall.api.indexing import publish_wheel, require_wheelhouse, require_writable, unwritable
from fastinstall.api.observing import facts_of, recipe_named
from fastinstall.api.planning import plan_build
from fastinstall.api.session import Session
from fastinstall.api.setup import version_before, workshop_for
from fastinstall.api.target import Target
from fastinstall.build.conda_channel import publish, write_index
from fastinstall.build.conda_package import pack_guard, pack_stack
from fastinstall.build.label import MERGE_FILE
from fastinstall.build.request import BuildResult
from fastinstall.errors import UnprovenError
from fastinstall.installers.conda.microarchitectures import microarchitectures
from fastinstall.model.codec import open_document
from fastinstall.model.conda import CondaPackage, CondaStack
from fastinstall.model.environment import Environment
from fastinstall.model.event import Noted, Started
from fastinstall.model.facts import Facts, Interpreter
from fastinstall.model.immutable import immutable
from fastinstall.model.merge import MergeReport
from fastinstall.model.parsing import json_data
from fastinstall.model.steps import Build
from fastinstall.model.wish import Wish
from fastinstall.probes.environment import kind_of_prefix
from fastinstall.probes.facts import ObservationRequest
from fastinstall.rules.conda_stack import planned_guard, planned_stack


@immutable
class Built:
    """What came of a build.

    Attributes:
        result: the wheel.
        python: the version of the Python that it is for.
        stack: the conda packages it became, or None if none were requested.
        variants: labelled wheels beside it, the null variant first; empty where none were asked for.
    """

    result: BuildResult
    python: str
    stack: CondaStack | None = None
    variants: tuple[Path, ...] = ()


@immutable
class Made:
    """A wheel in the cache.

    Attributes:
        result: the wheel.
        step: how it was made.
        interpreter: the Python that it is for.
    """

    result: BuildResult
    step: Build
    interpreter: Interpreter


def build_into(session: Session, target: Target, wish: Wish, directory: Path) -> Built:
    """Build, prove what was merged, and put the wheel into `directory`, with its sum and the pages of an index.

    Raises:
        UnprovenError: no version proves; where one was named, that one does not.
        FailedError: it could not be built or written, another wheel of its name lies there, or one that lies there
            is damaged; then nothing there has changed.
        DocumentError: the directory's SHA256SUMS cannot be read.
    """
    require_wheelhouse(session, directory)
    made = proven_wheel(session, target, wish)
    wheel = publish_wheel(session, made.result.wheel, made.result.sha256, directory)
    return Built(result=replace(made.result, wheel=wheel), python=made.interpreter.version)


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
    require_writable(directory)
    known = microarchitectures(level.name for level in recipe_named(session, wish.recipe).levels)
    made = proven_wheel(session, target, wish)
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
        raise unwritable(directory, error) from error
    stack = CondaStack(package=package, guard=guard, channel=directory)
    return Built(result=made.result, python=made.interpreter.version, stack=stack)


def _facts(session: Session, wish: Wish, interpreter: Interpreter) -> Facts:
    prefix = Path(interpreter.prefix)
    environment = Environment(prefix=prefix, kind=kind_of_prefix(prefix), python=interpreter.executable)
    return facts_of(session, environment, ObservationRequest(recipe=recipe_named(session, wish.recipe)))


def proven_wheel(session: Session, target: Target, wish: Wish) -> Made:
    """Build the wheel of the newest version that proves; it stays in the cache.

    Raises:
        UnprovenError: no version proves; where one was named, that one does not.
        FailedError: it could not be built.
    """
    while True:
        try:
            return _built(session, target, wish)
        except UnprovenError as error:
            wish = version_before(session, wish, error)


def _built(session: Session, target: Target, wish: Wish) -> Made:
    plan, interpreter = plan_build(session, target, wish)
    for note in (*plan.warnings, *(f"risk {hazard.risk}: {hazard.summary}" for hazard in plan.hazards)):
        session.emit(Noted(message=note, warning=True))
    workshop = workshop_for(session, plan, recipe_named(session, wish.recipe))
    brought = bring_headers(plan, workshop)
    step = next(step for step in plan.steps if isinstance(step, Build))
    ground = Ground(interpreter=interpreter, cpu=workshop.cpu, reference=step.chassis)
    result = make_proven(step, lambda each: make_wheel(each, interpreter, brought, workshop), ground, workshop)
    return Made(result=result, step=step, interpreter=interpreter)


def merge_report(wheel: Path) -> MergeReport | None:
    """Read from a wheel what was merged into it, or return None if nothing was.

    Raises:
        DocumentError: it cannot be read.
    """
    with zipfile.ZipFile(wheel) as archive:
        told = [name for name in archive.namelist() if name.endswith(f".dist-info/{MERGE_FILE}")]
        text = archive.read(told[0]).decode() if told else None
    return open_document(MergeReport, "merge", json_data(text), file=wheel) if text is not None else None
