"""Ask what the planner must know, the cache, conda's solver and pip's settings, and have it make the plan.

The plan of a new environment begins with the step that makes it; its interpreter and facts are as they will be.
"""

import os
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from importlib import import_module
from pathlib import Path

from fastinstall.compilers.compiler import TOOLCHAINS
from fastinstall.conda.engines.choose import CondaTools, find_microarchitectures, open_engine
from fastinstall.core.architecture import architecture_of
from fastinstall.core.directories import expand_home
from fastinstall.core.errors import FailedError, FastinstallError, RefusedError
from fastinstall.core.events import Started
from fastinstall.core.messages import listing, quote
from fastinstall.core.refused_writes import advice, reason
from fastinstall.core.running_probe import RunningProbe
from fastinstall.guard.pinning import wants_pip_pin
from fastinstall.index.offers import PackageIndex
from fastinstall.index.pip_indexes import PipSettings, pip_settings
from fastinstall.model.conda import CondaEngine, CondaInstaller, CondaTool
from fastinstall.model.facts import Environment, EnvironmentKind, Facts, InstalledStack, Interpreter, Project
from fastinstall.model.recipe import Recipe
from fastinstall.model.request import Request
from fastinstall.observe import observation, recipes
from fastinstall.observe.environments import (
    USUAL_NAMES,
    NamedTarget,
    base_python,
    find_environment,
    is_active_elsewhere,
    is_environment,
)
from fastinstall.observe.interpreter import observe_interpreter
from fastinstall.observe.recipes import recipe_named
from fastinstall.observe.session import Session
from fastinstall.pins.recognition import project_of
from fastinstall.plan.conda_steps import choose_conda_engine, make_conda_request
from fastinstall.plan.decision import needs_compiling
from fastinstall.plan.level_choice import refuse_unknown
from fastinstall.plan.native_libraries import may_have_made
from fastinstall.plan.other_machine import adapt_request, describe_facts, describe_python
from fastinstall.plan.plan import Plan
from fastinstall.plan.planner import keeps_pip_pin, make_plan, plan_build_step
from fastinstall.plan.protection import refuse_if_protected
from fastinstall.plan.saved_plan import select_named_releases
from fastinstall.plan.situation import Situation
from fastinstall.steps.build import Build
from fastinstall.steps.conda_toolchain import CondaToolchain
from fastinstall.steps.create_environment import CreateEnvironment
from fastinstall.steps.private_headers import PrivateHeaders
from fastinstall.steps.system_packages import SystemPackages


def decide_plan(session: Session, situation: Situation, *, from_cache: bool = True) -> Plan:
    """Return the plan, with what only the disk, the index and conda know."""
    known = situation
    if known.facts.toolchain is None and needs_compiling(known):
        toolchain = observation.observe_means(known.recipe, session.variables)
        known = replace(known, facts=replace(known.facts, toolchain=toolchain))
    if from_cache and known.facts.toolchain is not None:
        known = _add_cached_wheel(session, known)
    known = _add_links(session, preview_conda_change(session, known))
    return make_plan(known)


def plan_build(
    session: Session, target: NamedTarget, request: Request, *, anew: bool = False
) -> tuple[Plan, Interpreter]:
    """Decide a build alone: nothing is known or asked of the environment but its interpreter.

    Args:
        session: the cache, the index and the processes that are asked.
        target: its interpreter is the one that is built for.
        request: recipe, version, levels and libraries; what concerns an environment is ignored.
        anew: plan what compiling needs, even if the cache has the wheel.

    Returns:
        A plan with the steps that make the wheel, and the interpreter that it is for.

    Raises:
        FastinstallError: as `make_plan` says; or nothing can be built for the machine that the target names.
    """
    request = replace(request, engine=CondaInstaller.AUTO, pin=False)  # of an environment, which is not concerned
    recipe = recipes.recipe_named(session, request.recipe)
    refuse_unknown(recipe, request)
    unnamed = target.prefix is None and not is_active_elsewhere(session)
    python = target.python or (base_python(session) if unnamed else Path(find_environment(session, target).python))
    interpreter = observe_interpreter(python)
    if target.machine not in ("", interpreter.machine):
        architecture = architecture_of(target.machine)
        request = adapt_request(request, recipe, architecture)
        interpreter = describe_python(interpreter, architecture)
    elsewhere = Path(interpreter.prefix) / "fastinstall-build-only"
    create = CreateEnvironment(prefix=elsewhere, python=interpreter.executable, reason="never made")
    relocated = relocate_interpreter(interpreter, elsewhere)
    made = plan_new_environment(session, request, (create, relocated), from_cache=not anew)
    needed = SystemPackages | PrivateHeaders | CondaToolchain | Build
    steps = tuple(step for step in made.steps if isinstance(step, needed))
    environment = replace(made.environment, prefix=interpreter.prefix, python=interpreter.executable)
    return replace(made, steps=steps, environment=environment), interpreter


def add_project(situation: Situation) -> Situation:
    """Return the situation with the project that makes the environment, if one does."""
    return replace(situation, project=find_project(situation.facts))


def find_project(facts: Facts) -> Project | None:
    """Return the project that makes the environment; one that cannot be read is in nobody's way."""
    try:
        return project_of(Path(facts.environment.prefix))
    except FastinstallError:
        return None


def plan_new_environment(
    session: Session,
    request: Request,
    made: tuple[CreateEnvironment, Interpreter],
    *,
    saved: Plan | None = None,
    from_cache: bool,
) -> Plan:
    """Decide a setup of an environment that does not exist yet; the plan begins with making it.

    Args:
        session: the cache, the index and the processes that are asked.
        request: what is asked for.
        made: the step that makes the environment, and its interpreter as it will be.
        saved: the plan whose files alone count; None for all that the index offers.
        from_cache: whether a wheel that was built before may be taken.
    """
    recipe, (create, interpreter) = recipe_named(session, request.recipe), made
    index = start_index(session, recipe, request, Path(create.python))
    facts = foresee_facts(session, recipe, made, toolchain=request.wheelhouse is None)
    builder = _find_builder(create, interpreter)
    if builder is not None:
        facts = describe_facts(facts, architecture_of(interpreter.machine))
    releases = select_named_releases(saved, index.releases(recipe, interpreter, builder))
    situation = Situation(facts=facts, recipe=recipe, request=request, releases=releases, create=create)
    return decide_plan(session, situation, from_cache=from_cache)


def _find_builder(create: CreateEnvironment, interpreter: Interpreter) -> Interpreter | None:
    """Return the Python that builds, if the target is described as that of another machine; else None."""
    if interpreter.machine == os.uname().machine:
        return None
    builder = observe_interpreter(Path(create.python))
    return builder if builder.machine != interpreter.machine else None  # it may have 32 bits


def foresee_facts(
    session: Session, recipe: Recipe, made: tuple[CreateEnvironment, Interpreter], *, toolchain: bool = True
) -> Facts:
    """Return the facts of the environment as it will be once it is made: nothing is installed there."""
    create, interpreter = made
    base = Environment(prefix=interpreter.base_prefix, kind=EnvironmentKind.SYSTEM, python=create.python)
    observed = observation.facts_of(session, base, observation.ObservationRequest(recipe=recipe, toolchain=toolchain))
    return replace(
        observed,
        environment=Environment(
            prefix=create.prefix, kind=EnvironmentKind.VENV, python=create.prefix / "bin" / "python"
        ),
        interpreter=interpreter,
        writable=True,
        frozen=None,
        distributions=(),
        stack=InstalledStack(directory=None),
        guard=replace(observed.guard, installed=False, version="", problems=()),
        interrupted=None,
        runtime=None,
    )


def plan_creation(session: Session, target: NamedTarget) -> tuple[CreateEnvironment, Interpreter] | None:
    """Return the step that makes a new environment, and its interpreter as it will be; None if none is requested.

    Raises:
        RefusedError: something is there already.
    """
    if target.new is None:
        return None
    prefix = expand_home(target.new).absolute()
    _refuse_occupied(prefix)
    base = observe_interpreter(target.python or base_python(session))
    step = CreateEnvironment(prefix=prefix, python=base.executable, reason="requested by --new-env")
    return step, relocate_interpreter(base, prefix)


def relocate_interpreter(base: Interpreter, prefix: Path) -> Interpreter:
    """Return an interpreter as it will be in a virtual environment made from it."""
    minor = base.minor + ("t" if base.free_threaded else "")
    return replace(
        base,
        executable=prefix / "bin" / "python",
        prefix=prefix,
        site_packages=prefix / "lib" / f"python{minor}" / "site-packages",
        externally_managed=None,
        pip_version=None,
    )


def _add_links(session: Session, situation: Situation) -> Situation:
    """Return the situation with the other places that pip is told of and a pin would hide; refuse two that conflict."""
    if keeps_pip_pin(situation) or not wants_pip_pin(situation.facts, situation.request):
        return situation
    from fastinstall.guard.pinning import list_links_beside_pin  # noqa: PLC0415 (only where something is pinned)

    prefix = Path(situation.facts.environment.prefix)
    return replace(situation, links=list_links_beside_pin(session, prefix, situation.project))


def _add_cached_wheel(session: Session, situation: Situation) -> Situation:
    """Return the situation with a wheel that was built before as it would be now, if the cache has one."""
    step = plan_build_step(replace(situation, cached=""))
    if step.prebuilt is not None:
        return situation
    from fastinstall.wheelbuild.ready_wheels import find_ready  # noqa: PLC0415 (slow to import; not where nothing is built)

    facts, cache = situation.facts, session.own_cache()
    wheelhouse = Path(situation.request.wheelhouse) if situation.request.wheelhouse else None
    for entry in find_ready(cache, step, situation.recipe, facts.interpreter, wheelhouse):
        if step.clang is not None or may_have_made(
            entry.inputs["compiler"], facts, situation.request, cache / TOOLCHAINS
        ):
            return replace(situation, cached=entry.sha256)
    return situation


def _refuse_occupied(prefix: Path) -> None:
    """Refuse a place for an environment where something is already, or where nobody can tell."""
    try:
        content = os.listdir(prefix)  # noqa: PTH208 (its errors name the path)
    except FileNotFoundError:
        return
    except NotADirectoryError as error:
        raise RefusedError(
            f"{reason(error, prefix)}: no environment can be made there", hint="name another directory: --new-env DIR"
        ) from None
    except OSError as error:
        raise RefusedError(
            f"{reason(error, prefix)}: no environment can be made there", hint=advice(error, prefix)
        ) from error
    if is_environment(prefix):
        raise RefusedError(f"--new-env {prefix}: already exists", hint=f"use it instead: --prefix {quote(prefix)}")
    if content:
        raise RefusedError(
            f"--new-env {prefix}: already exists, and is not a Python environment",
            hint=f"name a directory that does not exist yet: --new-env {quote(prefix / USUAL_NAMES[0])}",
        )


def preview_conda_change(session: Session, situation: Situation) -> Situation:
    """Return the situation with what conda's solver would change, where the stack becomes conda packages.

    Raises:
        RefusedError: there is no engine, or its solver finds no solution.
        FailedError: the engine failed, or said nothing of what it was asked.
    """
    facts, request = situation.facts, situation.request
    if facts.environment.kind is not EnvironmentKind.CONDA:
        return situation
    refuse_if_protected(facts)
    chosen = choose_conda_engine(situation)
    if facts.conda is None or chosen is CondaInstaller.PIP:
        return situation
    levels = find_microarchitectures(level.name for level in situation.recipe.levels)
    known = replace(situation, microarchitectures=levels)
    conda_request = make_conda_request(known)
    if conda_request is None:
        return known
    engine = make_engine(session, chosen, facts.conda.tool, offline=request.offline)
    session.emit(Started(stage="solve", message=f"asking {engine.description} what would change"))
    preview = engine.preview(conda_request)
    # An answer without the packages that were asked for is none, and not the news that nothing else changes.
    told = {package.dist for package in (*preview.linked, *facts.conda.packages)}
    untold = [package.dist for package in conda_request.ours if package.dist not in told]
    if untold:
        other = CondaInstaller.RATTLER if engine.name is CondaInstaller.CONDA else CondaInstaller.CONDA
        raise FailedError(
            f"{engine.description}: its answer does not mention {listing(untold)}",
            hint=f"use another engine: --engine {other}",
        )
    return replace(known, preview=preview)


def make_engine(session: Session, engine: CondaInstaller, tool: CondaTool | None, *, offline: bool) -> CondaEngine:
    """Open an engine that works by this session's variables and cache.

    Raises:
        RefusedError: it is not there.
    """
    means = CondaTools(variables=session.variables, cache=session.own_cache() / "conda", offline=offline)
    return open_engine(engine, tool, means)


def make_index(session: Session, request: Request, settings: Callable[[], PipSettings]) -> PackageIndex:
    """Return the package index, as the target's pip is configured, or the wheelhouse of the request."""
    return PackageIndex(
        settings=settings,
        wheelhouse=Path(request.wheelhouse) if request.wheelhouse else None,
        offline=request.offline,
        cache=session.own_cache(),
    )


def defer_pip_settings(session: Session, python: Path) -> Callable[[], PipSettings]:
    """Return pip's settings for a target, to be found out when they are first asked for."""
    return cache(partial(pip_settings, python, session.variables))


def start_index(session: Session, recipe: Recipe, request: Request, python: Path) -> PackageIndex:
    """Return an index whose settings are being found out while the target is observed."""
    names = listing(dict.fromkeys((recipe.source.pypi, recipe.source.base_wheel)))
    session.emit(Started(stage="index", message=f"looking up {names}"))
    if request.offline:
        return make_index(session, request, defer_pip_settings(session, python))
    RunningProbe(partial(import_module, "fastinstall.index.client"))  # 0.2 s, while processes are waited for
    return make_index(session, request, RunningProbe(partial(pip_settings, python, session.variables)).result)
