"""Collect and sum up doctor's reports from many machines.

The summary says how many hosts are healthy, which findings they share, and which reports say nothing. It reads the
status of each environment and every finding that is not ok; evidence stays in the document itself.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from enum import StrEnum
from operator import attrgetter
from pathlib import Path
from typing import Any

from fastinstall.core.codec import decode
from fastinstall.core.errors import DocumentError, UsageError
from fastinstall.core.parsing import json_data
from fastinstall.core.values import immutable
from fastinstall.fleet.hosts import (
    HostDocument,
    describe_problem,
    moment_in,
    name_in,
    parse_document,
    read_documents,
)
from fastinstall.fleet.wheel_choice import DAY, format_quantity
from fastinstall.model.finding import EnvironmentReport, Finding, Remedy, Status, Survey
from fastinstall.model.stored_documents import refuse_other_schema
from fastinstall.observe.session import Session


class Absence(StrEnum):
    """Why a host has no report that counts."""

    OLD = "old"
    UNREADABLE = "unreadable"
    """Its document is not doctor's, is damaged, or is from a later fastinstall."""
    UNOBSERVABLE = "unobservable"
    """Doctor ran there, and could not examine the environment."""


@immutable
class Unreported:
    """A host whose state nobody knows.

    Attributes:
        host: the host's name, as facts files bear it.
        absence: the kind of reason, in one word.
        reason: why there is no report, in a sentence.
        hint: what to do about it.
        file: its document; empty if the host has several.
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
        status: the verdict, the same on all of them.
        message: the same on all of them, with PREFIX for the environment's.
        hosts: names of the hosts, in alphabetical order.
        remedy: what to do, as one of them says it, with PREFIX likewise; None if nothing is to be done.
        link: a page that explains it.
    """

    check: str
    status: Status
    message: str
    hosts: tuple[str, ...]
    remedy: Remedy | None = None
    link: str = ""


@immutable
class HostReport:
    """What counts of the report of one host.

    Attributes:
        host: the host's name, as its document bears it.
        status: the gravest of its environments'.
        findings: those that are not ok, each for this host alone.
        written: when, in seconds since the epoch.
        unobservable: environments of it that could not be looked at, with the reason.
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
        summary: how many hosts have which status, in a line.
        status: the gravest of the hosts'; one without a report weighs as `unknown`.
        hosts: names by status, the gravest status first; only those that any host has.
        findings: the gravest first, then those of most hosts; what is ok is left out.
        unreported: hosts whose state nobody knows, by name.
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
        session: where the clock comes from.
        place: a directory of reports.
        max_age: days that a report may be old; None for any age.

    Raises:
        UsageError: no reports there.
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
    """Read what counts from one document, or return None if it covers many hosts.

    Raises:
        DocumentError: it is none, is damaged, or of another schema.
    """
    fields = parse_document(document, json_data)
    if fields is None:
        return None
    schema = fields.get("schema")
    if schema == _ERROR:
        return _parse_failure(fields, document)
    if schema == _SURVEY:
        survey = decode(Survey, fields, file=document.file, strict=False)
    else:
        refuse_other_schema("doctor", schema, file=document.file, version="")
        report = decode(EnvironmentReport, fields, file=document.file, strict=False)
        survey = Survey(status=report.status, reports=(report,))
    name = name_in(fields, document)
    told = ((each, report) for report in survey.reports for each in report.findings if each.status not in _FINE)
    return HostReport(
        host=name,
        status=survey.status,
        findings=tuple(_share_finding(each, report, name) for each, report in told),
        written=moment_in(fields, document),
        unobservable=tuple(f"{each.prefix}: {each.problem}" for each in survey.unobservable),
    )


def _share_finding(finding: Finding, report: EnvironmentReport, host: str) -> SharedFinding:
    """Return a finding without its environment's path, so that hosts with other paths can share it."""
    prefix, remedy = str(report.environment.prefix), finding.remedy
    if remedy is not None:
        command = remedy.command and _generalize(remedy.command, prefix)
        remedy = Remedy(text=_generalize(remedy.text, prefix), command=command, risk=remedy.risk)
    message = _generalize(finding.message, prefix)
    return SharedFinding(
        check=finding.check, status=finding.status, message=message, hosts=(host,), remedy=remedy, link=finding.link
    )


def _generalize(text: str, prefix: str) -> str:
    return text.replace(prefix, "PREFIX") if len(prefix) > 1 else text


def _parse_failure(fields: dict[str, Any], document: HostDocument) -> Unreported:
    message, hint = fields.get("message"), fields.get("hint")
    if not isinstance(message, str):
        raise DocumentError(document.file, "message", "expected a sentence")
    return Unreported(
        host=name_in(fields, document),
        absence=Absence.UNOBSERVABLE,
        reason=f"doctor failed there: {message}",
        hint=hint if isinstance(hint, str) else _HINT,
        file=document.file,
    )


def sum_up(
    reports: Sequence[HostReport], unreported: Iterable[Unreported], *, oldest: float | None, now: float
) -> Collected:
    """Count hosts by status and gather what they share.

    Args:
        reports: in any order; several of one host count together.
        unreported: hosts whose documents say nothing of their state.
        oldest: seconds since the epoch; older reports do not count. None counts all.
        now: the present, likewise; it dates messages.
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
    """List environments that could not be looked at, and hosts that have old reports only, each by its latest."""
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
    """Rank a status by gravity; of two that weigh alike, the one that was determined comes first."""
    return status.gravity, status in {Status.ERROR, Status.WARNING, Status.HINT, Status.OK}
