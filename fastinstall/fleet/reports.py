"""Collect and sum up doctor's reports from many machines.

The summary tells how many are well, which findings they share, and whose state nobody knows. Of each `doctor --json` it
reads the status of each environment and every finding that is not ok, by the codec of the model; evidence, and what was
expected and observed, are left to the document itself.
"""

from collections.abc import Collection as AbcCollection
from collections.abc import Iterable, Iterator
from dataclasses import replace
from enum import StrEnum
from pathlib import Path, PurePath
from typing import Any

from fastinstall.core import foreign
from fastinstall.core.errors import DocumentError, UsageError
from fastinstall.core.parsing import json_data
from fastinstall.core.values import decode, immutable, open_document
from fastinstall.fleet.fleet import Fleet, FleetHost
from fastinstall.fleet.hosts import (
    LARGEST,
    HostDocument,
    document_files,
    error_in,
    moment_in,
    name_in,
    read_documents,
    read_hosts,
)
from fastinstall.fleet.wheel_choice import DAY, format_quantity
from fastinstall.model.finding import Remedy, Status, Unobservable
from fastinstall.model.stored_documents import refuse_other_schema
from fastinstall.observe.session import Session


class Absence(StrEnum):
    """Why a host has no report that counts."""

    MISSING = "missing"
    """It is expected, and there is none."""
    OLD = "old"
    UNREADABLE = "unreadable"
    """Its document is none of doctor's, is damaged, or was written by a later fastinstall."""
    UNOBSERVABLE = "unobservable"
    """Doctor ran there, and could not look at the environment."""


@immutable
class Unreported:
    """A host whose state nobody knows.

    Attributes:
        host: its name.
        absence: in one word.
        reason: in a sentence.
        hint: what to do about it.
        file: its document; empty if there is none.
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
        hosts: their names, sorted.
        remedy: what to do, as one of them says it, with PREFIX likewise; None if nothing is to be done.
    """

    check: str
    status: Status
    message: str
    hosts: tuple[str, ...]
    remedy: Remedy | None = None


@immutable
class HostReport:
    """What counts of the report of one host.

    Attributes:
        host: its name.
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
        summary: one line.
        status: the gravest of the hosts'; one without a report weighs as `unknown`.
        hosts: names by status, the gravest status first; only those that any host has.
        findings: the gravest first, then those of most hosts; what is ok is left out.
        unreported: hosts whose state nobody knows, by name.
        unexpected: hosts with a report that were not expected, where it was said which are.
    """

    summary: str
    status: Status
    hosts: dict[str, tuple[str, ...]]
    findings: tuple[SharedFinding, ...] = ()
    unreported: tuple[Unreported, ...] = ()
    unexpected: tuple[str, ...] = ()


_SURVEY = "fastinstall.doctor-all/1"
_ERROR = "fastinstall.error/1"
_OF_MANY = ("fastinstall.fleet/", "fastinstall.collected/")
_FINE = (Status.OK, Status.SKIPPED)  # not a set: a list in a document's place of a status has no hash
_HINT = "write it again on that host: fastinstall doctor --json > HOST.json"


@immutable
class _Environment:
    """What counts of `model.environment.Environment`."""

    prefix: PurePath


@immutable
class _Finding:
    """What counts of `model.finding.Finding`, field by field as there."""

    check: str
    status: Status
    message: str
    remedy: Remedy | None = None


@immutable
class _Report:
    """What counts of `model.finding.Report`, field by field as there."""

    environment: _Environment
    status: Status
    findings: tuple[_Finding, ...]


@immutable
class _Survey:
    """What counts of `model.finding.Survey`, field by field as there."""

    status: Status
    reports: tuple[_Report, ...]
    unobservable: tuple[Unobservable, ...] = ()


def read_reports(files: Iterable[Path]) -> Iterator[HostReport | Unreported]:
    """The reports of hosts, one at a time; what cannot be read is told with its reason.

    Args:
        files: each a document of `doctor --json`, with or without --all, or with one in each line (`host_documents`).
            Documents of ours that speak of many hosts are passed over.
    """
    for document in read_documents(files):
        try:
            report = read_report(document)
        except DocumentError as error:
            yield Unreported(
                host=document.name,
                absence=Absence.UNREADABLE,
                reason=error_in(error),
                hint=error.hint or _HINT,
                file=document.file,
            )
        else:
            if report is not None:
                yield report


def read_report(document: HostDocument) -> HostReport | Unreported | None:
    """Read what counts from one document, or return None if it covers many hosts.

    Raises:
        DocumentError: it is none, is damaged, or of another schema.
    """
    fields = _parse_document(document)
    schema = str(fields.get("schema"))
    if schema.startswith(_OF_MANY):
        return None
    try:
        if schema == _ERROR:
            return _parse_failure(fields, document)
        if schema == _SURVEY:
            return _parse_host_report(
                decode(_Survey, _drop_fine_findings(fields), file="", strict=False), fields, document
            )
        refuse_other_schema("doctor", fields.get("schema"), file="", version="")
        report = decode(_Report, _drop_fine_findings(fields), file="", strict=False)
        return _parse_host_report(_Survey(status=report.status, reports=(report,)), fields, document)
    except DocumentError as error:
        raise DocumentError(document.file, error.key, error.problem, hint=error.hint) from None


def _parse_document(document: HostDocument) -> dict[str, Any]:
    if document.problem:
        raise DocumentError(document.file, "", document.problem)
    if document.end:
        raise DocumentError(document.file, "", f"larger than {LARGEST >> 20} MiB, which no report is")
    try:
        found = json_data(document.content)
    except ValueError as error:
        problem = f"is no JSON: {error}" if document.content.strip() else "is empty"
        raise DocumentError(document.file, "", problem) from None
    if not isinstance(found, dict):
        raise DocumentError(document.file, "", "expected a table of keys at the top")
    return found


def _drop_fine_findings(fields: dict[str, Any]) -> dict[str, Any]:
    """The document with those of its findings that are not fine; most are, and would take most of the time."""
    if isinstance(fields.get("reports"), list):
        return {
            **fields,
            "reports": [_drop_fine_findings(each) if isinstance(each, dict) else each for each in fields["reports"]],
        }
    if isinstance(fields.get("findings"), list):
        told = [each for each in fields["findings"] if not isinstance(each, dict) or each.get("status") not in _FINE]
        return {**fields, "findings": told}
    return fields


def _parse_host_report(survey: _Survey, fields: dict[str, Any], document: HostDocument) -> HostReport:
    name = name_in(fields, document)
    return HostReport(
        host=name,
        status=survey.status,
        findings=tuple(
            _make_shared_finding(each, report, name) for report in survey.reports for each in report.findings
        ),
        written=moment_in(fields, document),
        unobservable=tuple(f"{each.prefix}: {each.problem}" for each in survey.unobservable),
    )


def _make_shared_finding(finding: _Finding, report: _Report, host: str) -> SharedFinding:
    prefix, remedy = str(report.environment.prefix), finding.remedy
    if remedy is not None:
        command = _generalize(remedy.command, prefix) if remedy.command is not None else None
        remedy = Remedy(text=_generalize(remedy.text, prefix), command=command, risk=remedy.risk)
    message = _generalize(finding.message, prefix)
    return SharedFinding(check=finding.check, status=finding.status, message=message, hosts=(host,), remedy=remedy)


def _generalize(text: str, prefix: str) -> str:
    """What is the same for hosts whose environments lie elsewhere."""
    return text.replace(prefix, "PREFIX") if len(prefix) > 1 else text


def _parse_failure(fields: dict[str, Any], document: HostDocument) -> Unreported:
    message, hint = fields.get("message"), fields.get("hint")
    if not isinstance(message, str):
        raise DocumentError("", "message", "expected a sentence")
    return Unreported(
        host=name_in(fields, document),
        absence=Absence.UNOBSERVABLE,
        reason=f"doctor could not look there: {message}",
        hint=hint if isinstance(hint, str) else _HINT,
        file=document.file,
    )


_SUMMARY_HINT = "examine it and collect its report: fastinstall doctor --json > HOST.json"


def sum_up(
    reports: Iterable[HostReport],
    unreported: Iterable[Unreported],
    *,
    expected: AbcCollection[str],
    oldest: float | None,
    now: float,
) -> Collected:
    """Count hosts by status and gather what they share.

    Args:
        reports: in any order; several of one host count together.
        unreported: hosts whose documents say nothing of their state.
        expected: names of hosts that should have a report; empty if nobody said which.
        oldest: seconds since the epoch; older reports do not count. None counts all.
        now: likewise, for messages.
    """
    told = list(reports)
    current = [report for report in told if oldest is None or report.written >= oldest]
    hosts: dict[str, Status] = {}
    for report in current:
        hosts[report.host] = max(hosts.get(report.host, report.status), report.status, key=_compute_weight)
    silent = [*unreported, *_list_outdated(told, hosts, now)]
    for report in current:
        silent += [_make_unreported(report.host, Absence.UNOBSERVABLE, reason) for reason in report.unobservable]
    missing = set(expected) - hosts.keys() - {each.host for each in silent}
    silent += [_make_unreported(name, Absence.MISSING, "there is no report of it") for name in missing]
    names: dict[str, list[str]] = {}
    for name, status in sorted(hosts.items(), key=lambda item: (-item[1].gravity, item[1].value, item[0])):
        names.setdefault(status.value, []).append(name)
    by_status = {status: tuple(found) for status, found in names.items()}
    statuses = {*hosts.values(), *((Status.UNKNOWN,) if silent else ())}
    return Collected(
        summary=_summarize(by_status, silent),
        status=max(statuses, key=_compute_weight, default=Status.UNKNOWN),
        hosts=by_status,
        findings=_group_findings(current),
        unreported=tuple(sorted(silent, key=lambda each: (each.host, each.reason))),
        unexpected=tuple(sorted(hosts.keys() - set(expected))) if expected else (),
    )


def _group_findings(reports: Iterable[HostReport]) -> tuple[SharedFinding, ...]:
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


def _list_outdated(reports: Iterable[HostReport], current: AbcCollection[str], now: float) -> Iterator[Unreported]:
    """Hosts of which there are old reports only, each by its latest."""
    latest: dict[str, HostReport] = {}
    for report in reports:
        if report.host not in current:
            latest[report.host] = max(latest.get(report.host, report), report, key=lambda each: each.written)
    for host, report in latest.items():
        reason = f"its report ({report.status}) is {(now - report.written) / DAY:.0f} days old"
        yield _make_unreported(host, Absence.OLD, reason)


def _make_unreported(host: str, absence: Absence, reason: str) -> Unreported:
    return Unreported(host=host, absence=absence, reason=reason, hint=_SUMMARY_HINT)


def _summarize(by_status: dict[str, tuple[str, ...]], silent: list[Unreported]) -> str:
    told = [f"{len(names):,} {status}" for status, names in by_status.items()]
    reported = sum(len(names) for names in by_status.values())
    without = len({each.host for each in silent})
    return f"{format_quantity(reported, 'host')} with a report: {', '.join(told) or 'none'}; {without:,} without one"


def _compute_weight(status: Status) -> tuple[int, bool]:
    """By gravity; of two that weigh alike, the one that was determined."""
    return status.gravity, status in {Status.ERROR, Status.WARNING, Status.HINT, Status.OK}


FLEET_FILE = "fleet.json"
_COLLECT_HINT = "name a wheelhouse of build --hosts, its fleet.json, or a directory of facts files"


@immutable
class CollectionRequest:
    """What is summed up.

    Attributes:
        reports: a directory of reports, or one file with a document in each line.
        hosts: who should have a report: a directory of facts files, or a file as `build --hosts` writes it; None if
            nobody said.
        max_age: days that a report may be old; None for any age.
    """

    reports: Path
    hosts: Path | None = None
    max_age: float | None = None


def collect(session: Session, collection: CollectionRequest) -> Collected:
    """Sum up the reports of many machines.

    Raises:
        UsageError: no reports there, or nothing that names hosts.
        DocumentError: a fleet.json that cannot be read.
    """
    reports: list[HostReport] = []
    unreported: list[Unreported] = []
    for each in read_reports(document_files(collection.reports, "--collect")):
        if isinstance(each, HostReport):
            reports.append(each)
        else:
            unreported.append(each)
    expected = set(_list_expected_hosts(collection.hosts)) if collection.hosts is not None else set()
    if not reports and not unreported and not expected:
        hint = "on each host: fastinstall doctor --json > HOST.json"
        raise UsageError(f"--collect {collection.reports}: no reports there", hint=hint)
    now = session.now().timestamp()
    oldest = None if collection.max_age is None else now - collection.max_age * DAY
    return sum_up(reports, unreported, expected=expected, oldest=oldest, now=now)


def _list_expected_hosts(place: Path) -> Iterator[str]:
    """The hosts that a wheelhouse's fleet.json serves, or those of facts files."""
    file = place / FLEET_FILE if place.is_dir() else place
    if file.is_file() and file.suffix == ".json":
        yield from (name for artefact in _read_fleet(file).artefacts for name in artefact.hosts)
        return
    for each in read_hosts(document_files(place, "--hosts")):
        yield each.name if isinstance(each, FleetHost) else each.host


def _read_fleet(file: Path) -> Fleet:
    try:
        return open_document(Fleet, "fleet", json_data(foreign.read_bytes(file)), file=file)
    except OSError as error:
        raise UsageError(f"--hosts {file}: cannot be read: {error.strerror}", hint=_COLLECT_HINT) from None
    except ValueError as error:
        raise DocumentError(file, "", f"is no JSON: {error}", hint=_COLLECT_HINT) from None
