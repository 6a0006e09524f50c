"""The part of a plan that is about a conda environment: its packages, what else changes, and what is needless. Pure."""

from dataclasses import replace
from pathlib import PurePath

from fastinstall.errors import RefusedError
from fastinstall.model.conda import Conda, CondaChange, CondaPackage, Engine
from fastinstall.model.immutable import immutable
from fastinstall.model.plan import Hazard, Skipped
from fastinstall.model.steps import Build, ChangeCondaPackages, MakeCondaPackages, Pin, Step
from fastinstall.model.wish import LinkMode
from fastinstall.rules.conda_advice import conda_advice, libraries_reason, wheel_warning
from fastinstall.rules.conda_change import change_hazards, change_reason, changed_environment
from fastinstall.rules.conda_dependants import PINS
from fastinstall.rules.conda_engine import is_conda, planned_engine
from fastinstall.rules.conda_libraries import missing_packages
from fastinstall.rules.conda_names import providers, replaced_packages
from fastinstall.rules.conda_pins import is_pinned, pin_line
from fastinstall.rules.conda_request import stack_packages
from fastinstall.rules.conda_stack import CHANNEL, GUARD
from fastinstall.rules.messages import listing
from fastinstall.rules.pins import HOLDS_BACK, is_of_pixi
from fastinstall.rules.situation import Situation

_NO_GUARD = "--no-guard: without the guard package a solver may replace the stack at the next change"
_WITH_GUARD = "to notice when pip, uv or another tool replaces it; conda itself is held off by the guard package"


@immutable
class CondaPart:
    """What a plan has more in a conda environment; all of it empty elsewhere.

    Attributes:
        first: steps before the build, which needs what they bring.
        before_swap: steps between the proof and the swap.
        after_swap: steps between the guard and the verification.
        records: conda packages that make room.
        entries: top-level names in site-packages that are theirs.
        skipped: what is not needed.
        hazards: what a solver would change.
        warnings: what is advised against.
        note: what is put behind the plan's summary.
        guard: why the start-up guard is installed; empty where the usual reason does.
    """

    first: tuple[Step, ...] = ()
    before_swap: tuple[Step, ...] = ()
    after_swap: tuple[Step, ...] = ()
    records: tuple[str, ...] = ()
    entries: tuple[str, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    hazards: tuple[Hazard, ...] = ()
    warnings: tuple[str, ...] = ()
    note: str = ""
    guard: str = ""


def conda_part(situation: Situation, build: Build) -> CondaPart:
    """What a plan has more, for what is built.

    Raises:
        RefusedError: no engine, a pin that keeps another build, or no word from a solver that had to be asked.
    """
    facts = situation.facts
    conda = facts.conda
    if not is_conda(facts) or conda is None:
        return CondaPart()
    engine = planned_engine(situation)
    if engine is Engine.PIP:
        return _as_a_wheel(situation)
    replaced = replaced_packages(conda, situation.recipe)
    change = _change(situation, engine)
    make = _make(situation, build, engine)
    linked = build.link is LinkMode.ENV
    return CondaPart(
        first=change if linked else (),
        before_swap=(make,) if linked else (*change, make),
        after_swap=_pin(situation, make),
        records=tuple(package.dist for package in replaced),
        entries=_entries(situation, conda, replaced),
        skipped=_skipped(situation, make, changing=bool(change)),
        hazards=change_hazards(_others(situation)),
        warnings=conda_advice(facts, situation.recipe, build.link),
        note=f" as the conda package {_told(make.package)}",
        guard=_WITH_GUARD,
    )


def without_guard(situation: Situation) -> str:
    """Why no guard is installed, where that is wished."""
    return _NO_GUARD if is_conda(situation.facts) else "--no-guard"


def _as_a_wheel(situation: Situation) -> CondaPart:
    facts, recipe, link = situation.facts, situation.recipe, situation.wish.link
    why = Skipped(step="make-conda-packages", reason="--engine pip: the wheel goes straight into site-packages")
    told = (wheel_warning(facts, recipe), *conda_advice(facts, recipe, link))
    return CondaPart(skipped=(why,), warnings=told, note=" as a wheel, which conda does not know of")


def _others(situation: Situation) -> CondaChange:
    """What a solver would change, less what is ours or makes room for it."""
    change = situation.preview or CondaChange()
    return change.without(frozenset({*providers(situation.recipe), GUARD}))


def _change(situation: Situation, engine: Engine) -> tuple[ChangeCondaPackages, ...]:
    missing = missing_packages(situation.facts, situation.recipe, situation.wish)
    if missing and situation.preview is None:
        raise RefusedError(
            f"{listing(missing)} would have to be installed, and no solver was asked what else would change",
            hint="make the plan again: fastinstall plan",
        )
    others = _others(situation)
    if not others.linked and not others.unlinked:
        return ()
    why = f"--link env needs {listing(missing)}" if missing else "the solver has it so, for the stack to fit in"
    return (ChangeCondaPackages(engine=engine, change=others, reason=change_reason(others, why)),)


def _make(situation: Situation, build: Build, engine: Engine) -> MakeCondaPackages:
    package, guard = stack_packages(_afterwards(situation), build)
    kept = f"{guard.name} has its solver keep it" if guard else "its solver may replace it, as no guard is wished"
    where = "inside it" if build.link is LinkMode.BUNDLE else "the environment's, and it depends on them"
    return MakeCondaPackages(
        engine=engine,
        package=package,
        guard=guard,
        channel=PurePath(situation.facts.environment.prefix) / CHANNEL,
        reason=f"conda then knows of it, as {_told(package)}, and {kept}; the libraries are {where}",
    )


def _afterwards(situation: Situation) -> Situation:
    """The situation once the other packages are changed: the stack depends on what is there then."""
    facts = situation.facts
    if facts.conda is None:
        return situation
    packages = changed_environment(facts.conda, _others(situation))
    return replace(situation, facts=replace(facts, conda=replace(facts.conda, packages=packages)))


def _entries(situation: Situation, conda: Conda, replaced: tuple[CondaPackage, ...]) -> tuple[str, ...]:
    """Top-level names in site-packages of the packages that make room."""
    prefix, site = situation.facts.environment.prefix, situation.facts.interpreter.site_packages
    leaving = {package.dist for package in replaced}
    files = (prefix / path for claim in conda.claims if claim.dist in leaving for path in claim.files)
    names = {path.relative_to(site).parts[0] for path in files if path.is_relative_to(site)}
    return tuple(sorted(names - {"__pycache__"}))


def _pin(situation: Situation, make: MakeCondaPackages) -> tuple[Pin, ...]:
    if not situation.wish.pin or _unpinned_because(situation, make):
        return ()
    why = f"--pin: solvers that read pins keep the stack, with or without its guard package; {HOLDS_BACK}"
    return (Pin(file=PINS, line=pin_line(make.package), reason=why),)


def _unpinned_because(situation: Situation, make: MakeCondaPackages) -> str:
    """Explain why a requested pin is not made, or return "" if it is."""
    conda, prefix = situation.facts.conda, situation.facts.environment.prefix
    if is_of_pixi(prefix):
        return f"pixi made the environment, and reads no {PINS}: the pin belongs into pixi.toml"
    return f"{PINS} keeps it already" if conda is not None and is_pinned(conda, make.package) else ""


def _skipped(situation: Situation, make: MakeCondaPackages, *, changing: bool) -> tuple[Skipped, ...]:
    libraries = libraries_reason(situation.facts, situation.wish.link)
    unpinned = _unpinned_because(situation, make)
    return (
        *(() if changing else (Skipped(step="change-conda-packages", reason=libraries),)),
        *((Skipped(step="pin", reason=unpinned),) if situation.wish.pin and unpinned else ()),
    )


def _told(package: CondaPackage) -> str:
    return f"{package.name} {package.version} {package.build}"
