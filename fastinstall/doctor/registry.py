"""List the checks of doctor in order, run them, and summarize their findings.

Only the modules of the requested checks are imported. A check that crashes becomes a finding.

This module does not observe, print or repair; `verbs.examine` observes an environment and calls this module.
"""

from collections.abc import Iterable, Iterator
from importlib import import_module
from types import ModuleType

from fastinstall import __version__
from fastinstall.core.errors import UsageError
from fastinstall.core.values import immutable
from fastinstall.doctor.check_context import CheckContext
from fastinstall.doctor.remedies import word_command
from fastinstall.model.facts import Facts
from fastinstall.model.finding import EnvironmentReport, Finding, Remedy, Status
from fastinstall.model.receipt import Receipt
from fastinstall.model.recipe import Recipe
from fastinstall.observe.session import Session

_RISING = (Status.OK, Status.HINT, Status.WARNING, Status.ERROR)


@immutable
class Check:
    """A check: a module of `checks`, whose function `check` yields findings and whose docstring becomes its page.

    Attributes:
        name: name of the module, with hyphens instead of underscores; never changes.
        needs_runtime: whether the check finds more problems if the target's interpreter was executed.
        verifies_setup: whether a setup runs the check after the swap, and is undone if the check reports an error.
        setup_repairs: whether a setup may repair the check's errors, so that `doctor --fix` plans a setup for them.
    """

    name: str
    needs_runtime: bool = False
    verifies_setup: bool = False
    setup_repairs: bool = True

    @property
    def module(self) -> ModuleType:
        """The module, imported on demand."""
        return import_module(f"fastinstall.doctor.checks.{self.name.replace('-', '_')}")

    @property
    def summary(self) -> str:
        """The first line of the module's docstring."""
        return (self.module.__doc__ or "").partition("\n")[0]


CHECKS = {
    check.name: check
    for check in (
        Check(name="environment"),
        Check(name="conda-records"),
        Check(name="cpu-level", needs_runtime=True),
        Check(name="pillow-importable", needs_runtime=True, verifies_setup=True),
        Check(name="pillow-owner", verifies_setup=True),
        Check(name="pillow-files", verifies_setup=True),
        Check(name="simd-active", verifies_setup=True),
        Check(name="build-flags", verifies_setup=True),
        Check(name="isa-compatible", verifies_setup=True),
        Check(name="jpeg-library", needs_runtime=True, verifies_setup=True),
        Check(name="jpeg-duplicates", needs_runtime=True, verifies_setup=True),
        Check(name="libraries-resolve", needs_runtime=True, verifies_setup=True),
        Check(name="features", needs_runtime=True, verifies_setup=True),
        Check(name="operations", needs_runtime=True, verifies_setup=True),
        Check(name="swapped", verifies_setup=True),
        Check(name="interrupted"),
        Check(name="way-back"),
        Check(name="guards"),
        Check(name="advisories", needs_runtime=True),
        Check(name="cuda", setup_repairs=False),
        Check(name="data-loading"),
    )
}
"""All checks by name, in the order of reports: a check comes after the checks whose results explain its own."""


def check_names(asked: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the requested names in the order of reports, each once; all names if none is requested.

    Raises:
        UsageError: there is no check of that name.
    """
    wanted = frozenset(asked)
    if unknown := sorted(wanted - CHECKS.keys()):
        from difflib import get_close_matches  # needed only after a mistyped name

        close = get_close_matches(unknown[0], CHECKS, n=1)
        meant = f"did you mean `fastinstall doctor {close[0]}`? " if close else ""
        raise UsageError(f"there is no check {unknown[0]!r}", hint=f"{meant}the checks are: {', '.join(CHECKS)}")
    return tuple(name for name in CHECKS if name in wanted or not wanted)


def needs_runtime(asked: Iterable[str] = ()) -> bool:
    """Return whether one of the requested checks finds more if the target's interpreter was executed."""
    return any(CHECKS[name].needs_runtime for name in check_names(asked))


def verifying_checks() -> tuple[str, ...]:
    """Return the names of the checks that verify a setup."""
    return tuple(check.name for check in CHECKS.values() if check.verifies_setup)


def run_checks(context: CheckContext, names: Iterable[str] = ()) -> tuple[Finding, ...]:
    """Run the requested checks in the order of reports, or all checks if none is requested.

    An exception in a check becomes a finding, and the other checks still run.

    Raises:
        UsageError: there is no check of that name.
    """
    return tuple(finding for name in check_names(names) for finding in _run(context, CHECKS[name]))


def report(facts: Facts, findings: Iterable[Finding]) -> EnvironmentReport:
    """Return the report of an environment; its status is the gravest status of the findings."""
    found = tuple(findings)
    status = select_gravest_status(finding.status for finding in found)
    return EnvironmentReport(
        environment=facts.environment, status=status, findings=found, pillow=facts.stack.version or ""
    )


def select_gravest_status(statuses: Iterable[Status]) -> Status:
    """Return the gravest of several statuses; OK if there are none."""
    return max(statuses, key=lambda status: (status.gravity, status in _RISING), default=Status.OK)


def _run(context: CheckContext, check: Check) -> Iterator[Finding]:
    try:
        for finding in check.module.check(context):
            yield finding.by(check.name)
    except Exception as error:  # noqa: BLE001 (after any exception, the other checks must still run)
        text = "this is a defect of fastinstall; report it with the facts"
        yield Finding.of(
            Status.CRASHED,
            f"the check itself failed: {type(error).__name__}: {error}",
            evidence=(f"fastinstall {context.tool_version}",),
            remedy=Remedy(text=text, command=word_command(context, "inspect --redact")),
        ).by(check.name)


def judge_facts(
    session: Session, facts: Facts, receipt: Receipt | None, recipe: Recipe, checks: tuple[str, ...]
) -> EnvironmentReport:
    """Run checks on facts that are already observed, and return their report."""
    return report(facts, run_checks(make_context(session, facts, receipt, recipe), checks))


def make_context(session: Session, facts: Facts, receipt: Receipt | None, recipe: Recipe) -> CheckContext:
    """Return the input of checks: facts, receipt, recipe, the session's date and this fastinstall's version."""
    today = session.now().date()
    return CheckContext(facts=facts, receipt=receipt, recipe=recipe, today=today, tool_version=__version__)
