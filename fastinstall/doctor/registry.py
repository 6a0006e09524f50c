"""The checks of doctor: find them, run them, and sum up their findings.

Each module in `checks` is a check (see `Check`). Checks of other distributions come by the entry points
`fastinstall.checks`; whatever is wrong with one of them is told by a finding that names its distribution. Only those
asked for are imported. A check that crashes becomes a finding.

Nothing here observes, prints or repairs; `verbs.examine` observes and runs them.
"""

import importlib
import pkgutil
from collections.abc import Iterable, Iterator
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING

from fastinstall import __version__
from fastinstall.core.errors import UsageError
from fastinstall.doctor.check_context import CheckContext, FindingFactory
from fastinstall.doctor.remedies import word_command
from fastinstall.model.facts import Environment, Facts
from fastinstall.model.finding import EnvironmentReport, Finding, Remedy, Status
from fastinstall.model.receipt import Receipt
from fastinstall.model.recipe import Recipe
from fastinstall.observe.session import Session

if TYPE_CHECKING:
    from fastinstall.core.extensions import Extension, Ignored

_PACKAGE = "fastinstall.doctor.checks"
_EXTENSIONS = "docs/how-to/extend.md"
_LAST = 1000
_RISING = (Status.OK, Status.HINT, Status.WARNING, Status.ERROR)


class Check:
    """A module that gives findings, as doctor runs it; what it does not declare is usual here.

    Attributes:
        NAME: stable, in kebab case; of ours, the name of the file, with hyphens.
        SUMMARY: what the check says, in one sentence; of ours, the first line of its module.
        NEEDS_RUNTIME: whether it says more when the target's interpreter was executed.
        ORDER: its place in reports, which go from the ground up: the lower comes first; undeclared, after all of ours.
        VERIFIES_SETUP: whether a setup runs it after the swap, and is undone where it finds an error.
        SETUP_REPAIRS: whether a setup may mend its errors, so that `doctor --fix` plans one for them; undeclared, it
            may mend those of our checks.
        distribution: name and version of what brings it; empty for ours.
        description: the docstring of its module, of which its page is made.
    """

    def __init__(self, name: str, module: ModuleType | ImportError, distribution: str = "") -> None:
        declared = vars(module)
        title, _, _ = (module.__doc__ or "").partition("\n")
        undeclared = "Cannot be imported; it comes with" if isinstance(module, ImportError) else "A check of"
        order = declared.get("ORDER")
        self.NAME = name
        self.SUMMARY = str(declared.get("SUMMARY", f"{undeclared} {distribution}." if distribution else title))
        self.NEEDS_RUNTIME = declared.get("NEEDS_RUNTIME") is True
        self.ORDER = order if isinstance(order, int) else _LAST
        self.VERIFIES_SETUP = declared.get("VERIFIES_SETUP") is True
        self.SETUP_REPAIRS = declared.get("SETUP_REPAIRS", not distribution) is True
        self.distribution = distribution
        self.description = module.__doc__ or ""
        self._module = module

    def check(self, context: CheckContext, /) -> Iterator[Finding]:
        """Give the findings of the module, all of them under this check's name.

        Raises:
            ImportError: the module could not be imported.
            TypeError: it gave something else than findings of its own name.
            RuntimeError: it tried to end the program.
        """
        if isinstance(self._module, ImportError):
            raise self._module
        try:
            for finding in self._module.check(context):
                if not isinstance(finding, Finding) or finding.check != self.NAME:
                    raise TypeError(f"it returned {finding!r:.80}, not a finding of {self.NAME!r}")
                yield finding
        except SystemExit as error:
            raise RuntimeError(f"it called sys.exit({error.code!r})") from error


def check_names(asked: Iterable[str] = (), *, foreign: bool = False) -> tuple[str, ...]:
    """Put the names asked for (all, if none) in the order of reports, each once.

    Args:
        asked: names; those of other distributions' checks are known, too.
        foreign: where none is asked for, whether "all" includes the checks of other distributions.

    Raises:
        UsageError: there is no check of that name.
    """
    wanted, own = set(asked), _list_own_checks()
    if not wanted:
        return _sort_checks((*own, *_foreign_checks()) if foreign else own)
    others = wanted.difference(own)
    if others and (unknown := sorted(others.difference(_foreign_checks()))):
        raise _make_unknown_check_error(unknown[0], _sort_checks((*own, *_foreign_checks())))
    return _sort_checks(wanted)


def load_check(name: str) -> Check:
    """Import the module of one check; one of another distribution's that cannot be imported says so when it runs."""
    if name not in _list_own_checks():
        return _foreign_checks()[name]
    return Check(name, importlib.import_module(f"{_PACKAGE}.{name.replace('-', '_')}"))


def needs_runtime(asked: Iterable[str] = ()) -> bool:
    """Tell whether the target's interpreter has to be executed for these checks."""
    return any(load_check(name).NEEDS_RUNTIME for name in check_names(asked))


def verifying_checks() -> tuple[str, ...]:
    """Return the checks of fastinstall by which a setup is verified."""
    return tuple(name for name in check_names() if load_check(name).VERIFIES_SETUP)


def foreign_verifying_checks() -> tuple[str, ...]:
    """Return the checks of other distributions that say that they verify a setup."""
    return tuple(name for name in _sort_checks(_foreign_checks()) if load_check(name).VERIFIES_SETUP)


def run_checks(context: CheckContext, names: Iterable[str] = ()) -> tuple[Finding, ...]:
    """Run the checks asked for (all, if none), in the order of reports; one that raises is a finding.

    Raises:
        UsageError: there is no check of that name.
    """
    return tuple(finding for name in check_names(names) for finding in _run(context, load_check(name)))


def ignored_findings() -> tuple[Finding, ...]:
    """Tell of the checks of other distributions that do not run because their names are taken."""
    return tuple(
        Finding(
            check="extensions",
            status=Status.WARNING,
            message=f"the check {ignored}",
            remedy=Remedy(text=f"have its authors rename it, or remove {ignored.extension.distribution}"),
            link=_EXTENSIONS,
        )
        for ignored in _choose_extensions()[1]
    )


def report(environment: Environment, findings: Iterable[Finding]) -> EnvironmentReport:
    """Sum up: the status of a report is the gravest of its findings'."""
    found = tuple(findings)
    status = select_gravest_status(finding.status for finding in found)
    return EnvironmentReport(environment=environment, status=status, findings=found)


def select_gravest_status(statuses: Iterable[Status]) -> Status:
    """Select the gravest of several verdicts; ok if there are none."""
    return max(statuses, key=lambda status: (status.gravity, status in _RISING), default=Status.OK)


@cache
def _list_own_checks() -> frozenset[str]:
    modules = pkgutil.iter_modules(importlib.import_module(_PACKAGE).__path__)
    return frozenset(module.name.replace("_", "-") for module in modules)


def _choose_extensions() -> "tuple[tuple[Extension, ...], tuple[Ignored, ...]]":
    """Choose the checks of other distributions that count, and those whose names are taken."""
    from fastinstall.core import extensions  # noqa: PLC0415 (a quick doctor has no time to look for them)

    return extensions.choose(extensions.find_installed_extensions(extensions.CHECKS), _list_own_checks())


def _foreign_checks() -> dict[str, Check]:
    return {extension.name: _load_foreign_check(extension) for extension in _choose_extensions()[0]}


@cache
def _load_foreign_check(extension: "Extension") -> Check:
    try:
        return Check(extension.name, extension.load(), extension.distribution)
    except ImportError as error:
        return Check(extension.name, error, extension.distribution)


def _sort_checks(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(names, key=lambda name: (load_check(name).ORDER, name)))


def _make_unknown_check_error(name: str, known: tuple[str, ...]) -> UsageError:
    from difflib import get_close_matches  # noqa: PLC0415 (only where somebody mistyped)

    close = get_close_matches(name, known, n=1)
    meant = f"did you mean `fastinstall doctor {close[0]}`? " if close else ""
    return UsageError(f"there is no check {name!r}", hint=f"{meant}the checks are: {', '.join(known)}")


def _run(context: CheckContext, check: Check) -> Iterator[Finding]:
    try:
        yield from check.check(context)
    except Exception as error:  # noqa: BLE001 (whatever it is, the other checks must still speak)
        yield _report_crash(context, check, f"{type(error).__name__}: {error}")


def _report_crash(context: CheckContext, check: Check, reason: str) -> Finding:
    if brought := check.distribution:
        remedy = Remedy(text=f"this is a defect of {brought}: report it to its authors, or remove it")
        message, evidence, link = f"the check of {brought} failed: {reason}", (brought,), _EXTENSIONS
        return Finding(
            check=check.NAME, status=Status.CRASHED, message=message, evidence=evidence, remedy=remedy, link=link
        )
    return FindingFactory(check.NAME).say(
        Status.CRASHED,
        f"the check itself failed: {reason}",
        evidence=(f"fastinstall {context.tool_version}",),
        remedy=Remedy(
            text="this is a defect of fastinstall; report it with the facts",
            command=word_command(context, "inspect --redact"),
        ),
    )


def judge_facts(
    session: Session, facts: Facts, receipt: Receipt | None, recipe: Recipe, checks: tuple[str, ...]
) -> EnvironmentReport:
    """Run checks on facts that were observed already."""
    return report(facts.environment, run_checks(make_context(session, facts, receipt, recipe), checks))


def make_context(session: Session, facts: Facts, receipt: Receipt | None, recipe: Recipe) -> CheckContext:
    """Return what checks get: facts, receipt and recipe, with the session's day and this tool's version."""
    return CheckContext(
        facts=facts, receipt=receipt, recipe=recipe, today=session.now().date(), tool_version=__version__
    )
