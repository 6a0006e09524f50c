"""Check files that no other program checks before a release or a bug report depends on them."""

import re
from pathlib import Path

import pytest
from packaging.version import Version

from fastinstall import __version__
from fastinstall.cli.parser import build_parser

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
FORMS = sorted(path for path in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml") if path.name != "config.yml")
_SECTION = re.compile(r"^## \[([^\]]+)\](.*)$", re.MULTILINE)


def test_there_are_workflows_and_forms() -> None:
    assert {"ci.yml", "release.yml"} <= {path.name for path in WORKFLOWS}
    assert {"bug.yml", "slower.yml"} <= {path.name for path in FORMS}


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_every_action_is_pinned_by_commit_and_says_its_tag(workflow: Path) -> None:
    used = re.findall(r"uses: (.*)", workflow.read_text(encoding="utf-8"))
    loose = [each for each in used if not re.fullmatch(r"\./\S+|[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", each)]
    assert used
    assert loose == []


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_grants_nothing_and_each_job_what_it_needs(workflow: Path) -> None:
    head, _, jobs = workflow.read_text(encoding="utf-8").partition("\njobs:\n")
    assert re.search(r"^permissions: \{\}$", head, re.MULTILINE)
    named = re.split(r"^  (?=[\w-]+:$)", jobs, flags=re.MULTILINE)[1:]
    assert [job.partition(":")[0] for job in named if "\n    permissions:\n" not in job] == []


def test_only_one_job_may_write_contents_and_no_secret_is_used() -> None:
    text = "\n".join(path.read_text(encoding="utf-8") for path in WORKFLOWS)
    assert text.count("contents: write") == 1
    assert "secrets." not in text


def test_every_script_that_a_workflow_runs_is_there() -> None:
    text = "\n".join(path.read_text(encoding="utf-8") for path in WORKFLOWS)
    scripts = set(re.findall(r"(?:python|sh) (\.\S+)", text))
    assert scripts == {".github/scripts/release_notes.py", ".github/scripts/sbom.py", ".ci/run"}
    assert [script for script in scripts if not (ROOT / script).is_file()] == []


@pytest.mark.parametrize("form", ["bug.yml", "slower.yml"])
def test_a_report_has_to_bring_facts_and_findings(form: str) -> None:
    parts = (ROOT / ".github" / "ISSUE_TEMPLATE" / form).read_text(encoding="utf-8").split("  - type: ")
    required = [part for part in parts if "required: true" in part]
    for label in ("fastinstall inspect --redact", "fastinstall doctor"):
        assert [part for part in required if f"label: {label}\n" in part] != []


@pytest.mark.parametrize("form", FORMS, ids=lambda path: path.name)
def test_a_form_asks_for_commands_that_there_are(form: Path) -> None:
    for command in re.findall(r"label: fastinstall (?!--version)(.*)", form.read_text(encoding="utf-8")):
        build_parser().parse_args(command.split())


def test_the_changelog_is_never_ahead_of_the_version() -> None:
    sections = _SECTION.findall((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))
    released = [Version(name) for name, _ in sections[1:]]
    assert sections[0] == ("Unreleased", "")
    assert released == sorted(released, reverse=True)
    assert [version for version in released if version > Version(__version__)] == []
    assert [rest for _, rest in sections[1:] if not re.fullmatch(r" - \d{4}-\d{2}-\d{2}", rest)] == []


def test_the_version_stands_in_one_place() -> None:
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8").partition("[project.")[0]
    assert 'dynamic = ["version"]' in project
    assert re.findall(r"^version\s*=", project, re.MULTILINE) == []
