"""Collect the planner's inputs from cache, index, conda's solver and pip's settings, and make the plan.

This module also opens the index and conda's engine for the run that carries out the plan (`open_run`).
"""

import os
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from importlib import import_module
from pathlib import Path

from fastinstall.compilers.compiler import TOOLCHAINS
from fastinstall.conda.extra import find_microarchitectures
from fastinstall.core.architecture import architecture_of
from fastinstall.core.concurrency import RunningProbe
from fastinstall.core.errors import FailedError, FastinstallError, RefusedError, UnprovenError
from fastinstall.core.events import Noted, Started
from fastinstall.core.messages import listing
from fastinstall.core.refused_writes import refuse_unusable_cache
from fastinstall.guard.pinning import wants_pip_pin
from fastinstall.index.offers import PackageIndex
from fastinstall.index.pip import PipSettings, pip_settings
from fastinstall.index.run import Run
from fastinstall.journal.receipt_file import read_receipt
from fastinstall.model.conda import CondaEngine, CondaInstaller, CondaTool
from fastinstall.model.facts import EnvironmentKind, Facts, Interpreter
from fastinstall.model.guards import Project
from fastinstall.model.recipe import Recipe
from fastinstall.model.request import Request
from fastinstall.observe.cpu import observe_cpu
from fastinstall.observe.environments import NamedTarget, base_python, find_environment, is_active_elsewhere
from fastinstall.observe.interpreter import observe_interpreter
from fastinstall.observe.observation import observe_recipe_toolchain
from fastinstall.observe.recipes import recipe_named
from fastinstall.observe.session import Session
from fastinstall.pins.recognition import project_of
from fastinstall.setup.decide.build import BuildDecision, complete_build, make_build_step, needs_compiling
from fastinstall.setup.decide.conda import choose_conda_engine, make_conda_request
from fastinstall.setup.decide.levels import refuse_unknown
from fastinstall.setup.decide.libraries import may_have_made
from fastinstall.setup.decide.planner import decide, keeps_pip_pin, make_plan, plan_wheel
from fastinstall.setup.foresee import (
    adapt_request,
    describe_facts,
    describe_python,
    foresee_facts,
    relocate_interpreter,
)
from fastinstall.setup.plan import Plan, SetupOutcome, Situation, WheelPlan, select_named_releases
from fastinstall.setup.steps.create_environment import CreateEnvironment


def decide_plan(session: Session, situation: Situation, *, from_cache: bool = True) -> Plan:
    """Complete the situation from cache, index and conda, and return the plan.

    Raises:
        FastinstallError: the errors of `make_plan`; or the cache cannot be used for the build.
    """
    known, decision = _decide_with_toolchain(session, situation, from_cache=from_cache)
    plan = make_plan(_add_links(session, preview_conda_change(session, known, decision)), decision)
    if plan.build is not None:
        refuse_unusable_cache(session.own_cache())
    return plan


def _decide_with_toolchain(
    session: Session, situation: Situation, *, from_cache: bool
) -> tuple[Situation, BuildDecision]:
    """Decide what to build or to take from the cache; return the completed situation and the decision.

    The toolchain is observed, and added to the situation, only if a wheel may have to be built.
    """
    if situation.facts.toolchain is None and needs_compiling(situation):
        toolchain = observe_recipe_toolchain(situation.recipe, session.variables)
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
    recipe = recipe_named(session, request.recipe)
    refuse_unknown(recipe, request, target.machine or os.uname().machine)
    unnamed = target.prefix is None and not is_active_elsewhere(session)
    python = target.python or (base_python() if unnamed else find_environment(session, target).python)
    interpreter = observe_interpreter(python)
    if target.machine not in ("", interpreter.machine):
        architecture = architecture_of(target.machine)
        request = adapt_request(request, recipe, architecture)
        interpreter = describe_python(interpreter, architecture)
    elsewhere = interpreter.prefix / "fastinstall-build-only"
    create = CreateEnvironment(prefix=elsewhere, python=interpreter.executable, reason="never made")
    relocated = relocate_interpreter(interpreter, elsewhere)
    situation = foresee_situation(session, recipe, request, (create, relocated))
    planned = plan_wheel(*_decide_with_toolchain(session, situation, from_cache=not anew))
    return replace(planned, interpreter=interpreter)


def foresee_situation(
    session: Session,
    recipe: Recipe,
    request: Request,
    made: tuple[CreateEnvironment, Interpreter],
    saved: Plan | None = None,
) -> Situation:
    """Return the inputs of a plan for an environment that does not exist yet.

    Args:
        session: variables, directories and receiver of events of this run.
        recipe: the recipe that the request names.
        request: flags and settings of the setup.
        made: the step that creates the environment, and the interpreter that the environment will have.
        saved: a saved plan; releases newer than the files it names are left out. None to keep all releases of the
            index.
    """
    create, interpreter = made
    index = start_index(session, recipe, request, create.python)
    facts = foresee_facts(session, recipe, made, toolchain=request.wheelhouse is None)
    builder = None
    if interpreter.machine != os.uname().machine:  # a Python of another machine, or a 32-bit Python of this one
        here = observe_interpreter(create.python)
        if here.machine != interpreter.machine:
            builder, facts = here, describe_facts(facts, architecture_of(interpreter.machine))
    releases = select_named_releases(saved, index.releases(recipe, interpreter, builder))
    return Situation(facts=facts, recipe=recipe, request=request, releases=releases, create=create)


def find_project(facts: Facts) -> Project | None:
    """Return the project that manages the environment; None if there is none, or its files cannot be read."""
    try:
        return project_of(facts.environment.prefix)
    except FastinstallError:
        return None


def _add_links(session: Session, situation: Situation) -> Situation:
    """Add to the situation the `find-links` of pip's other configuration files, because a pin would hide them.

    Raises:
        RefusedError: a foreign setting is in the way, or pip cannot read one of its configuration files.
    """
    if keeps_pip_pin(situation) or not wants_pip_pin(situation.facts, situation.request):
        return situation
    from fastinstall.guard.pinning import list_links_beside_pin  # needed only for a pin

    prefix = situation.facts.environment.prefix
    return replace(situation, links=list_links_beside_pin(session, prefix, situation.project))


def _find_cached_wheel(session: Session, decision: BuildDecision) -> str:
    """Return the SHA-256 of a cached wheel that matches the planned build; empty if the cache has none."""
    from fastinstall.wheelbuild.pipeline import find_ready  # slow to import; needed only for a build

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
        decision: the decision on the build that becomes a package.

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
    # A solver's answer without our packages is invalid, and must not be read as "nothing else changes".
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


def open_run(
    session: Session, request: Request, python: Path, engine: CondaInstaller | None = None, prefix: Path | None = None
) -> Run:
    """Open a run with the resources to fetch, build and install.

    Args:
        session: variables, directories, clock and event listener of this run.
        request: recipe, wheelhouse, and whether the run is offline.
        python: the interpreter whose pip settings name the index.
        engine: the engine that installs conda packages; None if the plan installs none.
        prefix: root of the environment that is set up, to find conda for it; not used without an engine.

    Raises:
        RefusedError: the cache cannot be used for a build, or the engine is not available.
    """
    refuse_unusable_cache(session.own_cache())
    opened, tunables = None, session.variables.get("GLIBC_TUNABLES", "")
    if engine is not None:
        from fastinstall.observe.conda.executable import find_conda  # needed only for conda packages

        opened = make_engine(session, engine, find_conda(session.variables, prefix), offline=request.offline)
    return Run(
        session=session,
        recipe=recipe_named(session, request.recipe),
        index=make_index(session, request, python),
        cache=session.own_cache(),
        cpu=observe_cpu(allowed_cores=len(os.sched_getaffinity(0)), tunables=tunables),
        engine=opened,
    )


def make_engine(session: Session, engine: CondaInstaller, tool: CondaTool | None, *, offline: bool) -> CondaEngine:
    """Open an engine that uses this session's variables and cache.

    Raises:
        RefusedError: the engine is not available.
    """
    from fastinstall.conda.engines.choose import open_engine  # needed only for conda packages

    return open_engine(engine, tool, session.variables, session.own_cache() / "conda", offline=offline)


def make_index(
    session: Session, request: Request, python: Path, settings: Callable[[], PipSettings] | None = None
) -> PackageIndex:
    """Return a package index, as named by pip's settings for a Python, with the wheelhouse of the request.

    `settings` is a function that returns these settings; None to read them at their first use.
    """
    return PackageIndex(
        settings=settings or cache(partial(pip_settings, python, session.variables)),
        wheelhouse=Path(request.wheelhouse) if request.wheelhouse else None,
        offline=request.offline,
        cache=session.own_cache(),
    )


def start_index(session: Session, recipe: Recipe, request: Request, python: Path) -> PackageIndex:
    """Return a package index. Unless offline, a thread reads pip's settings while the caller observes the target."""
    names = listing(dict.fromkeys((recipe.source.pypi, recipe.source.base_wheel)))
    session.emit(Started(stage="index", message=f"looking up {names}"))
    if request.offline:
        return make_index(session, request, python)
    RunningProbe(partial(import_module, "fastinstall.index.client"))  # in a thread, as the import takes 0.2 s
    settings = RunningProbe(partial(pip_settings, python, session.variables))
    return make_index(session, request, python, settings.result)
