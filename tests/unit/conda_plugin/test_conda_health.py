"""Our lines in `conda doctor`."""

from support.suite.golden import Golden
from support.values.builders import environment

from fastinstall.conda_hooks import _report_lines
from fastinstall.model.finding import EnvironmentReport, Finding, Remedy, Status

IN_PLACE = Finding(
    check="swapped", status=Status.OK, message="pillow 13.0.0+simd.v3 is in place", evidence=("set up: today",)
)
GUARDS = Finding(
    check="guards",
    status=Status.HINT,
    message="no guard is installed",
    remedy=Remedy(text="install the guard", command="fastinstall guard install --prefix /srv/env"),
)
ADVISORIES = Finding(
    check="advisories",
    status=Status.ERROR,
    message="9 known advisories",
    evidence=tuple(f"CVE-{number}" for number in range(9)),
    remedy=Remedy(text="install a later Pillow", command="conda update pillow"),
)


def _lines(*findings: Finding, verbose: bool = False) -> list[str]:
    gravest = max(findings, key=lambda finding: finding.status.gravity).status
    return list(
        _report_lines(EnvironmentReport(environment=environment(), status=gravest, findings=findings), verbose=verbose)
    )


def test_a_healthy_stack_is_one_line(golden: Golden) -> None:
    golden("\n".join(_lines(IN_PLACE, GUARDS)))


def test_what_is_grave_is_told_with_what_to_do(golden: Golden) -> None:
    golden("\n".join(_lines(IN_PLACE, GUARDS, ADVISORIES)))


def test_verbosely_everything_is_told_with_what_it_rests_on_and_commands_work_where_conda_does(golden: Golden) -> None:
    golden("\n".join(_lines(IN_PLACE, GUARDS, ADVISORIES, verbose=True)))
