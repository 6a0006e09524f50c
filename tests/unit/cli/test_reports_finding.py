"""What doctor prints of one finding: the command to verify it only if the result is bad or unknown."""

from dataclasses import replace

import pytest
from support.suite.golden import Golden

from fastinstall.cli.console import Page
from fastinstall.cli.text.reports import finding_text
from fastinstall.model.finding import Finding, Remedy, Status

COMMAND = (
    "readelf -d /srv/images/env/lib/python3.11/site-packages/PIL/_imaging.cpython-311-x86_64-linux-gnu.so | grep NEEDED"
)
REMEDY = Remedy(text="restore what was set up here", command="fastinstall doctor --fix")
FINDING = Finding(
    check="libraries-resolve",
    status=Status.ERROR,
    message="libtiff.so.6 is not found",
    evidence=("needed by the core",),
    remedy=REMEDY,
    verify=COMMAND,
)

FULL = Page(verbose=True)


@pytest.mark.parametrize("status", [Status.WARNING, Status.ERROR, Status.UNKNOWN])
def test_a_bad_verdict_shows_how_to_verify_it_after_its_evidence(status: Status) -> None:
    lines = finding_text(replace(FINDING, status=status), FULL).splitlines()
    assert [line.strip() for line in lines[1:]] == [
        *FINDING.evidence,
        f"verify: {COMMAND}",
        f"hint: {REMEDY.text}",
        REMEDY.command,
    ]


@pytest.mark.parametrize("status", [Status.OK, Status.HINT, Status.SKIPPED])
def test_what_is_well_enough_is_not_in_need_of_it(status: Status) -> None:
    assert COMMAND not in finding_text(replace(FINDING, status=status), FULL)


def test_a_brief_finding_is_its_message_and_what_to_do(golden: Golden) -> None:
    golden(finding_text(FINDING, Page()))


def test_the_command_is_never_broken_and_is_dim() -> None:
    narrow = finding_text(FINDING, Page(width=60, verbose=True))
    assert f"verify: {COMMAND}\n" in narrow
    assert f"\x1b[2mverify: {COMMAND}\x1b[0m" in finding_text(FINDING, Page(colour=True, verbose=True))
