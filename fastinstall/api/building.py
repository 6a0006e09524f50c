"""The wheel alone: built for a target, put into a directory; the target stays as it is."""

from dataclasses import replace
from pathlib import Path

from fastinstall.actions.build import bring_headers, make_wheel
from fastinstall.api.observing import recipe_named
from fastinstall.api.planning import plan_build
from fastinstall.api.session import Session
from fastinstall.api.setup import workshop_for
from fastinstall.api.target import Target
from fastinstall.build.request import BuildResult
from fastinstall.errors import FailedError
from fastinstall.model.plan import Build
from fastinstall.model.wish import Wish
from fastinstall.system import files


def build_into(session: Session, target: Target, wish: Wish, directory: Path) -> BuildResult:
    """Build, and copy the wheel to `directory` with a line in its SHA256SUMS.

    Raises:
        FailedError: it could not be built or written.
    """
    plan, interpreter = plan_build(session, target, wish)
    workshop = workshop_for(session, plan, recipe_named(session, wish.recipe))
    step = next(step for step in plan.steps if isinstance(step, Build))
    built = make_wheel(step, interpreter, bring_headers(plan, workshop), workshop)
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


def _add_sum(file: Path, sha256: str, name: str) -> None:
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    kept = [line for line in lines if line.partition("  ")[2] != name]
    files.write_text(file, "".join(f"{line}\n" for line in sorted([*kept, f"{sha256}  {name}"])))
