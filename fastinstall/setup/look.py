"""Collect the planner's inputs from cache, index, conda's solver and pip's settings, and make the plan."""

import os
from dataclasses import replace
from pathlib import Path

from fastinstall.compilers.compiler import TOOLCHAINS
from fastinstall.conda.extra import find_microarchitectures
from fastinstall.core.architecture import architecture_of
from fastinstall.core.errors import FailedError, FastinstallError, RefusedError, UnprovenError
from fastinstall.core.events import Noted, Started
from fastinstall.core.messages import listing
from fastinstall.core.refused_writes import refuse_unusable_cache
from fastinstall.guard.pinning import wants_pip_pin
from fastinstall.journal.receipt_file import read_receipt
from fastinstall.model.conda import CondaInstaller
from fastinstall.model.facts import EnvironmentKind, Facts
from fastinstall.model.guards import Project
from fastinstall.model.request import Request
from fastinstall.observe import observation, recipes
from fastinstall.observe.environments import (
    NamedTarget,
    base_python,
    find_environment,
    is_active_elsewhere,
)
from fastinstall.observe.interpreter import observe_interpreter
from fastinstall.observe.session import Session
from fastinstall.pins.recognition import project_of
from fastinstall.setup.decide.build import BuildDecision, complete_build, make_build_step, needs_compiling
from fastinstall.setup.decide.conda import choose_conda_engine, make_conda_request
from fastinstall.setup.decide.levels import refuse_unknown
from fastinstall.setup.decide.libraries import may_have_made
from fastinstall.setup.decide.other_machine import adapt_request, describe_python
from fastinstall.setup.decide.planner import decide, keeps_pip_pin, make_plan, plan_wheel
from fastinstall.setup.decide.situation import Situation
from fastinstall.setup.new_environment import foresee_situation, relocate_interpreter
from fastinstall.setup.plan import Plan, SetupOutcome, WheelPlan
from fastinstall.setup.steps.create_environment import CreateEnvironment
from fastinstall.setup.tools import make_engine


def decide_plan(session: Session, situation: Situation, *, from_cache: bool = True) -> Plan:
    """Complete the situation from cache, index and conda, and return the plan.

    Raises:
        FastinstallError: the errors of `make_plan`; or the cache cannot be used for the build.
    """
    known, decision = _decide_with_means(session, situation, from_cache=from_cache)
    plan = make_plan(_add_links(session, preview_conda_change(session, known, decision)), decision)
    if plan.build is not None:
        refuse_unusable_cache(session.own_cache())
    return plan


def _decide_with_means(session: Session, situation: Situation, *, from_cache: bool) -> tuple[Situation, BuildDecision]:
    """Decide what to build or take from the cache; return the decision, and the situation with toolchain if needed."""
    if situation.facts.toolchain is None and needs_compiling(situation):
        toolchain = observation.observe_means(situation.recipe, session.variables)
        situation = replace(situation, facts=replace(situation.facts, toolchain=toolchain))
    decision = decide(situation)
    search = from_cache and situation.facts.toolchain is not None and decision.choice.prebuilt is None
    return situation, complete_build(decision, _find_cached_wheel(session, decision) if search else "")


def look_for_wheel(session: Session, target: NamedTarget, request: Request, *, anew: bool = False) -> WheelPlan:
    """Plan a build that makes a wheel and installs nothing; of the environment, only the interpreter is observed.

    Args:
        session: variables, directories and receiver of events of this run.
        target: names the interpreter to build for, and the machine.
        request: recipe, version, levels and libraries; its engine and pin are ignored.
        anew: plan a compilation even if the cache has the wheel.

    Raises:
        FastinstallError: the errors of `plan_wheel`; or nothing can be built for the target's machine.
    """
    request = replace(request, engine=CondaInstaller.AUTO, pin=False)  # these options concern only installations
    recipe = recipes.recipe_named(session, request.recipe)
    refuse_unknown(recipe, request, target.machine or os.uname().machine)
    unnamed = target.prefix is None and not is_active_elsewhere(session)
    python = target.python or (base_python() if unnamed else Path(find_environment(session, target).python))
    interpreter = observe_interpreter(python)
    if target.machine not in ("", interpreter.machine):
        architecture = architecture_of(target.machine)
        request = adapt_request(request, recipe, architecture)
        interpreter = describe_python(interpreter, architecture)
    elsewhere = Path(interpreter.prefix) / "fastinstall-build-only"
    create = CreateEnvironment(prefix=elsewhere, python=interpreter.executable, reason="never made")
    relocated = relocate_interpreter(interpreter, elsewhere)
    situation = foresee_situation(session, recipe, request, (create, relocated))
    planned = plan_wheel(*_decide_with_means(session, situation, from_cache=not anew))
    return replace(planned, interpreter=interpreter)


def find_project(facts: Facts) -> Project | None:
    """Return the project that manages the environment; None if there is none, or if it cannot be read."""
    try:
        return project_of(Path(facts.environment.prefix))
    except FastinstallError:
        return None


def _add_links(session: Session, situation: Situation) -> Situation:
    """Return the situation with the `find-links` of pip's other configuration files, which a pin would hide.

    Raises:
        RefusedError: a foreign setting is in the way, or pip cannot read one of its configuration files.
    """
    if keeps_pip_pin(situation) or not wants_pip_pin(situation.facts, situation.request):
        return situation
    from fastinstall.guard.pinning import list_links_beside_pin  # noqa: PLC0415 (only where something is pinned)

    prefix = Path(situation.facts.environment.prefix)
    return replace(situation, links=list_links_beside_pin(session, prefix, situation.project))


def _find_cached_wheel(session: Session, decision: BuildDecision) -> str:
    """Return the SHA-256 of a cached wheel that matches the planned build; empty if the cache has none."""
    from fastinstall.wheelbuild.pipeline import find_ready  # noqa: PLC0415 (slow to import; not where nothing is built)

    situation, step = decision.situation, make_build_step(decision)
    facts, request, cache = situation.facts, situation.request, session.own_cache()
    wheelhouse = Path(request.wheelhouse) if request.wheelhouse else None
    for entry in find_ready(cache, step, situation.recipe, facts.interpreter, wheelhouse):
        if step.clang is not None or may_have_made(entry.inputs["compiler"], facts, request, cache / TOOLCHAINS):
            return entry.sha256
    return ""


def preview_conda_change(session: Session, situation: Situation, decision: BuildDecision) -> Situation:
    """Return the situation with the changes that conda's solver would make to install the stack as conda packages.

    Args:
        session: variables, cache and receiver of events, for the engine.
        situation: the inputs of the plan, as known so far.
        decision: the build that becomes a package.

    Raises:
        RefusedError: no engine is available, or the engine's solver finds no solution.
        FailedError: the engine failed, or its answer does not mention our packages.
    """
    facts, request = situation.facts, situation.request
    if facts.environment.kind is not EnvironmentKind.CONDA:
        return situation
    chosen = choose_conda_engine(situation)
    if facts.conda is None or chosen is CondaInstaller.PIP:
        return situation
    levels = find_microarchitectures(level.name for level in situation.recipe.levels)
    known = replace(situation, microarchitectures=levels)
    conda_request = make_conda_request(known, make_build_step(decision))
    if conda_request is None:
        return known
    engine = make_engine(session, chosen, facts.conda.tool, offline=request.offline)
    session.emit(Started(stage="solve", message=f"asking {engine.description} what would change"))
    preview = engine.preview(conda_request)
    # An answer without the requested packages is invalid: it does not mean that nothing else changes.
    told = {package.dist for package in (*preview.linked, *facts.conda.packages)}
    untold = [package.dist for package in conda_request.ours if package.dist not in told]
    if untold:
        other = CondaInstaller.RATTLER if engine.name is CondaInstaller.CONDA else CondaInstaller.CONDA
        raise FailedError(
            f"{engine.description}: its answer does not mention {listing(untold)}",
            hint=f"use another engine: --engine {other}",
        )
    return replace(known, preview=preview)


def request_previous_version(session: Session, request: Request, error: UnprovenError) -> Request:
    """Report that a version failed the proof, and return the request for the newest version before it.

    Raises:
        UnprovenError: the given error, if the request names a version.
    """
    if request.version is not None:
        raise error
    for line in error.details:
        session.emit(Noted(message=line))
    message = f"{error.message}: {error.version} is not installed; looking for the newest version before it"
    session.emit(Noted(message=message, warning=True))
    return replace(request, avoid=(*request.avoid, error.version))


def confirm_empty_plan(plan: Plan) -> SetupOutcome:
    """Return the outcome of a plan without steps: the existing setup.

    Raises:
        RefusedError: nothing is set up in the environment.
    """
    receipt = read_receipt(plan.environment.prefix)
    if receipt is None:
        hint = "make a new plan: fastinstall plan"
        raise RefusedError("the plan has no steps, and nothing is set up here", hint=hint)
    return SetupOutcome(plan=plan, receipt=receipt)
