"""Collect and sum up doctor's reports from many machines.

The summary counts hosts by status, lists the findings that they share, and names the hosts without a usable report.
From each report, it uses only the status and the findings that are not ok, without their evidence.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from enum import StrEnum
from operator import attrgetter
from pathlib import Path

from fastinstall.core.codec import decode
from fastinstall.core.errors import DocumentError, UsageError
from fastinstall.core.parsing import json_data
from fastinstall.core.values import immutable
from fastinstall.fleet.hosts import HostDocument, describe_problem, identify_host, parse_document, read_documents
from fastinstall.fleet.wheel_choice import DAY, format_quantity
from fastinstall.model.finding import EnvironmentReport, Finding, Remedy, Status, Survey
from fastinstall.model.stored_documents import refuse_other_schema
from fastinstall.observe.session import Session


class Absence(StrEnum):
    """Why a host has no usable report."""

    OLD = "old"
    UNREADABLE = "unreadable"
    """Its file is not a report of doctor, is damaged, or is from a later fastinstall."""
    UNOBSERVABLE = "unobservable"
    """Doctor ran on the host, but could not examine the environment."""


@immutable
class Unreported:
    """A host without a usable report.

    Attributes:
        host: the host's name, from its report or, if that is unreadable, from the file's name.
        absence: the kind of reason, in one word.
        reason: why the host has no usable report, in a sentence.
        hint: how to get a report.
        file: path of the unusable report; empty if the reason does not concern one file.
    """

    host: str
    absence: Absence
    reason: str
    hint: str
    file: str = ""


@immutable
class SharedFinding:
    """A finding that one or more hosts have.

    Attributes:
        check: stable name of the check.
        status: the verdict, the same on all hosts.
        message: the message, the same on all hosts; "PREFIX" replaces the environment's path.
        hosts: names of the hosts, in alphabetical order.
        remedy: the remedy in the first report with this finding, with "PREFIX" as in `message`; None if there is none.
        link: URL of a page that explains the finding.
    """

    check: str
    status: Status
    message: str
    hosts: tuple[str, ...]
    remedy: Remedy | None = None
    link: str = ""


@immutable
class HostReport:
    """The parts of one host's report that the summary uses.

    Attributes:
        host: the host's name, as its report gives it.
        status: the gravest status of the host's environments.
        findings: the findings that are neither ok nor skipped; each has this host alone in `hosts`.
        written: when the report was written, in seconds since the epoch.
        unobservable: "PREFIX: reason" for each environment that could not be examined.
    """

    host: str
    status: Status
    findings: tuple[SharedFinding, ...]
    written: float
    unobservable: tuple[str, ...] = ()


@immutable
class Collected:
    """The state of many machines.

    Attributes:
        summary: one line with the number of hosts of each status.
        status: the gravest status of all hosts; a host without a usable report counts as `unknown`.
        hosts: names of hosts by status, the gravest status first; statuses that no host has are absent.
        findings: findings that are not ok, the gravest first; of equally grave ones, that of the most hosts first.
        unreported: hosts without a usable report, sorted by name.
    """

    summary: str
    status: Status
    hosts: dict[str, tuple[str, ...]]
    findings: tuple[SharedFinding, ...] = ()
    unreported: tuple[Unreported, ...] = ()


_SURVEY = "fastinstall.doctor-all/1"
_ERROR = "fastinstall.error/1"
_FINE = (Status.OK, Status.SKIPPED)
_HINT = "write it again on that host: fastinstall doctor --json > HOST.json"


def collect(session: Session, place: Path, max_age: float | None = None) -> Collected:
    """Sum up the reports of many machines.

    Args:
        session: provides the clock.
        place: a directory of reports.
        max_age: days after which a report is too old to count; None for no limit.

    Raises:
        UsageError: the directory cannot be listed, or has no reports.
    """
    reports: list[HostReport] = []
    unreported: list[Unreported] = []
    for document in read_documents(place, "--collect"):
        try:
            read = read_report(document)
        except DocumentError as error:
            read = Unreported(
                host=document.name,
                absence=Absence.UNREADABLE,
                reason=describe_problem(error),
                hint=error.hint or _HINT,
                file=document.file,
            )
        if isinstance(read, HostReport):
            reports.append(read)
        elif read is not None:
            unreported.append(read)
    if not reports and not unreported:
        hint = "on each host: fastinstall doctor --json > HOST.json"
        raise UsageError(f"--collect {place}: no reports there", hint=hint)
    now = session.now().timestamp()
    return sum_up(reports, unreported, oldest=None if max_age is None else now - max_age * DAY, now=now)


def read_report(document: HostDocument) -> HostReport | Unreported | None:
    """Read one host's report; return None if the document is about many hosts.

    Returns:
        An `Unreported` if doctor failed on that host.

    Raises:
        DocumentError: the document is not a report of doctor, is damaged, or has another schema.
    """
    fields = parse_document(document, json_data)
    if fields is None:
        return None
    schema, (name, written) = fields.get("schema"), identify_host(fields, document)
    if schema == _ERROR:
        message, hint = fields.get("message"), fields.get("hint")
        if not isinstance(message, str):
            raise DocumentError(document.file, "message", "expected a sentence")
        return Unreported(
            host=name,
            absence=Absence.UNOBSERVABLE,
            reason=f"doctor failed there: {message}",
            hint=hint if isinstance(hint, str) else _HINT,
            file=document.file,
        )
    if schema == _SURVEY:
        survey = decode(Survey, fields, file=document.file, strict=False)
    else:
        refuse_other_schema("doctor", schema, file=document.file, version="")
        report = decode(EnvironmentReport, fields, file=document.file, strict=False)
        survey = Survey(status=report.status, reports=(report,))
    told = ((each, report) for report in survey.reports for each in report.findings if each.status not in _FINE)
    return HostReport(
        host=name,
        status=survey.status,
        findings=tuple(_share_finding(each, report, name) for each, report in told),
        written=written,
        unobservable=tuple(f"{each.prefix}: {each.problem}" for each in survey.unobservable),
    )


def _share_finding(finding: Finding, report: EnvironmentReport, host: str) -> SharedFinding:
    """Return a finding with "PREFIX" for the environment's path, so that hosts with other paths can share it."""
    prefix, remedy = str(report.environment.prefix), finding.remedy
    if remedy is not None:
        command = remedy.command and _generalize(remedy.command, prefix)
        remedy = replace(remedy, text=_generalize(remedy.text, prefix), command=command)
    message = _generalize(finding.message, prefix)
    return SharedFinding(
        check=finding.check, status=finding.status, message=message, hosts=(host,), remedy=remedy, link=finding.link
    )


def _generalize(text: str, prefix: str) -> str:
    return text.replace(prefix, "PREFIX") if len(prefix) > 1 else text


def sum_up(
    reports: Sequence[HostReport], unreported: Iterable[Unreported], *, oldest: float | None, now: float
) -> Collected:
    """Count hosts by status, and group the findings that they share.

    Args:
        reports: reports in any order; a host with several counts once, with the gravest status.
        unreported: hosts whose documents gave no report.
        oldest: a time in seconds since the epoch; reports written earlier are too old. None for no limit.
        now: the current time in seconds since the epoch, to say in messages how old a report is.
    """
    current = [report for report in reports if oldest is None or report.written >= oldest]
    hosts: dict[str, Status] = {}
    for report in current:
        hosts[report.host] = max(hosts.get(report.host, report.status), report.status, key=_compute_weight)
    silent = [*unreported, *_list_silent(reports, current, now)]
    by_status: dict[str, list[str]] = {}
    for name, status in sorted(hosts.items(), key=lambda item: (-item[1].gravity, item[1].value, item[0])):
        by_status.setdefault(status.value, []).append(name)
    counts = ", ".join(f"{len(names):,} {status}" for status, names in by_status.items()) or "none"
    without = len({each.host for each in silent})
    return Collected(
        summary=f"{format_quantity(len(hosts), 'host')} with a report: {counts}; {without:,} without one",
        status=max(
            [*hosts.values(), *([Status.UNKNOWN] if silent else [])], key=_compute_weight, default=Status.UNKNOWN
        ),
        hosts={status: tuple(names) for status, names in by_status.items()},
        findings=_group_findings(current),
        unreported=tuple(sorted(silent, key=lambda each: (each.host, each.reason))),
    )


def _group_findings(reports: Sequence[HostReport]) -> tuple[SharedFinding, ...]:
    alike: dict[tuple[Status, str, str], list[SharedFinding]] = {}
    for report in reports:
        for finding in report.findings:
            alike.setdefault((finding.status, finding.check, finding.message), []).append(finding)
    shared = [
        replace(found[0], hosts=tuple(sorted({host for each in found for host in each.hosts})))
        for found in alike.values()
    ]
    return tuple(
        sorted(shared, key=lambda each: (-each.status.gravity, -len(each.hosts), each.status, each.check, each.message))
    )


def _list_silent(reports: Iterable[HostReport], current: Iterable[HostReport], now: float) -> Iterator[Unreported]:
    """Yield an entry for each environment that could not be examined, and for each host that has only old reports."""
    for report in current:
        for reason in report.unobservable:
            yield Unreported(host=report.host, absence=Absence.UNOBSERVABLE, reason=reason, hint=_HINT)
    known = {report.host for report in current}
    latest = {report.host: report for report in sorted(reports, key=attrgetter("written"))}
    for host, report in latest.items():
        if host not in known:
            age = (now - report.written) / DAY
            reason = f"its report ({report.status}) is {age:.0f} days old"
            yield Unreported(host=host, absence=Absence.OLD, reason=reason, hint=_HINT)


def _compute_weight(status: Status) -> tuple[int, bool]:
    """Return a sort key by gravity; a verdict ranks above an equally grave `crashed`, `unknown` or `skipped`."""
    return status.gravity, status in {Status.ERROR, Status.WARNING, Status.HINT, Status.OK}
