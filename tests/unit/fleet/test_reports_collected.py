"""Doctor reports from many hosts: read one by one and counted, with common problems grouped."""

import json
from dataclasses import replace
from pathlib import Path, PurePath
from typing import Any

import pytest
from support.suite.golden import Golden
from support.values.builders import healthy_facts
from support.values.sessions import a_session

from fastinstall.core.codec import document
from fastinstall.core.errors import DocumentError
from fastinstall.fleet.hosts import HostDocument
from fastinstall.fleet.reports import Absence, Collected, HostReport, Unreported, collect, read_report, sum_up
from fastinstall.model.finding import EnvironmentReport, Finding, Remedy, Status, Survey, Unobservable

NOW, DAY = 1_763_800_000.0, 86400.0


def _report(prefix: str, *statuses: Status) -> EnvironmentReport:
    findings = tuple(
        Finding(
            check="swapped",
            status=status,
            message=f"{prefix} is {status}",
            evidence=(prefix,),
            remedy=Remedy(text=f"mend {prefix}", command=f"fastinstall doctor --fix --prefix {prefix}"),
        )
        for status in statuses
    )
    environment = replace(healthy_facts().environment, prefix=Path(prefix))
    return EnvironmentReport(
        environment=environment, status=max(statuses, key=lambda each: each.gravity), findings=findings
    )


def _document(name: str, told: object, age: float = 0) -> HostDocument:
    content = told if isinstance(told, str) else json.dumps(told)
    return HostDocument(name=name, file=f"{name}.json", modified=NOW - age * DAY, content=content.encode())


def _host(name: str, *statuses: Status, prefix: str = "/env", age: float = 0) -> HostReport:
    read = read_report(_document(name, document("doctor", _report(prefix, *statuses)), age))
    assert isinstance(read, HostReport)
    return read


def _summed(*reports: HostReport) -> Collected:
    return sum_up(reports, (), oldest=NOW - 7 * DAY, now=NOW)


def test_a_report_keeps_its_overall_status_and_drops_ok_findings() -> None:
    host = _host("web1", Status.OK, Status.ERROR, Status.SKIPPED, Status.HINT)
    assert (host.host, host.status, host.written) == ("web1", Status.ERROR, NOW)
    assert [(each.status, each.message) for each in host.findings] == [
        (Status.ERROR, "PREFIX is error"),
        (Status.HINT, "PREFIX is hint"),
    ]
    remedy = Remedy(text="mend PREFIX", command="fastinstall doctor --fix --prefix PREFIX")
    assert host.findings[0].remedy == remedy


def test_a_survey_counts_as_one_host_with_the_gravest_status() -> None:
    survey = Survey(
        status=Status.ERROR,
        reports=(_report("/a", Status.OK), _report("/b", Status.ERROR)),
        unobservable=(Unobservable(prefix=PurePath("/c"), problem="no such file"),),
    )
    host = read_report(_document("web1", document("doctor-all", survey)))
    assert isinstance(host, HostReport)
    assert (host.status, len(host.findings), host.unobservable) == (Status.ERROR, 1, ("/c: no such file",))
    (silent,) = _summed(host).unreported
    assert (silent.host, silent.absence, silent.reason) == ("web1", Absence.UNOBSERVABLE, "/c: no such file")


def test_a_failed_doctor_is_told_as_what_it_could_not_see() -> None:
    told = {"schema": "fastinstall.error/1", "message": "/env: no such directory", "hint": "name another"}
    found = read_report(_document("web1", {**told, "host": "web9"}))
    assert isinstance(found, Unreported)
    assert (found.host, found.absence, found.hint) == ("web9", Absence.UNOBSERVABLE, "name another")
    assert "/env: no such directory" in found.reason


@pytest.mark.parametrize(
    ("told", "problem"),
    [
        ("", "is empty"),
        ('{"schema": ', "is not JSON"),
        ("[]", "expected a table of keys at the top"),
        ({"schema": "fastinstall.facts/1"}, "schema: expected 'fastinstall.doctor/1'"),
        ({"schema": "fastinstall.doctor/2"}, "written by a later fastinstall"),
        ({"schema": "fastinstall.doctor/1", "status": "ok"}, "environment: missing"),
        ({**document("doctor", _report("/a", Status.OK)), "findings": [{"status": "bad"}]}, "findings[0].status"),
        ({**document("doctor", _report("/a", Status.OK)), "findings": [7]}, "findings[0]: expected a table"),
        (
            {**document("doctor", _report("/a", Status.OK)), "findings": [{"check": "c", "status": [1, "a", []]}]},
            "findings[0].status: [1, 'a', []] is not one of ok, hint",
        ),
        ({**document("doctor-all", Survey(status=Status.OK, reports=())), "reports": [7]}, "reports[0]"),
        ({"schema": "fastinstall.error/1"}, "message: expected a sentence"),
    ],
)
def test_a_document_that_is_none_is_named_with_what_is_wrong(told: object, problem: str) -> None:
    with pytest.raises(DocumentError) as caught:
        read_report(_document("web1", told))
    assert problem in caught.value.message
    assert caught.value.message.startswith("web1.json: ")


def test_documents_that_speak_of_many_hosts_are_passed_over() -> None:
    assert read_report(_document("fleet", {"schema": "fastinstall.fleet/1"})) is None


def test_findings_merge_across_hosts_and_prefixes_worst_first() -> None:
    collected = _summed(
        _host("a", Status.WARNING, prefix="/one"),
        _host("b", Status.WARNING, prefix="/two"),
        _host("c", Status.ERROR, Status.HINT),
        _host("d", Status.OK),
    )
    assert [(each.status, each.message, each.hosts) for each in collected.findings] == [
        (Status.ERROR, "PREFIX is error", ("c",)),
        (Status.WARNING, "PREFIX is warning", ("a", "b")),
        (Status.HINT, "PREFIX is hint", ("c",)),
    ]
    assert collected.hosts == {"error": ("c",), "warning": ("a", "b"), "ok": ("d",)}
    assert list(collected.hosts) == ["error", "warning", "ok"]
    assert (collected.status, collected.unreported) == (Status.ERROR, ())


def test_several_reports_of_one_host_count_as_the_gravest() -> None:
    collected = _summed(_host("a", Status.OK), _host("a", Status.WARNING, prefix="/two"))
    assert collected.hosts == {"warning": ("a",)}


def test_an_old_report_is_ignored_and_its_host_and_age_named(golden: Golden) -> None:
    collected = _summed(_host("a", Status.ERROR, age=8), _host("a", Status.OK, age=30), _host("b", Status.OK, age=6))
    assert collected.hosts == {"ok": ("b",)}
    assert [(each.host, each.absence) for each in collected.unreported] == [("a", Absence.OLD)]
    assert collected.status is Status.UNKNOWN
    golden(collected.unreported[0].reason)


def test_a_name_inside_counts_before_the_files() -> None:
    told: dict[str, Any] = document("doctor", _report("/env", Status.OK))
    host = read_report(_document("web1", {**told, "host": "web7", "observed_at": "2025-11-01T00:00:00+00:00"}))
    assert isinstance(host, HostReport)
    assert (host.host, host.written) == ("web7", 1_761_955_200.0)


def test_reports_are_files_and_an_unreadable_one_is_named(tmp_path: Path) -> None:
    reports = tmp_path / "reports"
    reports.mkdir()
    (reports / "a.json").write_text(json.dumps(document("doctor", _report("/env", Status.OK))))
    (reports / "b.json").write_text("{")
    collected = collect(a_session(tmp_path), reports)
    assert collected.hosts == {"ok": ("a",)}
    assert [(each.host, each.absence) for each in collected.unreported] == [("b", Absence.UNREADABLE)]
    assert collected.status is Status.UNKNOWN
