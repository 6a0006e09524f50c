"""Decide whether a setup has anything to do, by comparing a receipt with the facts and the request. Pure.

If only the start-up guard is damaged, `plan_guard_alone` renews it alone, and nothing is built or swapped. If anything
else is wrong too, a whole setup mends both.
"""

from dataclasses import replace

from fastinstall.conda.reinstall import has_channel
from fastinstall.core.messages import listing
from fastinstall.core.version_numbers import base_version, is_version
from fastinstall.guard.pip_trap import find_pip_pin, wants_pip_pin
from fastinstall.model.conda import CondaInstaller, CondaPackage
from fastinstall.model.conda_packages import GUARD, is_pinned
from fastinstall.model.facts import Facts, GuardState
from fastinstall.model.receipt import Receipt
from fastinstall.model.recipe import Recipe
from fastinstall.model.request import Request
from fastinstall.plan.conda_steps import is_conda
from fastinstall.plan.level_choice import choose_levels, is_best_served, list_requested_levels
from fastinstall.plan.plan import Plan, Skipped, compute_facts_digest
from fastinstall.steps.install_guard import InstallGuard
from fastinstall.steps.verify import Verify

_SHOWN = 3


def explain_needed_setup(facts: Facts, recipe: Recipe, request: Request, receipt: Receipt | None) -> str | None:
    """Explain why a setup has work to do, or return None if it has none.

    Returns:
        A reason for people, or None if the environment is what the wish asks for, to the byte.
    """
    if receipt is None:
        return "fastinstall has set up nothing here"
    return (
        _find_conda_change(facts, receipt)
        or _find_change(facts, receipt)
        or _find_request_mismatch(facts, recipe, request, receipt)
        or _find_guard_problem(facts, request)
        or _find_conda_guard_problem(facts, request, receipt)
    )


def _find_conda_change(facts: Facts, receipt: Receipt) -> str | None:
    """What conda says has become of the package; the files are looked at by others."""
    conda = facts.conda
    if conda is None or receipt.conda is None:
        return None
    ours, there = receipt.conda.package, conda.named(receipt.conda.package.name)
    if there is None:
        return f"conda has removed it: {_name_package(ours)} was installed"
    if there.dist != ours.dist:
        return f"conda has replaced it: {_name_package(there)}"
    claim = next((claim for claim in conda.claims if claim.dist == ours.dist), None)
    if claim is not None and (claim.missing or claim.altered):
        return f"files of {_name_package(ours)} were changed: {listing((*claim.missing, *claim.altered)[:_SHOWN])}"
    return None


def _find_change(facts: Facts, receipt: Receipt) -> str | None:
    stack = facts.stack
    if stack.core is None or stack.core.sha256 != receipt.core.sha256:
        return "the imaging core is not the one that was installed"
    if stack.version != receipt.stack_version:
        return f"PIL says {stack.version}, but {receipt.stack_version} was installed"
    if [owner.distribution.metadata for owner in stack.owners] != [receipt.metadata]:
        return "the distributions that own PIL are not what was installed"
    if stack.owners[0].mismatched or stack.owners[0].missing or stack.unclaimed or not stack.has_init:
        return "files of PIL were changed"
    if stack.debris:
        return f"left over from an interrupted installer: {', '.join(stack.debris)}"
    return f"transaction {facts.interrupted} did not finish" if facts.interrupted is not None else None


def _find_request_mismatch(facts: Facts, recipe: Recipe, request: Request, receipt: Receipt) -> str | None:
    if request.upgrade:
        return "an upgrade was asked for"
    asked = (request.recipe, request.link, request.dist_name)
    if asked != (receipt.recipe, receipt.link, receipt.distribution):
        return (
            f"asked for {request.recipe} as {request.dist_name} ({request.link}), "
            f"not {receipt.recipe} as {receipt.distribution}"
        )
    # Which engine has linked a package makes no difference to it; whether it is one does.
    kinds = ("a wheel", "conda packages")
    as_wheel = request.engine is CondaInstaller.PIP
    if is_conda(facts) and as_wheel != (receipt.conda is None):
        return f"asked for {kinds[not as_wheel]} (--engine {request.engine}), not {kinds[as_wheel]}"
    built = receipt.source_version
    if request.version is not None and built != request.version and not _is_labelled(built, request.version):
        return f"asked for version {request.version}, not {built}"
    # Where no level is named, any wheel will do that runs on this CPU at its best.
    chosen = choose_levels(recipe, facts.cpu, request).names
    named = list_requested_levels(request)
    if receipt.levels == chosen or (not named and is_best_served(recipe, facts.cpu, receipt.levels)):
        return None
    subject = f"level {chosen[0]} suits" if len(chosen) == 1 else f"levels {listing(chosen)} suit"
    return f"{subject} this CPU and wish, not {listing(receipt.levels)}"


def _is_labelled(built: str, asked: str) -> bool:
    """A wheel of ours that was taken as it is bears a label, and answers to the version that it was built from."""
    return "+" in built and is_version(built) and is_version(asked) and base_version(built) == base_version(asked)


def _find_guard_problem(facts: Facts, request: Request) -> str | None:
    """The start-up guard and the pin of pip, where they are wished."""
    if request.guard and (not facts.guard.installed or facts.guard.problems):
        return "the start-up guard is missing or damaged"
    if not wants_pip_pin(facts, request):
        return None
    pin = find_pip_pin(facts)
    if pin is None:
        return "the pin is missing"
    return f"the pin: {pin.problems[0]}" if pin.problems else None


def _find_conda_guard_problem(facts: Facts, request: Request, receipt: Receipt) -> str | None:
    """The guard package and the pin, where they are wished, and the channel that has the packages."""
    conda, stack = facts.conda, receipt.conda
    if conda is None or stack is None:
        return None
    there = conda.named(GUARD)
    if request.guard and there is None:
        return "the guard package is missing"
    if request.guard and there is not None and (stack.guard is None or there.dist != stack.guard.dist):
        return f"the guard package is another: {_name_package(there)}"
    if request.pin and not is_pinned(conda, stack.package):
        return "the pin is missing"
    registered = has_channel(conda, stack, facts.environment.prefix)
    return None if registered else "its channel is not registered for the environment any more"


def _name_package(package: CondaPackage) -> str:
    return f"{package.name} {package.version} {package.build}"


def plan_guard_alone(facts: Facts, recipe: Recipe, request: Request, receipt: Receipt | None) -> Plan | None:
    """Return a plan that only renews the start-up guard, or None if more has to be done."""
    guard = facts.guard
    whole = replace(facts, guard=GuardState(installed=True, version=guard.version))
    if receipt is None or not request.guard or explain_needed_setup(whole, recipe, request, receipt) is not None:
        return None
    what = f"{receipt.distribution} {receipt.version}"
    why = listing(guard.problems) if guard.installed else "it is not installed"
    return Plan(
        environment=facts.environment,
        facts_digest=compute_facts_digest(facts),
        wish=request,
        steps=(
            InstallGuard(reason=f"{why}: written again for the core in place"),
            Verify(checks=("guards",), reason="the check of doctor that looks at it; an error undoes it"),
        ),
        skipped=(Skipped(step="build", reason=f"{what} is in place, unchanged since {receipt.created_at}"),),
        summary=f"renew the start-up guard of {what}; the stack itself is intact and stays",
    )


def is_for_guard_alone(plan: Plan) -> bool:
    """Whether a plan renews the start-up guard and nothing else."""
    return bool(plan.steps) and all(isinstance(step, InstallGuard | Verify) for step in plan.steps)
