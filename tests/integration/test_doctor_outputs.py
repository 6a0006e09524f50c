"""doctor for machines: --quiet in a line, --junit in a file, of environments that are really there."""

from pathlib import Path
from xml.etree import ElementTree as ET

from support.environments.interpreters import running
from support.environments.site_packages import PIL_FILES, install
from support.sandbox import Sandbox

from fastinstall.core.errors import ExitCode


def test_a_broken_environment_and_one_that_is_gone_are_told_in_a_line_and_in_xml(sandbox: Sandbox) -> None:
    place = "home/.virtualenvs"
    broken = sandbox.venv(running(), tool="uv", name=f"{place}/broken", pip=False)
    install(broken.site_packages, "pillow", "13.0.0", PIL_FILES)  # its core is no ELF file
    gone = sandbox.venv(running(), tool="uv", name=f"{place}/gone", pip=False)
    install(gone.site_packages, "pillow", "13.0.0", PIL_FILES)
    gone.python.unlink()
    gone.python.symlink_to("/nowhere/python3")
    report = sandbox.root / "reports" / "doctor.xml"
    told = sandbox.cli("doctor", "--all", "--quick", "--quiet", "--junit", report)
    assert told.exit_code == ExitCode.FINDINGS
    (line,) = told.stdout.splitlines()
    assert line.startswith(f"{broken.prefix}: error: ")
    assert str(broken.prefix) in line.rpartition("; ")[2]
    assert told.stderr == ""
    suites = {suite.get("name"): suite for suite in _suites(report)}
    assert int(suites[str(broken.prefix)].get("failures", "0")) > 0
    assert suites[str(gone.prefix)].get("skipped") == "1"

    sandboxed = ("--quick", "--quiet", "--prefix")
    assert sandbox.cli("doctor", "environment", *sandboxed, broken.prefix).text == ""
    undetermined = sandbox.cli("doctor", *sandboxed, gone.prefix, "--junit", report)
    assert undetermined.exit_code == ExitCode.UNDETERMINED
    assert [suite.get("errors") for suite in _suites(report)] == ["1"]
    refused = sandbox.cli("doctor", *sandboxed, broken.prefix, "--junit", report.parent)
    assert (refused.exit_code, refused.stdout) == (ExitCode.USAGE, "")
    assert "--junit" in refused.stderr


def _suites(report: Path) -> list[ET.Element]:
    return list(ET.parse(report).getroot())  # noqa: S314 (of our own making)
