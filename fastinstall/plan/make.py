"""Turn a request into a plan; nothing is changed.

For an environment that does not exist yet, the plan begins with making it, and the facts are those that will hold then.
For conda, the engine's solver is asked before the plan is made.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, partial
from importlib import import_module
from pathlib import Path

from fastinstall.compilers.compiler import TOOLCHAINS
from fastinstall.conda.engines.choose import open_engine
from fastinstall.conda.engines.tools import CondaTools
from fastinstall.conda.microarchitectures import find_microarchitectures
from fastinstall.core.directories import user_directories
from fastinstall.core.errors import FailedError, FastinstallError, RefusedError
from fastinstall.core.events import Started
from fastinstall.core.home import expand_home
from fastinstall.core.messages import listing, quote
from fastinstall.core.refused_writes import advice, reason
from fastinstall.core.running_probe import RunningProbe
from fastinstall.doctor.registry import foreign_verifying_checks
from fastinstall.guard.pip_trap import wants_pip_pin
from fastinstall.index.downloads import is_downloaded
from fastinstall.index.offers import PackageIndex
from fastinstall.index.pip_indexes import PipSettings, pip_settings
from fastinstall.model.artefact import Releases
from fastinstall.model.conda import CondaInstaller, CondaTool
from fastinstall.model.conda_engine import CondaEngine
from fastinstall.model.environment import Environment, EnvironmentKind
from fastinstall.model.facts import Facts, InstalledStack, Interpreter
from fastinstall.model.pin_state import Project
from fastinstall.model.receipt import Receipt
from fastinstall.model.recipe import Recipe
from fastinstall.model.request import Request, Risk
from fastinstall.observe import observation, recipes
from fastinstall.observe.active_environment import (
    USUAL_NAMES,
    NamedTarget,
    base_python,
    find,
    is_active_elsewhere,
    is_environment,
)
from fastinstall.observe.interpreter import observe_interpreter, use_pil
from fastinstall.observe.session import Session
from fastinstall.pins.recognition import project_of
from fastinstall.plan.conda_steps import choose_conda_engine, make_conda_request
from fastinstall.plan.decision import needs_compiling
from fastinstall.plan.level_choice import refuse_unknown
from fastinstall.plan.native_libraries import may_have_made
from fastinstall.plan.plan import Plan, Situation, compute_facts_digest
from fastinstall.plan.planner import keeps_pip_pin, make_plan, plan_build_step, warn_about_project
from fastinstall.plan.risks import refuse_if_protected
from fastinstall.plan.satisfied import plan_nothing
from fastinstall.plan.saved_plan import PLAN_AGAIN, allow_risks, find_differences, select_named_releases
from fastinstall.steps.build import Build
from fastinstall.steps.conda_toolchain import CondaToolchain
from fastinstall.steps.create_environment import CreateEnvironment
from fastinstall.steps.private_headers import PrivateHeaders
from fastinstall.steps.system_packages import SystemPackages


def plan_setup(session: Session, target: NamedTarget, request: Request, *, saved: Plan | None = None) -> Plan:
    """Decide what a setup would do.

    Args:
        session: the outside world.
        target: the environment.
        request: what is asked for.
        saved: decide anew what this one decided, of the files that it names alone.

    Raises:
        FastinstallError: as planner, probes and index say.
    """
    recipe = recipes.recipe_named(session, request.recipe)
    refuse_unknown(recipe, request)
    # Where a saved plan says that a wheel has to be built, it stays right when somebody builds it meanwhile.
    from_cache = saved is None or any(isinstance(step, Build) and bool(step.cached) for step in saved.steps)
    made = plan_creation(session, target)
    if made is not None:
        return _plan_new(session, request, made, saved=saved, from_cache=from_cache)
    environment = find(session, target)
    receipt = observation.receipt_of(environment)
    facts = observation.facts_of(session, environment, observation.ObservationRequest(recipe=recipe))
    done = plan_nothing(facts, recipe, request, receipt)
    if done is not None and request.pin:
        done = replace(done, warnings=warn_about_project(_find_project(facts), facts))
    if done is not None:
        return done
    # What was not looked at yet, PIL in use and what compiles, is looked at while pip tells its settings.
    index = _start_index(session, recipe, request, Path(environment.python))
    if environment.kind is EnvironmentKind.CONDA:  # whose engine is a tool, too
        facts = observation.facts_of(
            session, environment, observation.ObservationRequest(recipe=recipe, runtime=True, toolchain=True)
        )
    else:
        # Not where a wheelhouse may have a wheel that is ready to be taken.
        observe = partial(observation.observe_means, recipe, session.variables)
        toolchain = RunningProbe(observe) if request.wheelhouse is None else None
        facts = replace(facts, runtime=use_pil(session, environment).result())
        facts = replace(facts, toolchain=toolchain.result() if toolchain is not None else None)
    releases = select_named_releases(saved, index.releases(recipe, facts.interpreter))
    situation = Situation(facts=facts, recipe=recipe, request=request, releases=releases, receipt=receipt)
    return _decide_plan(session, _add_project(situation), from_cache=from_cache)


def _decide_plan(session: Session, situation: Situation, *, from_cache: bool = True) -> Plan:
    """The plan, verified by the checks of other distributions too, where these say that they verify a setup."""
    known = situation
    if known.facts.toolchain is None and needs_compiling(known):
        toolchain = observation.observe_means(known.recipe, session.variables)
        known = replace(known, facts=replace(known.facts, toolchain=toolchain))
    if from_cache and known.facts.toolchain is not None:
        known = _add_cached_wheel(session, known)
    known = _add_links(session, _preview_conda_change(session, known))
    return make_plan(replace(known, foreign_checks=foreign_verifying_checks()))


def observe_facts(session: Session, target: NamedTarget, recipe: Recipe) -> Facts:
    """What a plan is made from, of an environment that exists or that is yet to be made; PIL is not run."""
    made = plan_creation(session, target)
    if made is not None:
        return _facts_before_creation(session, recipe, made)
    return observation.facts_of(
        session, find(session, target), observation.ObservationRequest(recipe=recipe, toolchain=True)
    )


def plan_restoration(session: Session, environment: Environment, receipt: Receipt, releases: Releases) -> Plan:
    """Decide how to put back what a receipt says, at its very version."""
    recipe = recipes.read_recorded_recipe(session, environment, receipt)
    compiling = not releases.prebuilt or environment.kind is EnvironmentKind.CONDA  # whose engine is a tool too
    facts = observation.facts_of(
        session, environment, observation.ObservationRequest(recipe=recipe, toolchain=compiling)
    )
    situation = Situation(
        facts=facts, recipe=recipe, request=receipt.request, releases=releases, receipt=receipt, restoring=True
    )
    return _decide_plan(session, _add_project(situation))


def plan_build(
    session: Session, target: NamedTarget, request: Request, *, anew: bool = False
) -> tuple[Plan, Interpreter]:
    """Decide a build alone: nothing is known or asked of the environment but its interpreter.

    Args:
        session: the outside world.
        target: its interpreter is the one that is built for.
        request: what to build.
        anew: plan what compiling needs, even if the cache has the wheel.

    Returns:
        A plan with the steps that make the wheel, and the interpreter that it is for.
    """
    request = replace(request, engine=CondaInstaller.AUTO, pin=False)  # of an environment, which is not concerned
    recipe = recipes.recipe_named(session, request.recipe)
    refuse_unknown(recipe, request)
    unnamed = target.prefix is None and not is_active_elsewhere(session)
    python = target.python or (base_python(session) if unnamed else Path(find(session, target).python))
    interpreter = observe_interpreter(python)
    elsewhere = Path(interpreter.prefix) / "fastinstall-build-only"
    create = CreateEnvironment(prefix=elsewhere, python=interpreter.executable, reason="never made")
    relocated = relocate_interpreter(interpreter, elsewhere)
    made = _plan_new(session, request, (create, relocated), from_cache=not anew)
    needed = SystemPackages | PrivateHeaders | CondaToolchain | Build
    steps = tuple(step for step in made.steps if isinstance(step, needed))
    environment = replace(made.environment, prefix=interpreter.prefix, python=interpreter.executable)
    return replace(made, steps=steps, environment=environment), interpreter


def _target_of(saved: Plan) -> NamedTarget:
    create = next((step for step in saved.steps if isinstance(step, CreateEnvironment)), None)
    if create is None:
        return NamedTarget(prefix=Path(saved.environment.prefix))
    return NamedTarget(new=Path(create.prefix), python=Path(create.python))


def decide_saved_plan_again(session: Session, saved: Plan, allowed: Sequence[Risk]) -> Plan:
    """A saved plan as it is decided now: it may come from anybody, and says neither what it risks nor what it may.

    Args:
        session: the outside world.
        saved: its request, environment and files count.
        allowed: risks that whoever carries it out accepts.

    Returns:
        The plan to carry out: what was decided now, with addresses of the index that is configured here.

    Raises:
        RefusedError: the facts that it was made from have changed. Or what it says differs from what is decided; names
            the key. Or a file of it is not on offer.
        FastinstallError: as `plan_setup`.
    """
    target, recipe = _target_of(saved), recipes.recipe_named(session, saved.request.recipe)
    made = plan_creation(session, target)
    if made is None:
        facts = observation.facts_of(session, saved.environment, observation.ObservationRequest(recipe=recipe))
    else:
        facts = _facts_before_creation(session, recipe, made)
    if compute_facts_digest(facts) != saved.facts_digest:
        raise RefusedError(
            f"the plan is stale: {saved.environment.prefix} has changed since it was made", hint=PLAN_AGAIN
        )
    try:
        anew = plan_setup(session, target, saved.request, saved=saved)
    except FailedError as error:
        if not saved.request.offline:
            raise
        hint = _name_other_cache(session, saved)
        raise FailedError(error.message, hint=hint, details=error.details) from error
    _refuse_another_cache(session, saved, anew)
    for key, problem in find_differences(saved, anew):
        raise RefusedError(f"the plan differs from what would be planned now: {key}: {problem}", hint=PLAN_AGAIN)
    return allow_risks(anew, allowed)


def _refuse_another_cache(session: Session, saved: Plan, anew: Plan) -> None:
    """Raise if a plan takes a wheel from the cache that this cache does not have: all its steps would differ."""
    taken, there = ({step.cached for step in plan.steps if isinstance(step, Build)} for plan in (saved, anew))
    if taken - there - {""}:
        raise RefusedError(
            f"the plan takes a wheel that was built before, and {session.directories.cache} does not have it",
            hint=_name_other_cache(session, saved),
        )


def _name_other_cache(session: Session, saved: Plan) -> str:
    """The hint where this cache lacks what a plan takes from one; with the user's usual cache, if that has it."""
    from fastinstall.wheelbuild.wheel_cache import find_wheel  # noqa: PLC0415 (only before a refusal)

    moving = ("FASTINSTALL_CACHE_DIR", "XDG_CACHE_HOME")
    usual = user_directories({name: value for name, value in session.variables.items() if name not in moving}).cache
    fetched = {artefact.sha256 for step in saved.steps for artefact in step.list_artefacts()} - {""}
    built = {step.cached for step in saved.steps if isinstance(step, Build)} - {""}
    found = [find_wheel(usual, each) is not None for each in built] or [is_downloaded(usual, each) for each in fetched]
    named = quote(usual) if found and all(found) and usual != session.directories.cache else "DIR"
    return (
        f"name the cache that the plan was made with: FASTINSTALL_CACHE_DIR={named} fastinstall apply FILE; "
        f"or {PLAN_AGAIN}"
    )


def refuse_another_environment(session: Session, saved: Plan) -> None:
    """Raise if a plan names another interpreter than one of its environment; it is not run.

    Raises:
        RefusedError: it does, or there is no environment.
    """
    target, named = _target_of(saved), saved.environment
    if target.new is not None:
        return
    there = find(session, target)
    same = named.python.parent == there.python.parent
    if named.kind is not there.kind or not same or os.path.realpath(named.python) != os.path.realpath(there.python):
        raise RefusedError(
            f"the plan is for the {named.kind} of {named.python}, "
            f"and {there.prefix} is the {there.kind} of {there.python}",
            hint=PLAN_AGAIN,
        )


def find_releases(
    session: Session, target: NamedTarget, recipes: Sequence[Recipe], interpreter: Interpreter, request: Request
) -> dict[str, Releases]:
    """What there is for each of several recipes, by their names; everything is looked up once, at the same time.

    Raises:
        FailedError: the index cannot be reached.
    """
    python = target.python or base_python(session) if target.new else Path(find(session, target).python)
    return make_index(session, request, defer_pip_settings(session, python)).releases_for(recipes, interpreter)


def make_index(session: Session, request: Request, settings: Callable[[], PipSettings]) -> PackageIndex:
    """The package index, as the target's pip is configured, or the wheelhouse."""
    return PackageIndex(
        settings=settings,
        wheelhouse=Path(request.wheelhouse) if request.wheelhouse else None,
        offline=request.offline,
        cache=session.own_cache(),
    )


def defer_pip_settings(session: Session, python: Path) -> Callable[[], PipSettings]:
    """Pip's settings for a target, found out when they are first asked for."""
    return cache(partial(pip_settings, python, session.variables))


def _add_project(situation: Situation) -> Situation:
    return replace(situation, project=_find_project(situation.facts))


def _find_project(facts: Facts) -> Project | None:
    """Return the project that makes the environment; one that cannot be read is in nobody's way."""
    try:
        return project_of(Path(facts.environment.prefix))
    except FastinstallError:
        return None


def _add_links(session: Session, situation: Situation) -> Situation:
    """What pip is told of other places, where a pin would hide it; refused where one would hide the other."""
    if keeps_pip_pin(situation) or not wants_pip_pin(situation.facts, situation.request):
        return situation
    from fastinstall.guard.pinning import list_links_beside_pin  # noqa: PLC0415 (only where something is pinned)

    prefix = Path(situation.facts.environment.prefix)
    return replace(situation, links=list_links_beside_pin(session, prefix, situation.project))


def _plan_new(
    session: Session,
    request: Request,
    made: tuple[CreateEnvironment, Interpreter],
    *,
    saved: Plan | None = None,
    from_cache: bool,
) -> Plan:
    recipe, (create, interpreter) = recipes.recipe_named(session, request.recipe), made
    index = _start_index(session, recipe, request, Path(create.python))
    facts = _facts_before_creation(session, recipe, made, toolchain=request.wheelhouse is None)
    releases = select_named_releases(saved, index.releases(recipe, interpreter))
    situation = Situation(facts=facts, recipe=recipe, request=request, releases=releases, create=create)
    return _decide_plan(session, situation, from_cache=from_cache)


def _facts_before_creation(
    session: Session, recipe: Recipe, made: tuple[CreateEnvironment, Interpreter], *, toolchain: bool = True
) -> Facts:
    """Facts of the environment as it will be once it is made: nothing is installed there."""
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


def _add_cached_wheel(session: Session, situation: Situation) -> Situation:
    """The situation with a wheel that was built before as it would be now, if the cache has one."""
    step = plan_build_step(replace(situation, cached=""))
    if step.prebuilt is not None:
        return situation
    from fastinstall.wheelbuild.ready_wheels import find_ready  # noqa: PLC0415 (slow to import; not where nothing is built)

    facts, cache = situation.facts, session.own_cache()
    wheelhouse = Path(situation.request.wheelhouse) if situation.request.wheelhouse else None
    for ready in find_ready(cache, step, situation.recipe, facts.interpreter, wheelhouse):
        if step.clang is not None or may_have_made(ready.compiler, facts, situation.request, cache / TOOLCHAINS):
            return replace(situation, cached=ready.entry.sha256)
    return situation


def _start_index(session: Session, recipe: Recipe, request: Request, python: Path) -> PackageIndex:
    """An index whose settings are being found out while the target is observed."""
    names = listing(dict.fromkeys((recipe.source.pypi, recipe.source.base_wheel)))
    session.emit(Started(stage="index", message=f"looking up {names}"))
    if request.offline:
        return make_index(session, request, defer_pip_settings(session, python))
    RunningProbe(partial(import_module, "fastinstall.index.lookup"))  # 0.2 s, while processes are waited for
    return make_index(session, request, RunningProbe(partial(pip_settings, python, session.variables)).result)


def plan_creation(session: Session, target: NamedTarget) -> tuple[CreateEnvironment, Interpreter] | None:
    """The step that makes a new environment, and the interpreter as it will be there; None if none is requested.

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


def relocate_interpreter(base: Interpreter, prefix: Path) -> Interpreter:
    """An interpreter as it will be in a virtual environment made from it."""
    minor = ".".join(base.version.split(".")[:2]) + ("t" if base.free_threaded else "")
    return replace(
        base,
        executable=prefix / "bin" / "python",
        prefix=prefix,
        site_packages=prefix / "lib" / f"python{minor}" / "site-packages",
        externally_managed=None,
        pip_version=None,
    )


def _preview_conda_change(session: Session, situation: Situation) -> Situation:
    """The situation, with what a solver says where the stack becomes conda packages; else as it is.

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
    """An engine that works by this session's variables and cache.

    Raises:
        RefusedError: it is not there.
    """
    means = CondaTools(
        variables=session.variables, cache=session.own_cache() / "conda", emit=session.emit, offline=offline
    )
    return open_engine(engine, tool, means)
