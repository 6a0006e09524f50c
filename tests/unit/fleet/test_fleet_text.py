"""Fleets and collected reports as text: the essentials are included, and many hosts do not make the text long."""

from pathlib import PurePath

import pytest

from fastinstall.cli.console import Page
from fastinstall.cli.text.fleets import fleet_text, render_collected
from fastinstall.fleet.fleet import Cause, ExcludedHost, Fleet, FleetArtefact, HostGroup
from fastinstall.fleet.reports import Absence, Collected, SharedFinding, Unreported
from fastinstall.model.finding import Remedy, Status
from fastinstall.model.request import Request

MANY = 10_000


def _names(number: int) -> tuple[str, ...]:
    return tuple(f"web{index:05}.example.org" for index in range(number))


def _artefact(number: int, **changes: object) -> FleetArtefact:
    fields: dict[str, object] = {
        "id": "cp311-v2.v3",
        "python": "3.11",
        "implementation": "cpython",
        "abi": "cp311",
        "architecture": "x86_64",
        "libc": "glibc",
        "minimum_glibc": "2.35",
        "levels": ("x86-64-v2", "x86-64-v3"),
        "directory": ".",
        "reason": "the loader takes the best for each CPU",
        "hosts": _names(number),
        **changes,
    }
    return FleetArtefact(**fields)  # type: ignore[arg-type]


def _fleet(number: int, **changes: object) -> Fleet:
    group = HostGroup(
        python="3.11",
        abi="cp311",
        architecture="x86_64",
        libc="glibc",
        libc_version="2.36",
        level="x86-64-v4",
        runs="x86-64-v3",
        artefact="cp311-v2.v3",
        hosts=_names(number),
    )
    left_out = tuple(
        ExcludedHost(host=name, cause=Cause.STALE, reason="it is old", hint="again") for name in _names(number)
    )
    broken = tuple(
        ExcludedHost(host=name, cause=Cause.UNREADABLE, reason=f"character {name}", hint="again")
        for name in _names(number)
    )
    artefacts = (_artefact(number, **changes),)
    return Fleet(
        summary="1 wheel",
        request=Request(),
        groups=(group,) * 200,
        artefacts=artefacts,
        left_out=left_out + broken,
        notes=("mind",),
    )


def test_ten_thousand_hosts_fit_a_screen_or_two() -> None:
    text = fleet_text(_fleet(MANY), Page())
    assert len(text.splitlines()) < 50
    assert max(map(len, text.splitlines())) < 200
    assert "10,000 hosts" in text
    assert f"{', '.join(_names(3))} and 9,997 more" in text
    assert "... and 188 more groups" in text
    assert "stale: 10,000 hosts" in text
    assert "more reasons: --verbose or --json" in text
    assert text.endswith("note: mind\n")


def test_verbose_names_everybody() -> None:
    text = fleet_text(_fleet(50), Page(verbose=True))
    assert "web00049.example.org" in text
    assert "more" not in text


@pytest.mark.parametrize("width", [80, 60])
def test_a_narrow_terminal_breaks_no_row_of_the_table(width: int) -> None:
    text = fleet_text(_fleet(MANY), Page(width=width))
    rows = [line for line in text.splitlines() if "glibc 2.36" in line]
    assert rows
    assert all("more" not in row for row in rows)


def test_a_wheel_is_shown_with_its_file_or_what_prevents_it() -> None:
    made = fleet_text(_fleet(1, wheel="pillow-13.whl"), Page())
    assert "    pillow-13.whl\n" in made
    here = fleet_text(_fleet(1, builder=PurePath("/usr/bin/python3.11")), Page())
    assert "built here with /usr/bin/python3.11" in here
    missing = fleet_text(_fleet(1, problem="no CPython 3.11", hint="name one"), Page())
    assert "no wheel: no CPython 3.11" in missing
    assert "hint: name one" in missing


def test_ten_thousand_reports_fit_a_screen_or_two() -> None:
    remedy = Remedy(text="set it up again", command="fastinstall doctor --fix --prefix PREFIX")
    findings = tuple(
        SharedFinding(
            check="swapped", status=Status.ERROR, message=f"is gone {index}", hosts=_names(MANY), remedy=remedy
        )
        for index in range(100)
    )
    silent = tuple(
        Unreported(host=name, absence=absence, reason=f"why {name}", hint="again")
        for absence in Absence
        for name in _names(MANY)
    )
    collected = Collected(
        summary="none",
        status=Status.ERROR,
        hosts={"error": _names(MANY), "ok": ("fine",)},
        findings=findings,
        unreported=silent,
    )
    text = render_collected(collected, Page())
    assert len(text.splitlines()) < 90
    assert text.splitlines()[0].startswith("error    10,000 hosts  web00000.example.org, ")
    assert text.splitlines()[1] == "ok       1 host"
    assert "... and 85 more findings" in text
    assert "unreadable: 10,000 hosts" in text
    assert text.splitlines()[-1] == "error: none"
