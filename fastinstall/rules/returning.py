"""A repair that puts ours in the place of a Pillow which somebody may have wanted: what the plan says of it. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import PurePath

from fastinstall.errors import RefusedError
from fastinstall.model.plan import Hazard, Plan
from fastinstall.model.receipt import Receipt
from fastinstall.model.recipe import Recipe
from fastinstall.model.wish import Risk
from fastinstall.rules.hazards import vulnerable_hazard
from fastinstall.rules.intent import Asked, Intent, Order
from fastinstall.rules.messages import fix_command, listing, quote


def returning(plan: Plan, intent: Intent, reasons: Sequence[str], allowed: Iterable[Risk]) -> Plan:
    """The plan that puts an earlier version of ours back, as a risk that has to be allowed: it was not meant so.

    Args:
        plan: that restores what the receipt says.
        intent: what took its place, and would go.
        reasons: why it cannot be kept with the kernels.
        allowed: risks that this run allows.
    """
    taken = tuple(allowed)
    found = next((hazard for hazard in plan.hazards if hazard.risk is Risk.DOWNGRADE), None)
    known = found.summary if found is not None else "ours is an earlier version"
    hazard = Hazard(
        risk=Risk.DOWNGRADE,
        summary=f"{intent.story}, and no build of it with the kernels can be made; {known}",
        items=(
            *ways_out(plan),
            *(f"why there is no build of it: {reason}" for reason in reasons),
            *(found.items if found is not None else ()),
        ),
        allowed=Risk.DOWNGRADE in taken,
    )
    others = tuple(each for each in plan.hazards if each.risk is not Risk.DOWNGRADE)
    kept = tuple(risk for risk in plan.wish.allow if risk is not Risk.DOWNGRADE)
    wish = replace(plan.wish, allow=(*kept, Risk.DOWNGRADE) if hazard.allowed else kept)
    return replace(plan, wish=wish, hazards=(hazard, *others))


def ways_out(plan: Plan) -> tuple[str, ...]:
    """The two commands that end the matter."""
    prefix = plan.environment.prefix
    return (
        f"to accept the stock one: fastinstall guard accept --prefix {quote(prefix)}",
        f"to go back to ours: fastinstall doctor --fix --allow {Risk.DOWNGRADE} --prefix {quote(prefix)}",
    )


def refusal(intent: Intent, reasons: Sequence[str], prefix: PurePath) -> RefusedError:
    """What is said where ours cannot come back either, because something requires what is in place."""
    return RefusedError(
        f"{intent.story}; {listing(intent.unmet)}, which ours does not meet, "
        f"and there is no build of {intent.version} with the kernels: {listing(reasons)}",
        hint=f"accept the stock one: fastinstall guard accept --prefix {quote(prefix)}",
        details=(f"or remove what requires it, then: {fix_command(prefix)}",),
    )


def with_word_of(plan: Plan, intent: Intent | None, receipt: Receipt, recipe: Recipe) -> Plan:
    """The plan that restores ours, with a warning where another version was asked for by its name.

    Args:
        plan: that restores what the receipt says.
        intent: what took its place, or None if nothing did.
        receipt: of ours.
        recipe: of ours, for what is known against the version that was asked for.
    """
    if intent is None or intent.order is not Order.EARLIER or intent.asked is not Asked.BY_NAME:
        return plan
    if intent.broken:
        warning = f"{intent.story}; {receipt.version} comes back, because {listing(intent.broken)}"
        return replace(plan, warnings=(warning, *plan.warnings))
    risks = [Risk.DOWNGRADE]
    if vulnerable_hazard(recipe, intent.version, kernels=bool(recipe.expect.symbols)) is not None:
        risks.append(Risk.VULNERABLE)
    prefix = quote(plan.environment.prefix)
    command = f"fastinstall setup --version {intent.version} --allow {','.join(risks)} --prefix {prefix}"
    warning = f"{intent.story}; {receipt.version} comes back. To have {intent.version} with the kernels: {command}"
    return replace(plan, warnings=(warning, *plan.warnings))
