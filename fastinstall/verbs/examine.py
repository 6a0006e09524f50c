"""Examine an environment: observe it, then run the checks; change nothing."""

import contextlib
from collections.abc import Mapping
from dataclasses import field, replace

from fastinstall.core.errors import UsageError
from fastinstall.core.running_probe import RunningProbe
from fastinstall.core.values import immutable
from fastinstall.doctor.registry import check_names, make_context, needs_runtime, report, run_checks
from fastinstall.elf.cpu import Cpu, Host
from fastinstall.model.facts import Environment, Facts, Interpreter, Runtime
from fastinstall.model.finding import EnvironmentReport
from fastinstall.model.recipe import Recipe
from fastinstall.model.request import Request
from fastinstall.observe.observation import Binaries, ObservationRequest, facts_of, read_earlier_receipt
from fastinstall.observe.recipes import read_recorded_recipe, recipe_named
from fastinstall.observe.session import Session


@immutable
class Examination:
    """What to examine, and observations that exist already.

    Attributes:
        checks: the names of the checks to run; empty for all.
        quick: whether to read files only, and run nothing in the target.
        started: the probe that uses the target's PIL, if it is running already.
        hosts: other machines on which the installed code should run; the checks judge it for these machines, too.
        interpreter: the target's Python, or the probe that is observing it; None to observe it.
        cpu: the processor, if it was observed already.
        recipes: name to recipe, for recipes that were read already.
    """

    checks: tuple[str, ...] = ()
    quick: bool = False
    started: RunningProbe[Runtime] | None = None
    hosts: tuple[Host, ...] = ()
    interpreter: Interpreter | RunningProbe[Interpreter] | None = None
    cpu: Cpu | None = None
    recipes: Mapping[str, Recipe] = field(default_factory=dict)


def examine(session: Session, environment: Environment, examination: Examination) -> EnvironmentReport:
    """Observe a target and run the checks.

    Raises:
        UsageError: a check is unknown.
        UndeterminedError: the target cannot be observed.

    Example:
        environment = find_environment(session, NamedTarget(prefix=Path(".venv")))
        report = examine(session, environment, Examination(quick=True))
        print(report.status, [finding.message for finding in report.findings])
    """
    return examine_facts(session, environment, examination)[0]


def examine_facts(
    session: Session, environment: Environment, examination: Examination
) -> tuple[EnvironmentReport, Facts]:
    """Examine an environment as `examine` does, and also return the observed facts.

    Example:
        report, facts = examine_facts(session, environment, Examination())
    """
    asked, started = examination.checks, examination.started
    names = check_names(asked)
    receipt = read_earlier_receipt(environment)
    followed = receipt.recipe if receipt is not None else Request().recipe
    recipe = examination.recipes.get(followed) or read_recorded_recipe(session, environment, receipt)
    binaries = Binaries.DECODED
    if examination.quick:
        # A preloaded library takes precedence, so the core's own entries do not show which libraries will be loaded.
        binaries = Binaries.LINKED if session.variables.get("LD_PRELOAD") else Binaries.CORE
    request = ObservationRequest(
        recipe=recipe,
        runtime=not examination.quick and (started is not None or needs_runtime(asked)),
        started=started,
        binaries=binaries,
        interpreter=examination.interpreter,
        cpu=examination.cpu,
        thorough=not examination.quick,
    )
    facts = facts_of(session, environment, request)
    fork = _find_recipe_of_fork(session, facts, recipe) if receipt is None else None
    if fork is not None:
        recipe, facts = fork, facts_of(session, environment, replace(request, recipe=fork))
    context = make_context(session, facts, receipt, recipe)
    findings = run_checks(replace(context, hosts=examination.hosts), names)
    return report(facts, findings), facts


def _find_recipe_of_fork(session: Session, facts: Facts, recipe: Recipe) -> Recipe | None:
    """Return the fork's recipe, for its advisories, if the installed distribution is a known fork; else None."""
    official = (recipe.name, recipe.source.pypi, recipe.source.base_wheel)
    owners = {owner.distribution.name for owner in facts.stack.owners}.difference(official)
    with contextlib.suppress(UsageError):
        return recipe_named(session, owners.pop()) if len(owners) == 1 else None
    return None
