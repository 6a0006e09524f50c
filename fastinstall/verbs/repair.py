"""`doctor --fix`: restore the build that the receipt records, or build the version that has replaced it.

If the user has installed another version over ours, a repair builds that version with our kernels. If that is not
possible, a message says why, and the user can allow the risk of returning to our earlier version, or accept stock
Pillow.

If a repair replaces a Pillow that the user may have wanted, the plan says so.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from fastinstall.core.errors import FailedError, RefusedError, UnprovenError, UsageError
from fastinstall.core.events import Noted
from fastinstall.core.messages import listing
from fastinstall.core.version_numbers import base_version
from fastinstall.doctor.intent import Intent, intent_of
from fastinstall.index.selection import is_installable
from fastinstall.journal.receipt_file import read_receipt
from fastinstall.model.artefact import Artefact, Releases
from fastinstall.model.facts import Environment, EnvironmentKind, Facts
from fastinstall.model.receipt import Receipt
from fastinstall.model.recipe import Recipe
from fastinstall.model.request import Request, Risk
from fastinstall.observe.environments import NamedTarget
from fastinstall.observe.interpreter import observe_interpreter
from fastinstall.observe.observation import observe_recipe_toolchain, recorded_facts
from fastinstall.observe.recipes import read_recorded_recipe, recipe_named
from fastinstall.observe.session import Session
from fastinstall.setup.carry_out import carry_out
from fastinstall.setup.decide.conda import add_reinstallations
from fastinstall.setup.decide.levels import choose_restored_levels
from fastinstall.setup.decide.nothing_to_do import plan_nothing
from fastinstall.setup.decide.risks import add_version_warning, make_repair_refusal, make_return_plan
from fastinstall.setup.look import decide_plan, find_project, make_index
from fastinstall.setup.plan import Plan, PlanConsent, SetupOutcome, Situation
from fastinstall.verbs.setup import plan_setup
from fastinstall.wheelbuild.wheel_cache import find_installed_wheel

_VERB = "doctor --fix"
"""The name of the command in `rollback --list`."""
_OF_ONE_VERSION = (Risk.DOWNGRADE, Risk.VULNERABLE)
"""Risks that were accepted only for the receipt's version; to repair with another version, the user is asked again."""


def plan_repair(session: Session, environment: Environment, request: Request, facts: Facts | None = None) -> Plan:
    """Decide how to repair an environment.

    With a receipt, restore exactly the build that it records, from the cache if possible. If a later Pillow was
    installed by explicit request, or if a package requires the installed version, build the installed version instead,
    with the options of the receipt's request. Without a receipt, plan a setup as `request` says.

    Args:
        session: variables, directories, clock and event listener of this run.
        environment: the environment to repair.
        request: the request of this run: allowed risks, and whether there is a network.
        facts: the facts about the environment; None to observe them.

    Raises:
        RefusedError: no repair is possible; the error says what to do instead.
        FastinstallError: raised by `plan_setup`.

    Example:
        plan = plan_repair(session, environment, Request())
    """
    receipt = read_receipt(environment.prefix)
    seen = facts or recorded_facts(session, environment, receipt)
    return _complete_plan(_plan_repair(session, seen, receipt, request), seen)


def _plan_repair(session: Session, facts: Facts, receipt: Receipt | None, request: Request) -> Plan:
    environment = facts.environment
    if receipt is None:
        return plan_setup(session, NamedTarget(prefix=Path(environment.prefix)), request)
    recipe = read_recorded_recipe(session, environment, receipt)
    done = plan_nothing(facts, recipe, replace(receipt.request, recipe=receipt.recipe), receipt)
    # If PIL is a symbolic link, its files may be intact but unable to find their libraries.
    if done is not None and not (facts.stack.directory is not None and Path(facts.stack.directory).is_symlink()):
        return done
    intent = intent_of(facts, receipt)
    if intent is None or not intent.is_kept:
        restored = _plan_restoring_wheel(session, facts, receipt, recipe)
        return add_version_warning(restored, intent, receipt, recipe)
    followed = _plan_following(session, environment, receipt, intent, request)
    if isinstance(followed, Plan):
        return followed
    return _plan_return(session, facts, receipt, intent, followed, request.allow)


def repair(session: Session, planned: Plan, request: Request, agree: PlanConsent) -> SetupOutcome:
    """Carry out a plan of `plan_repair`.

    Args:
        session: variables, directories, clock and event listener of this run.
        planned: the plan, to which the user has consented.
        request: the request of this run: allowed risks, and whether there is a network.
        agree: asks for consent to return to the receipt's version, if our build of the installed version is not proven.

    Raises:
        FastinstallError: raised by `carry_out`, `agree` or `plan_repair`.

    Example:
        plan = plan_repair(session, environment, Request())
        outcome = repair(session, plan, Request(), agree=lambda other: other)
    """
    try:
        return carry_out(session, planned)
    except UnprovenError as error:
        receipt = read_receipt(planned.environment.prefix)
        if receipt is None:
            raise
        facts = recorded_facts(session, planned.environment, receipt)
        intent = intent_of(facts, receipt)
        if intent is None or planned.request.version != intent.version:
            raise
        for line in error.details:
            session.emit(Noted(message=line))
        back = _plan_return(session, facts, receipt, intent, (error.message,), request.allow)
        return carry_out(session, agree(_complete_plan(back, facts)))


def _plan_return(
    session: Session, facts: Facts, receipt: Receipt, intent: Intent, reasons: Sequence[str], allowed: Iterable[Risk]
) -> Plan:
    """Plan to return to the receipt's version, because the installed version cannot be built; `reasons` say why.

    Raises:
        RefusedError: a package requires the installed version.
    """
    if intent.unmet:
        raise make_repair_refusal(intent, reasons, facts.environment.prefix)
    recipe = read_recorded_recipe(session, facts.environment, receipt)
    return make_return_plan(_plan_restoring_wheel(session, facts, receipt, recipe), intent, reasons, allowed)


def _complete_plan(plan: Plan, facts: Facts) -> Plan:
    """Add to a plan its verb, and steps that reinstall conda packages whose files were overwritten."""
    if facts.conda is not None and plan.steps:
        plan = add_reinstallations(plan, facts.conda)
    return replace(plan, verb=_VERB)


def _plan_restoring_wheel(session: Session, facts: Facts, receipt: Receipt, recipe: Recipe) -> Plan:
    """Plan to restore the wheel that the receipt records.

    If the receipt's recipe was renamed, plan a build of the same version by the renamed recipe. If the wheel no longer
    fits the Python, the C library or the CPU, plan a build of the same version that fits.
    """
    prefix = Path(facts.environment.prefix)
    if receipt.request.recipe != receipt.recipe:
        wanted = _make_followed_request(receipt, receipt.request.recipe, receipt.source_version, receipt.request)
        return plan_setup(session, NamedTarget(prefix=prefix), wanted)
    cached = find_installed_wheel(session.own_cache(), prefix, receipt.wheel_sha256)
    runs_here = choose_restored_levels(recipe, facts.cpu, receipt) == receipt.levels
    if cached is not None and runs_here and is_installable(cached.name, facts.interpreter):
        name, version, sha256 = receipt.distribution, receipt.version, receipt.wheel_sha256
        wheel = Artefact(name=name, version=version, filename=cached.name, url=cached.as_uri(), sha256=sha256)
        releases = Releases(sources=(), wheels=(), prebuilt=(wheel,), origin="fastinstall's cache")
    else:
        index = make_index(session, receipt.request, facts.interpreter.executable)
        releases = index.releases(recipe, facts.interpreter)
    if not releases.prebuilt or facts.environment.kind is EnvironmentKind.CONDA:
        facts = replace(facts, toolchain=observe_recipe_toolchain(recipe, session.variables))
    situation = Situation(
        facts=facts,
        recipe=recipe,
        request=receipt.request,
        releases=releases,
        receipt=receipt,
        restoring=True,
        project=find_project(facts),
    )
    return decide_plan(session, situation)


def _plan_following(
    session: Session, environment: Environment, receipt: Receipt, intent: Intent, request: Request
) -> Plan | tuple[str, ...]:
    """Plan our build of the version that replaced our stack, by the receipt's recipe or else by the default recipe.

    Args:
        session: variables, directories, clock and event listener of this run.
        environment: the target environment, as returned by `find_environment`.
        receipt: the receipt of the setup that was replaced; its request is kept, except for the version.
        intent: the version that replaced our stack, and why it was installed.
        request: the request of this run: allowed risks, and whether there is a network.

    Returns:
        The plan; if neither recipe gives one, a reason for each recipe.
    """
    reasons: dict[str, None] = {}
    for recipe in dict.fromkeys((receipt.request.recipe, Request().recipe)):
        wanted = _make_followed_request(receipt, recipe, intent.version, request)
        try:
            _refuse_unless_offered(session, environment, wanted)
            made = plan_setup(session, NamedTarget(prefix=Path(environment.prefix)), wanted)
        except (UsageError, RefusedError, FailedError) as error:
            reasons[error.message] = None
        else:
            why = f", and {listing(intent.unmet)}" if intent.unmet else ""
            story = f"{intent.story}{why}: that version stays and gets the kernels"
            untimed = replace(made.prove, timed=False) if made.prove is not None else None  # a repair measures no speed
            return replace(made, prove=untimed, warnings=(story, *made.warnings))
    return tuple(reasons)


def _make_followed_request(receipt: Receipt, recipe: str, version: str, request: Request) -> Request:
    kept = tuple(risk for risk in receipt.request.allow if risk not in _OF_ONE_VERSION)
    return replace(
        receipt.request,
        recipe=recipe,
        version=version,
        upgrade=False,
        avoid=(),
        offline=request.offline or receipt.request.offline,
        wheelhouse=request.wheelhouse or receipt.request.wheelhouse,
        allow=tuple(dict.fromkeys((*kept, *request.allow))),
    )


def _refuse_unless_offered(session: Session, environment: Environment, request: Request) -> None:
    """Raise a UsageError if the index does not offer the requested version at all."""
    recipe = recipe_named(session, request.recipe)
    interpreter = observe_interpreter(environment.python)
    offered = make_index(session, request, environment.python).releases(recipe, interpreter)
    versions = {base_version(artefact.version) for artefact in (*offered.sources, *offered.prebuilt)}
    if request.version not in versions:
        raise UsageError(f"{offered.origin} has no {recipe.source.pypi} {request.version}")
