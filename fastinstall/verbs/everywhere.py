"""Examine all environments known from receipts or registries (`doctor --all`); change nothing."""

import os
from dataclasses import replace
from pathlib import Path

from fastinstall.core.errors import FastinstallError, RefusedError
from fastinstall.core.foreign_code import find_stranger
from fastinstall.core.messages import quote
from fastinstall.core.root_commands import has_sudo
from fastinstall.doctor.registry import check_names, select_gravest_status
from fastinstall.journal.layout import RECEIPT
from fastinstall.model.finding import EnvironmentReport, Status, Survey, Unobservable
from fastinstall.model.request import Request
from fastinstall.observe.cpu import observe_cpu
from fastinstall.observe.environments import has_pillow, list_known_environments, locate
from fastinstall.observe.recipes import recipe_named
from fastinstall.observe.session import Session
from fastinstall.verbs.examine import Examination, examine


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
