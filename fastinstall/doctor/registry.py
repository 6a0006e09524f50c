"""The checks of doctor: find them, run them, and sum up their findings.

Each module in `checks` whose name has no leading underscore is a check (see `Check`); the others are shared by checks.
Checks of other distributions are found by entry points. Only those asked for are imported. A check that crashes becomes
a finding.

Nothing here observes, prints or repairs.
"""

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Protocol, cast

from fastinstall.core.errors import UsageError
from fastinstall.doctor.check_context import CheckContext, FindingFactory
from fastinstall.doctor.remedies import command
from fastinstall.model.finding import EnvironmentReport, Finding, Remedy, Status
from fastinstall.model.request import Environment

if TYPE_CHECKING:
    from fastinstall.core.extensions import Ignored
    from fastinstall.doctor.foreign_checks import ForeignCheck

_PACKAGE = "fastinstall.doctor.checks"


class Check(Protocol):
    """What a module of this package is.

    Attributes:
        NAME: stable, in kebab case; the module's name with hyphens.
        SUMMARY: what the check says, in one sentence.
        NEEDS_RUNTIME: whether it says more when the target's interpreter was executed.
        ORDER: its place in reports, which go from the ground up: the lower comes first.
        VERIFIES_SETUP: whether a setup runs it after the swap, and is undone where it finds an error.
        SETUP_REPAIRS: whether a setup may mend its errors, so that `doctor --fix` plans one for them.
    """

    NAME: str
    SUMMARY: str
    NEEDS_RUNTIME: bool
    ORDER: int
    VERIFIES_SETUP: bool
    SETUP_REPAIRS: bool

    def check(self, context: CheckContext, /) -> Iterable[Finding]:
        """Give at least one finding, all of them under this check's name."""
        ...


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
        return _sort_checks((*own, *foreign_checks()) if foreign else own)
    others = wanted.difference(own)
    if others and (unknown := sorted(others.difference(foreign_checks()))):
        raise _make_unknown_check_error(unknown[0], _sort_checks((*own, *foreign_checks())))
    return _sort_checks(wanted)


def load_check(name: str) -> Check:
    """Import the module of one check; of another distribution's, what stands for it and never fails to be imported."""
    if name not in _list_own_checks():
        return foreign_checks()[name]
    module = importlib.import_module(f"{_PACKAGE}.{name.replace('-', '_')}")
    return cast("Check", module)


def needs_runtime(asked: Iterable[str] = ()) -> bool:
    """Tell whether the target's interpreter has to be executed for these checks."""
    return any(load_check(name).NEEDS_RUNTIME for name in check_names(asked))


def verifying_checks() -> tuple[str, ...]:
    """The checks of fastinstall by which a setup is verified."""
    return tuple(name for name in check_names() if load_check(name).VERIFIES_SETUP)


def foreign_verifying_checks() -> tuple[str, ...]:
    """Those of other distributions that say that a setup is to be verified by them."""
    return tuple(name for name in _sort_checks(foreign_checks()) if load_check(name).VERIFIES_SETUP)


def foreign_checks() -> "dict[str, ForeignCheck]":
    """The checks of other distributions, by name."""
    from fastinstall.doctor import foreign_checks  # noqa: PLC0415 (a quick doctor has no time to look for them)

    return foreign_checks.foreign_checks(_list_own_checks())


def ignored_checks() -> "tuple[Ignored, ...]":
    """The checks of other distributions whose names are taken."""
    from fastinstall.doctor import foreign_checks  # noqa: PLC0415 (likewise)

    return foreign_checks.ignored_checks(_list_own_checks())


@cache
def _list_own_checks() -> frozenset[str]:
    package = importlib.import_module(_PACKAGE)
    modules = (module.name for module in pkgutil.iter_modules(package.__path__))
    return frozenset(module.replace("_", "-") for module in modules if not module.startswith("_"))


def _sort_checks(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(names, key=lambda name: (load_check(name).ORDER, name)))


def _make_unknown_check_error(name: str, known: tuple[str, ...]) -> UsageError:
    from difflib import get_close_matches  # noqa: PLC0415 (only where somebody mistyped)

    close = get_close_matches(name, known, n=1)
    meant = f"did you mean `fastinstall doctor {close[0]}`? " if close else ""
    return UsageError(f"there is no check {name!r}", hint=f"{meant}the checks are: {', '.join(known)}")


OnCrash = Callable[[str, Exception], None]
"""Told the name of a check and what it raised, for the log."""

_DEFECT = "this is a defect of fastinstall; report it with the facts"
_EXTENSIONS = "docs/how-to/extend.md"
_RISING = (Status.OK, Status.HINT, Status.WARNING, Status.ERROR)


def run_checks(
    context: CheckContext, names: Iterable[str] = (), on_crash: OnCrash | None = None
) -> tuple[Finding, ...]:
    """Run the checks asked for (all, if none), in the order of reports.

    Args:
        context: what they look at.
        names: of the checks.
        on_crash: told of every check that raised, after which the next one runs.

    Raises:
        UsageError: there is no check of that name.
    """
    return tuple(finding for name in check_names(names) for finding in _run(context, name, on_crash))


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
        for ignored in ignored_checks()
    )


def report(environment: Environment, findings: Iterable[Finding]) -> EnvironmentReport:
    """Sum up: the status of a report is the gravest of its findings'."""
    found = tuple(findings)
    return EnvironmentReport(
        environment=environment, status=select_gravest_status(finding.status for finding in found), findings=found
    )


def select_gravest_status(statuses: Iterable[Status]) -> Status:
    """The gravest of several verdicts; ok where there are none."""
    return max(statuses, key=_compute_weight, default=Status.OK)


def _run(context: CheckContext, name: str, on_crash: OnCrash | None) -> Iterator[Finding]:
    try:
        yield from load_check(name).check(context)
    except Exception as error:  # noqa: BLE001 (whatever it is, the other checks must still speak)
        if on_crash is not None:
            on_crash(name, error)
        yield _report_crash(context, name, error)


def _report_crash(context: CheckContext, name: str, error: Exception) -> Finding:
    reason = f"{type(error).__name__}: {error}"
    distribution = getattr(load_check(name), "distribution", "")
    if distribution:
        return _report_foreign_crash(name, distribution, reason)
    return FindingFactory(name).crashed(
        f"the check itself failed: {reason}",
        evidence=(f"fastinstall {context.tool_version}",),
        remedy=Remedy(text=_DEFECT, command=command(context, "inspect --redact")),
    )


def _report_foreign_crash(name: str, distribution: str, reason: str) -> Finding:
    return Finding(
        check=name,
        status=Status.CRASHED,
        message=f"the check of {distribution} failed: {reason}",
        evidence=(distribution,),
        remedy=Remedy(text=f"this is a defect of {distribution}: report it to its authors, or remove it"),
        link=_EXTENSIONS,
    )


def _compute_weight(status: Status) -> tuple[int, bool]:
    return status.gravity, status in _RISING
