"""Runs checks and sums them up; a check that crashes becomes a finding."""

from collections.abc import Callable, Iterable, Iterator

from fastinstall.model.environment import Environment
from fastinstall.model.finding import Finding, Remedy, Report, Status
from fastinstall.rules.checks._context import CheckContext
from fastinstall.rules.checks._registry import check_names, ignored_checks, load_check
from fastinstall.rules.checks._remedies import command
from fastinstall.rules.checks._voice import Voice

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


def report(environment: Environment, findings: Iterable[Finding]) -> Report:
    """Sum up: the status of a report is the gravest of its findings'."""
    found = tuple(findings)
    return Report(environment=environment, status=gravest(finding.status for finding in found), findings=found)


def gravest(statuses: Iterable[Status]) -> Status:
    """The gravest of several verdicts; ok where there are none."""
    return max(statuses, key=_weight, default=Status.OK)


def _run(context: CheckContext, name: str, on_crash: OnCrash | None) -> Iterator[Finding]:
    try:
        yield from load_check(name).check(context)
    except Exception as error:  # noqa: BLE001 (whatever it is, the other checks must still speak)
        if on_crash is not None:
            on_crash(name, error)
        yield _crashed(context, name, error)


def _crashed(context: CheckContext, name: str, error: Exception) -> Finding:
    reason = f"{type(error).__name__}: {error}"
    distribution = getattr(load_check(name), "distribution", "")
    if distribution:
        return _foreign_crashed(name, distribution, reason)
    return Voice(name).crashed(
        f"the check itself failed: {reason}",
        evidence=(f"fastinstall {context.tool_version}",),
        remedy=Remedy(text=_DEFECT, command=command(context, "inspect --redact")),
    )


def _foreign_crashed(name: str, distribution: str, reason: str) -> Finding:
    return Finding(
        check=name,
        status=Status.CRASHED,
        message=f"the check of {distribution} failed: {reason}",
        evidence=(distribution,),
        remedy=Remedy(text=f"this is a defect of {distribution}: report it to its authors, or remove it"),
        link=_EXTENSIONS,
    )


def _weight(status: Status) -> tuple[int, bool]:
    return status.gravity, status in _RISING
