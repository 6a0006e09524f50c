"""Reports of doctor from many hosts: of each document of `doctor --json` what counts for a summary.

That is the status of each environment and every finding that is not ok, read by the codec of the model. Evidence, and
what was expected and observed, are left to the document itself.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path, PurePath
from typing import Any

from fastinstall.errors import DocumentError
from fastinstall.model.codec import decode
from fastinstall.model.collected import Absence, HostReport, SharedFinding, Unreported
from fastinstall.model.finding import Remedy, Status, Unobservable
from fastinstall.model.immutable import immutable
from fastinstall.model.parsing import json_data
from fastinstall.model.stored import refuse_other_schema
from fastinstall.probes.host_documents import LARGEST, HostDocument, error_in, moment_in, name_in, read_documents

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
    fields = _parsed(document)
    schema = str(fields.get("schema"))
    if schema.startswith(_OF_MANY):
        return None
    try:
        if schema == _ERROR:
            return _failed(fields, document)
        if schema == _SURVEY:
            return _host(decode(_Survey, _named(fields), file="", strict=False), fields, document)
        refuse_other_schema("doctor", fields.get("schema"), file="", version="")
        report = decode(_Report, _named(fields), file="", strict=False)
        return _host(_Survey(status=report.status, reports=(report,)), fields, document)
    except DocumentError as error:
        raise DocumentError(document.file, error.key, error.problem, hint=error.hint) from None


def _parsed(document: HostDocument) -> dict[str, Any]:
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


def _named(fields: dict[str, Any]) -> dict[str, Any]:
    """The document with those of its findings that are not fine; most are, and would take most of the time."""
    if isinstance(fields.get("reports"), list):
        return {**fields, "reports": [_named(each) if isinstance(each, dict) else each for each in fields["reports"]]}
    if isinstance(fields.get("findings"), list):
        told = [each for each in fields["findings"] if not isinstance(each, dict) or each.get("status") not in _FINE]
        return {**fields, "findings": told}
    return fields


def _host(survey: _Survey, fields: dict[str, Any], document: HostDocument) -> HostReport:
    name = name_in(fields, document)
    return HostReport(
        host=name,
        status=survey.status,
        findings=tuple(_shared(each, report, name) for report in survey.reports for each in report.findings),
        written=moment_in(fields, document),
        unobservable=tuple(f"{each.prefix}: {each.problem}" for each in survey.unobservable),
    )


def _shared(finding: _Finding, report: _Report, host: str) -> SharedFinding:
    prefix, remedy = str(report.environment.prefix), finding.remedy
    if remedy is not None:
        command = _general(remedy.command, prefix) if remedy.command is not None else None
        remedy = Remedy(text=_general(remedy.text, prefix), command=command, risk=remedy.risk)
    message = _general(finding.message, prefix)
    return SharedFinding(check=finding.check, status=finding.status, message=message, hosts=(host,), remedy=remedy)


def _general(text: str, prefix: str) -> str:
    """What is the same for hosts whose environments lie elsewhere."""
    return text.replace(prefix, "PREFIX") if len(prefix) > 1 else text


def _failed(fields: dict[str, Any], document: HostDocument) -> Unreported:
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
