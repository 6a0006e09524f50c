"""Write every generated page of docs/reference; run this after changing code or docstrings that the pages show."""

import sys
from pathlib import Path

from published_schemas import schema_files
from render_command_line import DOCUMENTS, render_cli, render_man
from render_documents import render_checks, render_documents, render_recipes
from render_modules import render_modules

from fastinstall.cli.console import Page
from fastinstall.cli.text.reports import finding_text
from fastinstall.core.files import write_text
from fastinstall.doctor.check_context import CheckContext
from fastinstall.doctor.registry import run_checks

_TESTS = Path(__file__).parents[2] / "tests"
_WIDTH = 118


def pages() -> dict[str, str]:
    """Return the content of every generated page, by path below docs/reference."""
    schemas = {f"schemas/{name}": content for name, content in schema_files().items()}
    return {
        "cli.md": render_cli(),
        "fastinstall.1": render_man(),
        "checks.md": render_checks(_examples()),
        "recipes.md": render_recipes(),
        "documents.md": render_documents(DOCUMENTS),
        "modules.md": render_modules(),
        **schemas,
    }


def _examples() -> dict[str, str]:
    """Return a finding of each check as doctor prints it, from the test case marked as the check's example."""
    sys.path.insert(0, str(_TESTS))
    try:
        from support.values.check_cases import case_files, load_case  # needs tests/ on sys.path
    finally:
        sys.path.remove(str(_TESTS))
    cases = [case for case in map(load_case, case_files()) if case.example_of]
    return {case.example_of: _gravest(case.example_of, case.context) for case in cases}


def _gravest(name: str, context: CheckContext) -> str:
    findings = run_checks(context, (name,))
    return finding_text(max(findings, key=lambda finding: finding.status.gravity), Page(width=_WIDTH, verbose=True))


if __name__ == "__main__":
    for name, content in pages().items():
        path = Path(__file__).parent / name
        path.parent.mkdir(exist_ok=True)
        write_text(path, content)
