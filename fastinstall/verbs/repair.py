"""`doctor --fix`: restore the build of the receipt, or build the version that replaced it, as setup does.

A repair keeps the version that somebody installed over ours if it can be built with the kernels; otherwise it says why
not. Two ways then remain: our earlier version, a risk that must be allowed by name, or accepting stock Pillow.

If a repair replaces a Pillow that somebody may have wanted, the plan says so.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path, PurePath

from fastinstall.apply.carry_out import PlanConsent, carry_out
from fastinstall.core.errors import FailedError, RefusedError, UnprovenError, UsageError
from fastinstall.core.events import Noted
from fastinstall.core.messages import fix_command, listing, quote
from fastinstall.core.version_numbers import base_version
from fastinstall.doctor.intent import InstallRequest, Intent, VersionOrder, intent_of
from fastinstall.model.artefact import Artefact, Releases
from fastinstall.model.facts import Environment, EnvironmentKind, Facts
from fastinstall.model.receipt import Receipt
from fastinstall.model.recipe import Recipe
from fastinstall.model.request import PlanRisk, Request, Risk
from fastinstall.observe.environments import NamedTarget
from fastinstall.observe.interpreter import observe_interpreter
from fastinstall.observe.observation import ObservationRequest, facts_of, receipt_of, recorded_facts
from fastinstall.observe.recipes import recipe_named
from fastinstall.observe.session import Session
from fastinstall.plan.conda_steps import add_reinstallations
from fastinstall.plan.make import defer_pip_settings, make_index
from fastinstall.plan.plan import Plan
from fastinstall.plan.risks import find_vulnerability_risk
from fastinstall.plan.satisfied import plan_nothing
from fastinstall.steps.prove import Prove
from fastinstall.verbs.plan import plan_restoration, plan_setup
from fastinstall.wheelbuild.installed_wheels import find_installed_wheel

_VERB = "doctor --fix"
"""What the list of what can be undone calls it."""
_OF_ONE_VERSION = (Risk.DOWNGRADE, Risk.VULNERABLE)
"""Risks that were accepted for the version of the receipt, and are asked about again for another one."""


def plan_repair(session: Session, environment: Environment, request: Request) -> Plan:
    """Decide how to repair an environment.

    With a receipt, restore exactly its build, from the cache if possible. If somebody installed a later Pillow on
    purpose, or something requires the installed one, build that version with the receipt's request instead. Without a
    receipt, plan a setup as `request` says.

    Raises:
        RefusedError: neither is possible; says what to do instead.
        FastinstallError: as a setup's planning.

    Example:
        plan = plan_repair(session, environment, Request())
    """
    return replace(_add_reinstalls(session, _plan_repair(session, environment, request)), verb=_VERB)


def _plan_repair(session: Session, environment: Environment, request: Request) -> Plan:
    receipt = receipt_of(environment)
    if receipt is None:
        return plan_setup(session, NamedTarget(prefix=Path(environment.prefix)), request)
    facts, recipe = recorded_facts(session, environment, receipt), recipe_named(session, receipt.recipe)
    done = plan_nothing(facts, recipe, replace(receipt.request, recipe=receipt.recipe), receipt)
    # Where PIL itself is a link its files may be the very ones, and do not find their libraries from there.
    if done is not None and not (facts.stack.directory is not None and Path(facts.stack.directory).is_symlink()):
        return done
    intent = intent_of(facts, receipt)
    if intent is None or not intent.is_kept:
        restored = _plan_restoring_wheel(session, facts, receipt)
        return add_version_warning(restored, intent, receipt, recipe)
    followed = _plan_following(session, environment, receipt, intent, request)
    if isinstance(followed, Plan):
        return followed
    if intent.unmet:
        raise make_repair_refusal(intent, followed, environment.prefix)
    restored = _plan_restoring_wheel(session, facts, receipt)
    return make_return_plan(restored, intent, followed, request.allow)


def repair(session: Session, planned: Plan, request: Request, agree: PlanConsent) -> Receipt:
    """Carry out what `plan_repair` has decided.

    Args:
        session: variables, directories, clock and event listener of this run.
        planned: the plan, consented to.
        request: what this run asks for: allowed risks, and whether there is a network.
        agree: asks for consent to another plan, where the version that somebody wanted does not prove.

    Raises:
        FastinstallError: as `carry_out`, `agree` and `plan_repair` say.

    Example:
        plan = plan_repair(session, environment, Request())
        receipt = repair(session, plan, Request(), agree=lambda other: other)
    """
    try:
        return carry_out(session, planned).receipt
    except UnprovenError as error:
        receipt = receipt_of(planned.environment)
        if receipt is None:
            raise
        facts = recorded_facts(session, planned.environment, receipt)
        intent = intent_of(facts, receipt)
        if intent is None or planned.request.version != intent.version:
            raise
        for line in error.details:
            session.emit(Noted(message=line))
        if intent.unmet:
            raise make_repair_refusal(intent, (error.message,), facts.environment.prefix) from error
        restored = _plan_restoring_wheel(session, facts, receipt)
        back = _add_reinstalls(session, make_return_plan(restored, intent, (error.message,), request.allow))
        return carry_out(session, agree(replace(back, verb=_VERB))).receipt


def _plan_restoring_wheel(session: Session, facts: Facts, receipt: Receipt) -> Plan:
    """Plan to put back the wheel of the receipt; where its recipe was renamed, a build of its version by today's."""
    prefix = Path(facts.environment.prefix)
    if receipt.request.recipe != receipt.recipe:
        wanted = _make_followed_request(receipt, receipt.request.recipe, receipt.source_version, receipt.request)
        return plan_setup(session, NamedTarget(prefix=prefix), wanted)
    cached = find_installed_wheel(session.own_cache(), prefix, receipt.wheel_sha256)
    if cached is not None:
        wheel = Artefact(
            name=receipt.distribution,
            version=receipt.version,
            filename=cached.name,
            url=cached.as_uri(),
            sha256=receipt.wheel_sha256,
        )
        releases = Releases(sources=(), wheels=(), prebuilt=(wheel,), origin="fastinstall's cache")
    else:
        settings = defer_pip_settings(session, Path(facts.interpreter.executable))
        recipe = recipe_named(session, receipt.recipe)
        releases = make_index(session, receipt.request, settings).releases(recipe, facts.interpreter)
    return plan_restoration(session, facts.environment, receipt, releases)


def _add_reinstalls(session: Session, planned: Plan) -> Plan:
    """Add to a plan, in a conda environment, the packages whose files were overwritten, to be reinstalled with it."""
    environment = planned.environment
    if environment.kind is not EnvironmentKind.CONDA or not planned.steps:
        return planned
    request = ObservationRequest(recipe=recipe_named(session, planned.request.recipe))
    conda = facts_of(session, environment, request).conda
    return add_reinstallations(planned, conda) if conda is not None else planned


def _plan_following(
    session: Session, environment: Environment, receipt: Receipt, intent: Intent, request: Request
) -> Plan | tuple[str, ...]:
    """Plan our build of the version in place: by the receipt's recipe, else with our kernels.

    Args:
        session: variables, directories, clock and event listener of this run.
        environment: where it is, what kind it is and its interpreter, as `find` returns it.
        receipt: of the setup that was replaced; its request is kept, but for the version.
        intent: what took its place.
        request: of this run: risks, and whether there is a network.

    Returns:
        The plan; or why there is none, recipe by recipe.
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
            # Like any repair, it measures no speed.
            steps = tuple(replace(step, timed=False) if isinstance(step, Prove) else step for step in made.steps)
            return replace(made, steps=steps, warnings=(story, *made.warnings))
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
    """Check first whether the version exists at all."""
    recipe = recipe_named(session, request.recipe)
    interpreter = observe_interpreter(Path(environment.python))
    index = make_index(session, request, defer_pip_settings(session, Path(environment.python)))
    offered = index.releases(recipe, interpreter)
    versions = {base_version(artefact.version) for artefact in (*offered.sources, *offered.prebuilt)}
    if request.version not in versions:
        raise UsageError(f"{offered.origin} has no {recipe.source.pypi} {request.version}")


def make_return_plan(plan: Plan, intent: Intent, reasons: Sequence[str], allowed: Iterable[Risk]) -> Plan:
    """Return the plan that restores an earlier version of ours, as a risk that must be allowed.

    Args:
        plan: that restores what the receipt says.
        intent: what took its place, and would go.
        reasons: why it cannot be kept with the kernels.
        allowed: risks that this run allows.
    """
    found = next((plan_risk for plan_risk in plan.risks if plan_risk.risk is Risk.DOWNGRADE), None)
    known = found.summary if found is not None else "the fast build is an earlier version"
    prefix = quote(plan.environment.prefix)
    plan_risk = PlanRisk(
        risk=Risk.DOWNGRADE,
        summary=f"{intent.story}, and it cannot be built with the kernels; {known}",
        items=(
            f"to accept stock Pillow: fastinstall guard accept --prefix {prefix}",
            f"to go back to the fast build: fastinstall doctor --fix --allow {Risk.DOWNGRADE} --prefix {prefix}",
            *(f"why it cannot be built: {reason}" for reason in reasons),
            *(found.items if found is not None else ()),
        ),
        allowed=Risk.DOWNGRADE in allowed,
    )
    others = tuple(each for each in plan.risks if each.risk is not Risk.DOWNGRADE)
    kept = tuple(risk for risk in plan.request.allow if risk is not Risk.DOWNGRADE)
    request = replace(plan.request, allow=(*kept, Risk.DOWNGRADE) if plan_risk.allowed else kept)
    return replace(plan, request=request, risks=(plan_risk, *others))


def make_repair_refusal(intent: Intent, reasons: Sequence[str], prefix: PurePath) -> RefusedError:
    """Return the error if ours cannot be restored either, because something requires the installed version."""
    return RefusedError(
        f"{intent.story}; {listing(intent.unmet)}, which the fast build does not meet, "
        f"and {intent.version} cannot be built with the kernels: {listing(reasons)}",
        hint=f"accept stock Pillow: fastinstall guard accept --prefix {quote(prefix)}",
        details=(f"or uninstall what requires it, then: {fix_command(prefix)}",),
    )


def add_version_warning(plan: Plan, intent: Intent | None, receipt: Receipt, recipe: Recipe) -> Plan:
    """Return the plan that restores ours, with a warning if another version was requested by name.

    Args:
        plan: that restores what the receipt says.
        intent: what took its place, or None if nothing did.
        receipt: of our setup that was replaced.
        recipe: of ours, for what is known against the version that was asked for.
    """
    if intent is None or intent.order is not VersionOrder.EARLIER or intent.asked is not InstallRequest.BY_NAME:
        return plan
    warning = f"{intent.story}; {receipt.version} is restored"
    if intent.broken:
        warning += f", because {listing(intent.broken)}"
    else:
        vulnerable = find_vulnerability_risk(recipe, intent.version, kernels=bool(recipe.expect.symbols)) is not None
        allow = f"{Risk.DOWNGRADE},{Risk.VULNERABLE}" if vulnerable else Risk.DOWNGRADE
        command = f"fastinstall setup --version {intent.version} --allow {allow} --prefix"
        warning += f". To install {intent.version} with the kernels: {command} {quote(plan.environment.prefix)}"
    return replace(plan, warnings=(warning, *plan.warnings))
