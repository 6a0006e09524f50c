"""Examine an environment: observe, then check. Changes nothing."""

from dataclasses import dataclass

from fastinstall import __version__
from fastinstall.api.observing import facts_of, receipt_of, recipe_named
from fastinstall.api.session import Session
from fastinstall.model.environment import Environment
from fastinstall.model.facts import Facts, Runtime
from fastinstall.model.finding import Report
from fastinstall.model.receipt import Receipt
from fastinstall.model.recipe import Recipe
from fastinstall.model.wish import Wish
from fastinstall.probes.concurrently import Running
from fastinstall.rules.checks import CheckContext, check_names, needs_runtime, report, run_checks


@dataclass(frozen=True, slots=True, kw_only=True)
class Examination:
    """What to examine.

    Attributes:
        checks: names; empty for all.
        quick: from files alone; nothing runs in the target.
        started: the use of the target's PIL, where it is under way already.
    """

    checks: tuple[str, ...] = ()
    quick: bool = False
    started: Running[Runtime] | None = None


def examine(session: Session, environment: Environment, examination: Examination) -> Report:
    """Observe a target and run the checks.

    Raises:
        UsageError: there is no check of that name.
        UndeterminedError: the target cannot be observed.
        DocumentError: its receipt is malformed.
    """
    names = check_names(examination.checks)
    receipt = receipt_of(environment)
    recipe = recipe_named(session, receipt.recipe if receipt is not None else Wish().recipe)
    runtime = examination.started or (not examination.quick and needs_runtime(names))
    return judge(session, facts_of(session, environment, recipe, runtime=runtime), receipt, recipe, names)


def judge(session: Session, facts: Facts, receipt: Receipt | None, recipe: Recipe, checks: tuple[str, ...]) -> Report:
    """Run checks on facts that were observed already."""
    context = CheckContext(
        facts=facts, receipt=receipt, recipe=recipe, today=session.now().date(), tool_version=__version__
    )
    return report(facts.environment, run_checks(context, checks))
