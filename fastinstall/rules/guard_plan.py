"""The plan for a stack that is whole but for its start-up guard: that alone is renewed, nothing is built or swapped.

Pure. Nothing else may be wrong: whatever a setup would have to do beside it is done by a whole setup, guard included.
"""

from dataclasses import replace

from fastinstall.model.facts import Facts, GuardState
from fastinstall.model.plan import Plan, Skipped
from fastinstall.model.receipt import Receipt
from fastinstall.model.recipe import Recipe
from fastinstall.model.steps import InstallGuard, Verify
from fastinstall.model.wish import Wish
from fastinstall.rules.digest import facts_digest
from fastinstall.rules.messages import listing
from fastinstall.rules.satisfied import unsatisfied

GUARDS = "guards"


def guard_plan(facts: Facts, recipe: Recipe, wish: Wish, receipt: Receipt | None) -> Plan | None:
    """Return a plan that only renews the start-up guard, or None if more has to be done."""
    guard = facts.guard
    whole = replace(facts, guard=GuardState(installed=True, version=guard.version))
    if receipt is None or not wish.guard or unsatisfied(whole, recipe, wish, receipt) is not None:
        return None
    what = f"{receipt.distribution} {receipt.version}"
    why = listing(guard.problems) if guard.installed else "it is not installed"
    return Plan(
        environment=facts.environment,
        facts_digest=facts_digest(facts),
        wish=wish,
        steps=(
            InstallGuard(reason=f"{why}: written again for the core in place"),
            Verify(checks=(GUARDS,), reason="the check of doctor that looks at it; an error undoes it"),
        ),
        skipped=(Skipped(step="build", reason=f"{what} is in place, unchanged since {receipt.created_at}"),),
        summary=f"renew the start-up guard of {what}; the stack itself is intact and stays",
    )


def is_for_guard_alone(plan: Plan) -> bool:
    """Whether a plan renews the start-up guard and nothing else."""
    return bool(plan.steps) and all(isinstance(step, InstallGuard | Verify) for step in plan.steps)
