"""Examine one environment or all known ones: observe it, then run the checks; change nothing."""

import contextlib
import os
from collections.abc import Mapping
from dataclasses import field, replace
from pathlib import Path

from fastinstall.core.concurrency import RunningProbe
from fastinstall.core.errors import FastinstallError, RefusedError, UsageError
from fastinstall.core.foreign_code import find_stranger
from fastinstall.core.messages import quote
from fastinstall.core.root_commands import has_sudo
from fastinstall.core.values import immutable
from fastinstall.doctor.registry import (
    check_names,
    make_context,
    needs_runtime,
    report,
    run_checks,
    select_gravest_status,
)
from fastinstall.elf.cpu import Cpu, Host
from fastinstall.journal.layout import RECEIPT
from fastinstall.model.facts import Environment, Facts, Interpreter, Runtime
from fastinstall.model.finding import EnvironmentReport, Status, Survey, Unobservable
from fastinstall.model.recipe import Recipe
from fastinstall.model.request import Request
from fastinstall.observe.cpu import observe_cpu
from fastinstall.observe.environments import has_pillow, list_known_environments, locate
from fastinstall.observe.observation import Binaries, ObservationRequest, facts_of, read_earlier_receipt
from fastinstall.observe.recipes import read_recorded_recipe, recipe_named
from fastinstall.observe.session import Session


@immutable
class Examination:
    """What to examine, and observations that exist already.

    Attributes:
        checks: the names of the checks to run; empty for all.
        quick: whether to read files only, and run nothing in the target.
        started: the running probe that uses the target's PIL; None if none was started.
        hosts: other machines on which the installed code should run; the checks judge it for these machines, too.
        interpreter: the target's Python, or the probe that is observing it; None if it must still be observed.
        cpu: the processor; None if it must still be observed.
        recipes: name to recipe, for recipes that need not be read again.
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


def examine_everywhere(session: Session, examination: Examination) -> Survey:
    """Examine all known environments that have PIL or a receipt, except fastinstall's own environment.

    Args:
        session: variables, directories, clock and event listener of this run.
        examination: what to examine in each environment.

    Raises:
        UsageError: a check is unknown, or the default recipe is missing.

    Example:
        survey = examine_everywhere(session, Examination(quick=True))
        print(survey.status, len(survey.reports))
    """
    check_names(examination.checks)
    cores, usual = len(os.sched_getaffinity(0)), Request().recipe
    cpu = observe_cpu(allowed_cores=cores, tunables=session.variables.get("GLIBC_TUNABLES", ""))
    shared = replace(examination, cpu=cpu, recipes={usual: recipe_named(session, usual)})
    prefixes = list_known_environments(session.variables, session.directories.state)
    worth = [prefix for prefix in prefixes if has_pillow(prefix) or (prefix / RECEIPT).is_file()]
    results = [_examine_environment(session, shared, prefix) for prefix in worth]
    reports = tuple(result for result in results if isinstance(result, EnvironmentReport))
    unobservable = tuple(result for result in results if isinstance(result, Unobservable))
    statuses = (*(report.status for report in reports), *(Status.UNKNOWN for _ in unobservable))
    return Survey(
        status=select_gravest_status(statuses),
        reports=reports,
        unobservable=unobservable,
        without_pil=len(prefixes) - len(worth),
    )


def _examine_environment(
    session: Session, examination: Examination, prefix: Path
) -> EnvironmentReport | Unobservable | None:
    """Return the report on an environment, or why it was not examined; None for fastinstall's own environment."""
    if stranger := find_stranger(prefix):
        problem = f"{stranger} owns files there, and root runs no code of other users; examine it as that user"
        by_sudo = f"sudo -u {quote(stranger)} " if has_sudo(session.variables) else ""
        command = f"{by_sudo}fastinstall doctor --prefix {quote(prefix)}"
        told = f"{problem}: {command}; or trust it, and name it with --prefix"
        return Unobservable(prefix=prefix, problem=told)
    try:
        environment = locate(prefix, None, session.variables, session.tool_prefix)
        return examine(session, environment, examination)
    except RefusedError:
        return None
    except FastinstallError as error:
        return Unobservable(prefix=prefix, problem=error.message)
    except Exception as error:  # noqa: BLE001 (the other environments are still examined)
        said = f"{type(error).__name__}: {error}".splitlines()[0]
        return Unobservable(prefix=prefix, problem=f"examining it crashed, a bug in fastinstall: {said}")


def _find_recipe_of_fork(session: Session, facts: Facts, recipe: Recipe) -> Recipe | None:
    """Return the recipe of the installed fork of Pillow, for its advisories; None if no known fork is installed."""
    official = (recipe.name, recipe.source.pypi, recipe.source.base_wheel)
    owners = {owner.distribution.name for owner in facts.stack.owners}.difference(official)
    with contextlib.suppress(UsageError):
        return recipe_named(session, owners.pop()) if len(owners) == 1 else None
    return None
