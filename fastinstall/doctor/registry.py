"""The checks of doctor: find them, run them, and sum up their findings.

Each module in `checks` is a check (see `Check`). Only those asked for are imported. A check that crashes becomes a
finding.

Nothing here observes, prints or repairs; `verbs.examine` observes and runs them.
"""

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Iterator
from functools import cache

from fastinstall import __version__
from fastinstall.core.errors import UsageError
from fastinstall.core.values import immutable
from fastinstall.doctor.check_context import CheckContext
from fastinstall.doctor.remedies import word_command
from fastinstall.model.facts import Facts
from fastinstall.model.finding import EnvironmentReport, Finding, FindingFactory, Remedy, Status
from fastinstall.model.receipt import Receipt
from fastinstall.model.recipe import Recipe
from fastinstall.observe.session import Session

_PACKAGE = "fastinstall.doctor.checks"
_RISING = (Status.OK, Status.HINT, Status.WARNING, Status.ERROR)


@immutable
class Check:
    """A module that gives findings. Undeclared constants of the module have defaults.

    Attributes:
        name: stable, in kebab case: the name of the file, with hyphens.
        description: the docstring of the module, which becomes its page.
        order: the place in reports, from the ground up.
        needs_runtime: whether it says more when the target's interpreter was executed.
        verifies_setup: whether a setup runs it after the swap, and is undone if it finds an error.
        setup_repairs: whether a setup may mend its errors, so that `doctor --fix` plans one for them.
        check: yields its findings.
    """

    name: str
    description: str
    order: int
    needs_runtime: bool
    verifies_setup: bool
    setup_repairs: bool
    check: Callable[[CheckContext], Iterator[Finding]]

    @property
    def summary(self) -> str:
        """The first line of the module."""
        return self.description.partition("\n")[0]


def check_names(asked: Iterable[str] = ()) -> tuple[str, ...]:
    """Put the names asked for (all, if none) in the order of reports, each once.

    Raises:
        UsageError: there is no check of that name.
    """
    wanted, known = set(asked), _list_checks()
    if unknown := sorted(wanted - known):
        raise _make_unknown_check_error(unknown[0], _sort_checks(known))
    return _sort_checks(wanted or known)


def load_check(name: str) -> Check:
    """Import the module of one check."""
    module = importlib.import_module(f"{_PACKAGE}.{name.replace('-', '_')}")
    return Check(
        name=name,
        description=module.__doc__ or "",
        order=module.ORDER,
        needs_runtime=getattr(module, "NEEDS_RUNTIME", False),
        verifies_setup=getattr(module, "VERIFIES_SETUP", False),
        setup_repairs=getattr(module, "SETUP_REPAIRS", True),
        check=module.check,
    )


def needs_runtime(asked: Iterable[str] = ()) -> bool:
    """Tell whether the target's interpreter has to be executed for these checks."""
    return any(load_check(name).needs_runtime for name in check_names(asked))


def verifying_checks() -> tuple[str, ...]:
    """Return the checks by which a setup is verified."""
    return tuple(name for name in check_names() if load_check(name).verifies_setup)


def run_checks(context: CheckContext, names: Iterable[str] = ()) -> tuple[Finding, ...]:
    """Run the checks asked for (all, if none), in the order of reports; one that raises is a finding.

    Raises:
        UsageError: there is no check of that name.
    """
    return tuple(finding for name in check_names(names) for finding in _run(context, load_check(name)))


def report(facts: Facts, findings: Iterable[Finding]) -> EnvironmentReport:
    """Sum up: the status of a report is the gravest of its findings'."""
    found = tuple(findings)
    status = select_gravest_status(finding.status for finding in found)
    return EnvironmentReport(
        environment=facts.environment, status=status, findings=found, pillow=facts.stack.version or ""
    )


def select_gravest_status(statuses: Iterable[Status]) -> Status:
    """Select the gravest of several verdicts; ok if there are none."""
    return max(statuses, key=lambda status: (status.gravity, status in _RISING), default=Status.OK)


@cache
def _list_checks() -> frozenset[str]:
    modules = pkgutil.iter_modules(importlib.import_module(_PACKAGE).__path__)
    return frozenset(module.name.replace("_", "-") for module in modules)


def _sort_checks(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(names, key=lambda name: (load_check(name).order, name)))


def _make_unknown_check_error(name: str, known: tuple[str, ...]) -> UsageError:
    from difflib import get_close_matches  # noqa: PLC0415 (only where somebody mistyped)

    close = get_close_matches(name, known, n=1)
    meant = f"did you mean `fastinstall doctor {close[0]}`? " if close else ""
    return UsageError(f"there is no check {name!r}", hint=f"{meant}the checks are: {', '.join(known)}")


def _run(context: CheckContext, check: Check) -> Iterator[Finding]:
    try:
        yield from check.check(context)
    except Exception as error:  # noqa: BLE001 (whatever it is, the other checks must still speak)
        text = "this is a defect of fastinstall; report it with the facts"
        yield FindingFactory(check.name).say(
            Status.CRASHED,
            f"the check itself failed: {type(error).__name__}: {error}",
            evidence=(f"fastinstall {context.tool_version}",),
            remedy=Remedy(text=text, command=word_command(context, "inspect --redact")),
        )


def judge_facts(
    session: Session, facts: Facts, receipt: Receipt | None, recipe: Recipe, checks: tuple[str, ...]
) -> EnvironmentReport:
    """Run checks on facts that were observed already."""
    return report(facts, run_checks(make_context(session, facts, receipt, recipe), checks))


def make_context(session: Session, facts: Facts, receipt: Receipt | None, recipe: Recipe) -> CheckContext:
    """Return what checks get: facts, receipt and recipe, with the session's day and this tool's version."""
    today = session.now().date()
    return CheckContext(facts=facts, receipt=receipt, recipe=recipe, today=today, tool_version=__version__)
