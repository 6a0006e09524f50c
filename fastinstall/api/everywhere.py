"""doctor --all: examine every environment that a receipt or a registry knows. Changes nothing."""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from fastinstall.api.doctor import Examination, Known, examine
from fastinstall.api.observing import recipe_named
from fastinstall.api.session import Session
from fastinstall.errors import FastinstallError, RefusedError
from fastinstall.journal.layout import RECEIPT
from fastinstall.model.finding import Report, Status, Survey, Unobservable
from fastinstall.model.wish import Wish
from fastinstall.probes.cpu import observe_cpu
from fastinstall.probes.environment import locate
from fastinstall.probes.registry import has_pillow, known_environments
from fastinstall.probes.siblings import Siblings
from fastinstall.rules.checks import check_names, gravest
from fastinstall.rules.messages import quote
from fastinstall.system.surroundings import stranger_in
from fastinstall.system.workers import in_processes

_ENOUGH = 8
"""Fewer environments than this are examined sooner than a second process has started."""


def examine_everywhere(session: Session, examination: Examination) -> Survey:
    """Examine all known environments that have PIL or a receipt of ours; the tool's own is none of them.

    Args:
        session: the outside world.
        examination: what to examine in each.

    Raises:
        UsageError: there is no check of that name, or the usual recipe is not there.
    """
    check_names(examination.checks)
    prefixes = known_environments(session.variables, session.directories.state)
    worth = [prefix for prefix in prefixes if has_pillow(prefix) or (prefix / RECEIPT).is_file()]
    results = _results(session, replace(examination, known=_known(session)), worth)
    reports = tuple(result for result in results if isinstance(result, Report))
    unobservable = tuple(result for result in results if isinstance(result, Unobservable))
    statuses = (*(report.status for report in reports), *(Status.UNKNOWN for _ in unobservable))
    return Survey(
        status=gravest(statuses), reports=reports, unobservable=unobservable, without=len(prefixes) - len(worth)
    )


def _known(session: Session) -> Known:
    """What is the same for all of them."""
    usual = Wish().recipe
    cpu = observe_cpu(allowed_cores=_cores(), tunables=session.variables.get("GLIBC_TUNABLES", ""))
    return Known(cpu=cpu, recipes={usual: recipe_named(session, usual)})


def _results(
    session: Session, examination: Examination, prefixes: Sequence[Path]
) -> list[Report | Unobservable | None]:
    siblings = Siblings()

    def work(prefix: Path) -> Report | Unobservable | None:
        return _examined(session, examination, siblings, prefix)

    return in_processes(work, prefixes, count=_cores() if len(prefixes) >= _ENOUGH else 1)


def _examined(
    session: Session, examination: Examination, siblings: Siblings, prefix: Path
) -> Report | Unobservable | None:
    """The report on one environment; None for the tool's own."""
    stranger = stranger_in(prefix)
    if stranger:
        owner = quote(stranger)
        return Unobservable(
            prefix=prefix,
            problem=f"{stranger} keeps files there, and root runs no code of others unasked; examine it as that user: "
            f"sudo -u {owner} fastinstall doctor --prefix {quote(prefix)}; or by name, if its code may be run as root",
        )
    try:
        environment = locate(prefix, None, session.variables, session.tool_prefix)
        known = replace(examination.known, interpreter=siblings.interpreter(environment))
        return examine(session, environment, replace(examination, known=known))
    except RefusedError:
        return None
    except FastinstallError as error:
        return Unobservable(prefix=prefix, problem=error.message)
    except Exception as error:  # noqa: BLE001 (whatever is in one of them, the others are judged)
        said = f"{type(error).__name__}: {error}".splitlines()[0]
        return Unobservable(prefix=prefix, problem=f"examining it crashed, a bug of fastinstall: {said}")


def _cores() -> int:
    return len(os.sched_getaffinity(0))
