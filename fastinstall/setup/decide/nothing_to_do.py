"""Decide whether a setup has anything to do, by comparing a receipt with the facts and the request. Pure.

If only the start-up guard is damaged, the plan renews the guard alone. If anything else is wrong, a complete setup
repairs everything.
"""

from collections.abc import Iterator
from dataclasses import replace

from fastinstall.conda.reinstall import has_channel
from fastinstall.core.messages import listing
from fastinstall.core.version_numbers import base_version, is_version
from fastinstall.doctor.checks.pillow_importable import warn_about_shadows
from fastinstall.guard.pinning import find_pip_pin, wants_pip_pin
from fastinstall.model.conda import CondaInstaller, CondaPackage
from fastinstall.model.conda_packages import GUARD
from fastinstall.model.dependants import is_pinned
from fastinstall.model.facts import Facts
from fastinstall.model.guards import GuardState
from fastinstall.model.receipt import Receipt
from fastinstall.model.recipe import Recipe
from fastinstall.model.request import Request
from fastinstall.setup.decide.conda import is_conda, refuse_unsuited_engine
from fastinstall.setup.decide.levels import choose_levels, is_best_served, list_requested_levels
from fastinstall.setup.decide.protection import refuse_if_protected
from fastinstall.setup.plan import Plan, Skipped, compute_facts_digest
from fastinstall.setup.steps.prove import Verify
from fastinstall.setup.steps.swap import InstallGuard

_SHOWN = 3


def plan_nothing(facts: Facts, recipe: Recipe, request: Request, receipt: Receipt | None) -> Plan | None:
    """Return a plan for a stack that is installed as requested: an empty plan, or one that renews the start-up guard.

    Return None if a setup is needed. Neither an index nor a compiler is needed to decide this.

    Raises:
        RefusedError: the target is protected.
        UsageError: an engine for conda packages is requested outside conda environments.
    """
    refuse_if_protected(facts)
    refuse_unsuited_engine(facts, request)
    if receipt is None:
        return None
    what, guard = f"{receipt.distribution} {receipt.version}", facts.guard
    hidden = warn_about_shadows(facts)
    skipped, summary = "everything", f"nothing to do: {what} is installed and intact"
    if hidden:
        summary = f"nothing to install: {what} is in place and intact, but programs import another PIL"
    guard_step: InstallGuard | None = None
    verify: Verify | None = None
    if explain_needed_setup(facts, recipe, request, receipt) is not None:
        whole = replace(facts, guard=GuardState(installed=True, version=guard.version))
        if not request.guard or explain_needed_setup(whole, recipe, request, receipt) is not None:
            return None
        why = listing(guard.problems) if guard.installed else "it is not installed"
        skipped, summary = "build", f"renew the start-up guard of {what}; the stack itself is intact"
        guard_step = InstallGuard(reason=f"{why}; rewritten for the installed core")
        verify = Verify(checks=("guards",), reason="run doctor's check of the guard; an error undoes the change")
    return Plan(
        environment=facts.environment,
        facts_digest=compute_facts_digest(facts),
        request=request,
        guard=guard_step,
        verify=verify,
        skipped=(Skipped(step=skipped, reason=f"{what} is installed, unchanged since {receipt.created_at}"),),
        warnings=hidden,
        summary=summary,
    )


def explain_needed_setup(facts: Facts, recipe: Recipe, request: Request, receipt: Receipt | None) -> str | None:
    """Return why a setup is needed, or None if the environment is exactly as requested."""
    if receipt is None:
        return "fastinstall has set up nothing here"
    found = (
        _find_conda_changes(facts, receipt),
        _find_changes(facts, receipt),
        _find_request_mismatches(facts, recipe, request, receipt),
        _find_guard_problems(facts, request, receipt),
    )
    return next((reason for reasons in found for reason in reasons), None)


def _find_conda_changes(facts: Facts, receipt: Receipt) -> Iterator[str]:
    """Yield how our conda package has changed since the setup: it was removed or replaced, or its files changed."""
    conda = facts.conda
    if conda is None or receipt.conda is None:
        return
    ours, there = receipt.conda.package, conda.named(receipt.conda.package.name)
    if there is None:
        yield f"conda removed it: {_name_package(ours)} was installed"
    elif there.dist != ours.dist:
        yield f"conda replaced it with {_name_package(there)}"
    changed = [path for each in conda.claims if each.dist == ours.dist for path in (*each.missing, *each.altered)]
    if changed:
        yield f"files of {_name_package(ours)} were changed: {listing(changed[:_SHOWN])}"


def _find_changes(facts: Facts, receipt: Receipt) -> Iterator[str]:
    stack = facts.stack
    if stack.core is None or stack.core.sha256 != receipt.core.sha256:
        yield "Pillow's C extension is not the one that was installed"
    if stack.version != receipt.stack_version:
        yield f"PIL says {stack.version}, but {receipt.stack_version} was installed"
    if [owner.distribution.metadata for owner in stack.owners] != [receipt.metadata]:
        yield "PIL does not belong to the distribution that was installed"
    if any(each.mismatched or each.missing for each in stack.owners) or stack.unclaimed or not stack.has_init:
        yield "files of PIL were changed"
    if stack.hidden:
        yield f"other users may not read {listing(stack.hidden[:_SHOWN])}"
    if stack.of_others:
        yield f"the environment's owner may not replace {listing(stack.of_others[:_SHOWN])}"
    if stack.debris:
        yield f"left over from an interrupted installer: {', '.join(stack.debris)}"
    if facts.interrupted is not None:
        yield f"transaction {facts.interrupted} did not finish"


def _find_request_mismatches(facts: Facts, recipe: Recipe, request: Request, receipt: Receipt) -> Iterator[str]:
    if request.upgrade:
        yield "an upgrade was requested"
    asked = (request.recipe, request.link, request.dist_name)
    if asked != (receipt.recipe, receipt.link, receipt.distribution):
        yield (
            f"requested: {request.recipe} as {request.dist_name} ({request.link}); "
            f"installed: {receipt.recipe} as {receipt.distribution} ({receipt.link})"
        )
    # The stack must be a wheel or conda packages, as requested; the engine that linked the packages does not matter.
    kinds = ("a wheel", "conda packages")
    as_wheel = request.engine is CondaInstaller.PIP
    if is_conda(facts) and as_wheel != (receipt.conda is None):
        yield f"requested: {kinds[not as_wheel]} (--engine {request.engine}); installed: {kinds[as_wheel]}"
    built = receipt.source_version
    if request.version is not None and built != request.version and not _is_labelled(built, request.version):
        yield f"requested: version {request.version}; installed: {built}"
    # If the request names no level, any wheel with the best level for this CPU is accepted.
    chosen = choose_levels(recipe, facts.cpu, request).names
    named = list_requested_levels(request)
    if receipt.levels != chosen and (named or not is_best_served(recipe, facts.cpu, receipt.levels)):
        subject = f"level {chosen[0]} suits" if len(chosen) == 1 else f"levels {listing(chosen)} suit"
        yield f"{subject} this CPU and request; installed: {listing(receipt.levels)}"


def _is_labelled(built: str, asked: str) -> bool:
    """Return whether `built` is the labelled version of a ready-made wheel that was built from version `asked`."""
    return "+" in built and is_version(built) and is_version(asked) and base_version(built) == base_version(asked)


def _find_guard_problems(facts: Facts, request: Request, receipt: Receipt) -> Iterator[str]:
    """Yield problems of the requested guard and pin, and of the conda channel that holds our packages."""
    conda, stack, pin = facts.conda, receipt.conda, find_pip_pin(facts)
    if request.guard and (not facts.guard.installed or facts.guard.problems):
        yield "the start-up guard is missing or damaged"
    if wants_pip_pin(facts, request) and (pin is None or pin.problems):
        yield f"the pin: {pin.problems[0]}" if pin is not None else "the pin is missing"
    if conda is None or stack is None:
        return
    there = conda.named(GUARD)
    if request.guard and there is None:
        yield "the guard package is missing"
    if request.guard and there is not None and (stack.guard is None or there.dist != stack.guard.dist):
        yield f"another guard package is installed: {_name_package(there)}"
    if request.pin and not is_pinned(conda, stack.package):
        yield "the pin is missing"
    if not has_channel(conda, stack, facts.environment.prefix):
        yield "its channel is no longer registered for the environment"


def _name_package(package: CondaPackage) -> str:
    return f"{package.name} {package.version} {package.build}"
