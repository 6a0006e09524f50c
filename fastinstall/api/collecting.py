"""The state of many machines, by reports of doctor that were collected from them."""

from collections.abc import Iterator
from pathlib import Path

from fastinstall.api.session import Session
from fastinstall.errors import DocumentError, UsageError
from fastinstall.model.codec import open_document
from fastinstall.model.collected import Collected, HostReport, Unreported
from fastinstall.model.fleet import Fleet, FleetHost
from fastinstall.model.immutable import immutable
from fastinstall.model.parsing import json_data
from fastinstall.probes.host_documents import document_files
from fastinstall.probes.host_facts import read_hosts
from fastinstall.probes.host_reports import read_reports
from fastinstall.rules.collecting import sum_up
from fastinstall.rules.fleet_refusals import DAY
from fastinstall.system import foreign

FLEET_FILE = "fleet.json"
_HINT = "name a wheelhouse of build --hosts, its fleet.json, or a directory of facts files"


@immutable
class Collection:
    """What is summed up.

    Attributes:
        reports: a directory of reports, or one file with a document in each line.
        hosts: who should have a report: a directory of facts files, or a file as `build --hosts` writes it; None where
            nobody said.
        max_age: days that a report may be old; None for any age.
    """

    reports: Path
    hosts: Path | None = None
    max_age: float | None = None


def collect(session: Session, collection: Collection) -> Collected:
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
    expected = set(_expected(collection.hosts)) if collection.hosts is not None else set()
    if not reports and not unreported and not expected:
        hint = "on each host: fastinstall doctor --json > HOST.json"
        raise UsageError(f"--collect {collection.reports}: no reports there", hint=hint)
    now = session.now().timestamp()
    oldest = None if collection.max_age is None else now - collection.max_age * DAY
    return sum_up(reports, unreported, expected=expected, oldest=oldest, now=now)


def _expected(place: Path) -> Iterator[str]:
    """The hosts that a wheelhouse's fleet.json serves, or those of facts files."""
    file = place / FLEET_FILE if place.is_dir() else place
    if file.is_file() and file.suffix == ".json":
        yield from (name for artefact in _fleet(file).artefacts for name in artefact.hosts)
        return
    for each in read_hosts(document_files(place, "--hosts")):
        yield each.name if isinstance(each, FleetHost) else each.host


def _fleet(file: Path) -> Fleet:
    try:
        return open_document(Fleet, "fleet", json_data(foreign.read_bytes(file)), file=file)
    except OSError as error:
        raise UsageError(f"--hosts {file}: cannot be read: {error.strerror}", hint=_HINT) from None
    except ValueError as error:
        raise DocumentError(file, "", f"is no JSON: {error}", hint=_HINT) from None
