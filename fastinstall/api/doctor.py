"""Examine an environment: observe, then check. Changes nothing."""

from dataclasses import dataclass, replace

from fastinstall import __version__
from fastinstall.api.observing import facts_of, receipt_of, recipe_named
from fastinstall.api.session import Session
from fastinstall.model.environment import Environment
from fastinstall.model.facts import Facts, Runtime
from fastinstall.model.finding import Report
from fastinstall.model.isa import Host
from fastinstall.model.process import LiveProcess
from fastinstall.model.receipt import Receipt
from fastinstall.model.recipe import Recipe
from fastinstall.model.wish import Wish
from fastinstall.probes.concurrently import Running
from fastinstall.probes.facts import Binaries, ObservationRequest
from fastinstall.rules.checks import CheckContext, check_names, needs_runtime, report, run_checks


@dataclass(frozen=True, slots=True, kw_only=True)
class Examination:
    """What to examine.

    Attributes:
        checks: names; empty for all.
        quick: from files alone; nothing runs in the target.
        started: the use of the target's PIL, where it is under way already.
        hosts: other machines to judge the code for.
        process: a process that runs already, to be judged instead of a fresh one.
    """

    checks: tuple[str, ...] = ()
    quick: bool = False
    started: Running[Runtime] | None = None
    hosts: tuple[Host, ...] = ()
    process: LiveProcess | None = None

    @property
    def executes(self) -> bool:
        """Whether PIL is imported and used for it."""
        return self.process is None and not self.quick and (self.started is not None or needs_runtime(self.checks))

    @property
    def binaries(self) -> Binaries:
        """How deep it looks into extension modules: what costs time is left out of a quick one."""
        return Binaries.LINKED if self.quick else Binaries.DECODED


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
    request = ObservationRequest(
        recipe=recipe,
        runtime=examination.executes,
        started=examination.started,
        binaries=examination.binaries,
        process=examination.process,
    )
    context = _context(session, facts_of(session, environment, request), receipt, recipe)
    return report(environment, run_checks(replace(context, hosts=examination.hosts), names))


def judge(session: Session, facts: Facts, receipt: Receipt | None, recipe: Recipe, checks: tuple[str, ...]) -> Report:
    """Run checks on facts that were observed already."""
    return report(facts.environment, run_checks(_context(session, facts, receipt, recipe), checks))


def _context(session: Session, facts: Facts, receipt: Receipt | None, recipe: Recipe) -> CheckContext:
    return CheckContext(
        facts=facts, receipt=receipt, recipe=recipe, today=session.now().date(), tool_version=__version__
    )
