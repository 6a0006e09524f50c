"""Risks, warnings and refusals of a repair after another version has replaced our build. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import PurePath

from fastinstall.core.errors import RefusedError
from fastinstall.core.messages import fix_command, listing, quote
from fastinstall.doctor.intent import InstallRequest, Intent, VersionOrder
from fastinstall.model.receipt import Receipt
from fastinstall.model.recipe import Recipe
from fastinstall.model.request import PlanRisk, Risk
from fastinstall.setup.decide.risks import find_vulnerability_risk
from fastinstall.setup.plan import Plan


def make_return_plan(plan: Plan, intent: Intent, reasons: Sequence[str], allowed: Iterable[Risk]) -> Plan:
    """Add to a repair's plan the risk of returning to our earlier version, which the user must allow.

    Args:
        plan: a plan that restores the build of the receipt.
        intent: the version that has replaced that build, and how it was installed.
        reasons: why that version cannot be built with the kernels.
        allowed: risks that the user allows for this run.
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
    """Return the error for a repair that can neither build the installed version nor restore ours.

    Args:
        intent: the version that has replaced ours, and requirements of installed packages that ours does not meet.
        reasons: why the installed version cannot be built with the kernels.
        prefix: root of the environment.
    """
    return RefusedError(
        f"{intent.story}; {listing(intent.unmet)}, which the fast build does not meet, "
        f"and {intent.version} cannot be built with the kernels: {listing(reasons)}",
        hint=f"accept stock Pillow: fastinstall guard accept --prefix {quote(prefix)}",
        details=(f"or uninstall what requires it, then: {fix_command(prefix)}",),
    )


def add_version_warning(plan: Plan, intent: Intent | None, receipt: Receipt, recipe: Recipe) -> Plan:
    """Return a repair's plan; add a warning if the user had installed an earlier version by name.

    Args:
        plan: a plan that restores the build of the receipt.
        intent: the version that has replaced that build, and how it was installed; None if no version has replaced it.
        receipt: the receipt of our setup.
        recipe: lists known advisories of versions.
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
