"""The wheel alone: built for a target, put into a directory; the target stays as it is."""

import json
import zipfile
from dataclasses import replace
from pathlib import Path

from fastinstall.actions.build import bring_headers, make_wheel
from fastinstall.actions.proven import Ground, make_proven
from fastinstall.api.observing import recipe_named
from fastinstall.api.planning import plan_build
from fastinstall.api.proven import before
from fastinstall.api.session import Session
from fastinstall.api.setup import workshop_for
from fastinstall.api.target import Target
from fastinstall.build.label import MERGE_FILE
from fastinstall.build.request import BuildResult
from fastinstall.errors import FailedError, UnprovenError
from fastinstall.model.codec import open_document
from fastinstall.model.event import Noted
from fastinstall.model.merge import MergeReport
from fastinstall.model.plan import Build
from fastinstall.model.wish import Wish
from fastinstall.system import files


def build_into(session: Session, target: Target, wish: Wish, directory: Path) -> BuildResult:
    """Build, prove what was merged, and copy the wheel to `directory` with a line in its SHA256SUMS.

    Raises:
        UnprovenError: no version proves; where one was named, that one does not.
        FailedError: it could not be built or written.
    """
    built = _proven(session, target, wish)
    wheel = directory / built.wheel.name
    try:
        directory.mkdir(parents=True, exist_ok=True)
        files.write_bytes(wheel, built.wheel.read_bytes())
        _add_sum(directory / "SHA256SUMS", built.sha256, wheel.name)
    except OSError as error:
        raise FailedError(
            f"-o {directory}: cannot be written: {error.strerror}", hint="name another directory"
        ) from error
    return replace(built, wheel=wheel)


def _proven(session: Session, target: Target, wish: Wish) -> BuildResult:
    """The wheel of the newest version that proves."""
    while True:
        try:
            return _built(session, target, wish)
        except UnprovenError as error:
            wish = before(session, wish, error)


def _built(session: Session, target: Target, wish: Wish) -> BuildResult:
    plan, interpreter = plan_build(session, target, wish)
    for note in (*plan.warnings, *(f"risk {hazard.risk}: {hazard.summary}" for hazard in plan.hazards)):
        session.emit(Noted(message=note, warning=True))
    workshop = workshop_for(session, plan, recipe_named(session, wish.recipe))
    includes = bring_headers(plan, workshop)
    step = next(step for step in plan.steps if isinstance(step, Build))
    ground = Ground(interpreter=interpreter, cpu=workshop.cpu, reference=step.chassis)
    return make_proven(step, lambda each: make_wheel(each, interpreter, includes, workshop), ground, workshop)


def merge_report(wheel: Path) -> MergeReport | None:
    """What was merged into a wheel and from where, as it says itself; None where nothing was.

    Raises:
        DocumentError: it cannot be read.
    """
    with zipfile.ZipFile(wheel) as archive:
        told = [name for name in archive.namelist() if name.endswith(f".dist-info/{MERGE_FILE}")]
        text = archive.read(told[0]).decode() if told else None
    return open_document(MergeReport, "merge", json.loads(text), file=wheel) if text is not None else None


def _add_sum(file: Path, sha256: str, name: str) -> None:
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    kept = [line for line in lines if line.partition("  ")[2] != name]
    files.write_text(file, "".join(f"{line}\n" for line in sorted([*kept, f"{sha256}  {name}"])))
