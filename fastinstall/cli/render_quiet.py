"""What `doctor --quiet` says: a line for each environment in which something is wrong, and nothing else.

For cron, whose mail is this line, and for logs of continuous integration. The line is never broken, so that the command
at its end can be pasted.
"""

from collections.abc import Iterable, Iterator

from fastinstall.model.finding import Finding, Report, Status, Unobservable
from fastinstall.rules.messages import quote


def quiet_lines(reports: Iterable[Report], unobservable: Iterable[Unobservable], least: Status) -> Iterator[str]:
    """The lines.

    Args:
        reports: of the environments that were examined.
        unobservable: those that could not be looked at; each weighs as `unknown`.
        least: what is less grave is not told.
    """
    for report in reports:
        told = [finding for finding in report.findings if finding.status.gravity >= least.gravity]
        if told:
            yield _line(report, told)
    for each in unobservable:
        if Status.UNKNOWN.gravity >= least.gravity:
            yield _joined(f"{each.prefix}: {Status.UNKNOWN}: {each.problem}")


def _line(report: Report, told: list[Finding]) -> str:
    prefix = report.environment.prefix
    first = max(told, key=_rank)
    more = f" (and {len(told) - 1} more)" if len(told) > 1 else ""
    command = first.remedy.command if first.remedy is not None else None
    asked = command or f"fastinstall doctor --prefix {quote(prefix)}"
    return _joined(f"{prefix}: {first.status}: {first.check}: {first.message}{more}; {asked}")


def _rank(finding: Finding) -> tuple[int, bool, bool]:
    """The gravest goes first; among those, what a repair puts right, and what tells the cause."""
    command = finding.remedy.command if finding.remedy is not None else None
    return finding.status.gravity, "--fix" in (command or ""), finding.check == "swapped"


def _joined(text: str) -> str:
    return " ".join(text.split())
