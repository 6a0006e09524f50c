"""Find the risks that a user must allow by name, warnings about versions, and reasons to refuse a repair. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import PurePath

from fastinstall.core.errors import RefusedError
from fastinstall.core.messages import fix_command, listing, quote
from fastinstall.core.version_numbers import base_version, is_version, parse_version_number
from fastinstall.doctor.intent import InstallRequest, Intent, VersionOrder
from fastinstall.index.upgrades import advise_instead_of_risk, forecast_upgrade
from fastinstall.model.advisories import (
    Advisory,
    count_by_severity,
    find_returning_advisories,
    select_applicable_advisories,
    select_critical_advisories,
    select_pixel_changes,
)
from fastinstall.model.facts import InstalledStack, Interpreter
from fastinstall.model.receipt import Receipt
from fastinstall.model.recipe import Recipe
from fastinstall.model.request import PlanRisk, Request, Risk
from fastinstall.setup.plan import Plan


def find_version_risks(
    recipe: Recipe, stack: InstalledStack, version: str, interpreter: Interpreter
) -> tuple[PlanRisk, ...]:
    """Return the risks of installing a version: it may be older or more vulnerable than the installed one.

    Args:
        recipe: lists known advisories.
        stack: the installed Pillow, which would be replaced.
        version: the version of the source to build.
        interpreter: the target's Python, which limits the safer versions to suggest.
    """
    found, installed = list[PlanRisk](), _installed_version(stack)
    if installed and parse_version_number(base_version(installed)) > parse_version_number(base_version(version)):
        returning = find_returning_advisories(
            recipe.advisories, installed, version, installed_kernels=_has_kernels(stack)
        )
        summary = f"{version} is older than the installed Pillow {installed}"
        if returning:
            summary += f", and brings back {_name_number(returning)} ({_count_advisories(returning)})"
        items = tuple(f"{advisory.id} ({advisory.severity}): {advisory.summary}" for advisory in returning)
        found.append(PlanRisk(risk=Risk.DOWNGRADE, summary=summary, items=items))
    kernels = bool(recipe.expect.symbols)
    vulnerable = find_vulnerability_risk(recipe, version, kernels=kernels)
    if vulnerable is not None and not _is_no_worse_than_installed(recipe, stack, version):
        grave = select_critical_advisories(recipe.advisories, version, kernels=kernels)
        view = forecast_upgrade(grave, version, interpreter, stack.dependants)
        instead = advise_instead_of_risk(view, recipe.name, Request().recipe)
        found.append(replace(vulnerable, instead=instead))
    return tuple(found)


def explain_installed_vulnerability(recipe: Recipe, stack: InstalledStack, version: str) -> tuple[str, ...]:
    """Return a warning if a version is vulnerable, but no more than the installed one; else an empty tuple."""
    plan_risk = find_vulnerability_risk(recipe, version, kernels=bool(recipe.expect.symbols))
    if plan_risk is None or not _is_no_worse_than_installed(recipe, stack, version):
        return ()
    return (f"{plan_risk.summary}; the installed Pillow {stack.version} has no fewer",)


def find_vulnerability_risk(recipe: Recipe, version: str, *, kernels: bool) -> PlanRisk | None:
    """Return the risk of installing a version with critical advisories, or None if it has none.

    Args:
        recipe: lists known advisories.
        version: the version to install; "12.1.1.post0" counts as 12.1.1.
        kernels: whether the core of that version has the SIMD kernels.

    Raises:
        ValueError: `version` is not a version (PEP 440).
    """
    found = select_critical_advisories(recipe.advisories, version, kernels=kernels)
    if not found:
        return None
    subject = "1 critical advisory affects" if len(found) == 1 else f"{len(found)} critical advisories affect"
    names = ", ".join(advisory.id for advisory in found)
    return PlanRisk(
        risk=Risk.VULNERABLE,
        summary=f"{subject} Pillow {base_version(version)}: {names}",
        items=tuple(f"{advisory.id} (affects {advisory.affects}): {advisory.summary}" for advisory in found),
    )


def make_consent_hint(risks: Iterable[PlanRisk], allowed: Iterable[Risk]) -> str:
    """Return a hint that names alternatives to the risks, then the flag that accepts the risks by name.

    Args:
        risks: risks that the user has not allowed yet.
        allowed: risks that the user has allowed already; the flag repeats them.
    """
    open_risks = tuple(risks)
    by_name = ",".join((*allowed, *(plan_risk.risk for plan_risk in open_risks)))
    return "; or ".join(
        (*filter(None, (plan_risk.instead for plan_risk in open_risks)), f"accept the risk: --allow {by_name}")
    )


def mark_allowed_risks(risks: Iterable[PlanRisk], allowed: Iterable[Risk]) -> tuple[PlanRisk, ...]:
    """Return all risks; those that the user allows by name are marked as allowed."""
    names = tuple(allowed)
    return tuple(replace(plan_risk, allowed=plan_risk.allowed or plan_risk.risk in names) for plan_risk in risks)


def describe_version_advisories(recipe: Recipe, version: str) -> tuple[str, ...]:
    """Return a sentence about the advisories of a version; empty if it has none."""
    known = select_applicable_advisories(recipe.advisories, version, kernels=bool(recipe.expect.symbols))
    if not known:
        return ()
    what = f"{recipe.source.pypi} {version} has {_name_number(known)} ({_count_advisories(known)})"
    return (f"{what}: fastinstall recipes show {recipe.name}",)


def describe_pixel_changes(recipe: Recipe, stack: InstalledStack, version: str) -> tuple[str, ...]:
    """Return a sentence on how pixels of a version differ from the installed one's; empty if no change is known."""
    installed = _installed_version(stack)
    changes = select_pixel_changes(recipe.pixel_changes, installed, version) if installed else ()
    if not changes:
        return ()
    before, after = base_version(installed), base_version(version)
    releases = dict.fromkeys(each.since for each in changes)
    known = "; ".join(
        f"since {since} {listing(each.summary for each in changes if each.since == since)}" for since in releases
    )
    return (f"Pillow {after} computes other pixels than the installed {before}: {known}",)


def _is_no_worse_than_installed(recipe: Recipe, stack: InstalledStack, version: str) -> bool:
    """Return whether a version has at most as many critical advisories as the installed one."""
    installed = _installed_version(stack)
    if not installed:
        return False
    present = select_critical_advisories(recipe.advisories, installed, kernels=_has_kernels(stack))
    coming = select_critical_advisories(recipe.advisories, version, kernels=bool(recipe.expect.symbols))
    return len(coming) <= len(present)


def _installed_version(stack: InstalledStack) -> str:
    return stack.version if stack.version is not None and is_version(stack.version) else ""


def _has_kernels(stack: InstalledStack) -> bool:
    return stack.core is not None and bool(stack.core.simd_symbols)


def _name_number(advisories: Sequence[Advisory]) -> str:
    return "1 known advisory" if len(advisories) == 1 else f"{len(advisories)} known advisories"


def _count_advisories(advisories: Iterable[Advisory]) -> str:
    return ", ".join(f"{number} {severity}" for severity, number in count_by_severity(advisories).items())


def make_return_plan(plan: Plan, intent: Intent, reasons: Sequence[str], allowed: Iterable[Risk]) -> Plan:
    """Return a repair's plan with a risk that the user must allow: going back to our earlier version.

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
        intent: the version that has replaced ours, and the installed packages' requirements that ours does not meet.
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
    """Return a repair's plan, with a warning if it replaces an older version that the user had requested by name.

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
