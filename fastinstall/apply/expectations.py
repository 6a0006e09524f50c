"""What to expect of a plan: how much faster it makes Pillow, how long it takes, and what it downloads and keeps."""

from fastinstall.apply.cost import describe_cost
from fastinstall.core.messages import format_rough_duration
from fastinstall.observe.cpu import observe_cpu
from fastinstall.observe.recipes import recipe_named
from fastinstall.observe.session import Session
from fastinstall.plan.plan import Plan
from fastinstall.steps.build import Build
from fastinstall.steps.change_conda_packages import ChangeCondaPackages
from fastinstall.steps.create_environment import CreateEnvironment
from fastinstall.steps.kinds import find_step
from fastinstall.steps.prove import Prove
from fastinstall.steps.verify import Verify

_SECONDS = {CreateEnvironment: 6.0, Prove: 7.0, ChangeCondaPackages: 15.0, Verify: 3.0}
_COMPILING = 50.0
"""Fetched, compiled and compared. All are of 2 CPUs of an AMD EPYC virtual machine, and two levels (2026-11-21)."""


def describe_expectations(session: Session, plan: Plan) -> tuple[str, ...]:
    """Describe all of it, a text each; empty ones for what is unknown or nothing."""
    gain, cost = describe_expected_gain(session, plan), describe_cost(plan, session.directories.cache)
    return gain, f"takes {format_rough_duration(estimate_seconds(plan))}", cost


def estimate_seconds(plan: Plan) -> float:
    """Estimate roughly how long carrying out a plan takes."""
    build = find_step(plan.steps, Build)
    is_compiled = build is not None and build.prebuilt is None and not build.cached
    return sum(_SECONDS.get(type(step), 0.0) for step in plan.steps) + (_COMPILING if is_compiled else 0.0)


def describe_expected_gain(session: Session, plan: Plan) -> str:
    """Describe how much faster a plan makes Pillow, as measured here or as its recipe says; empty if unknown."""
    build, proof = find_step(plan.steps, Build), find_step(plan.steps, Prove)
    if build is None:
        return ""
    cache = session.directories.cache
    known = proof.find_known_speed(build, observe_cpu(allowed_cores=0).name, cache) if proof is not None else None
    if known is not None:
        return f"{known.gain.replace(' (wheel)', '')}, as measured here"
    recipe = recipe_named(session, plan.request.recipe)
    measured = recipe.bench.measured.partition(" (")[0]
    if build.prebuilt is not None or not measured:
        return ""
    architecture = next((level.architecture for level in recipe.levels if level.name in build.levels), "")
    if architecture != recipe.bench.architecture:
        return recipe.bench.measured_on(architecture)
    compared = proof.baseline.version if proof is not None and proof.baseline is not None else ""
    other = f"; not measured against {compared}, the newest for this Python" if compared not in measured else ""
    return f"{measured}, measured on another machine{other}"
