"""Write every generated page of docs/reference: run it after changing what they tell."""  # noqa: INP001 (a script, no package)

import sys
from pathlib import Path

from fastinstall.cli.man import render_man
from fastinstall.cli.page import Page
from fastinstall.cli.reference import DOCUMENTS, render_cli
from fastinstall.cli.reference_pages import render_exit_codes, render_settings
from fastinstall.cli.render import finding_text
from fastinstall.model.reference import render_recipes
from fastinstall.model.reference_documents import render_documents
from fastinstall.model.schemas import schema_files
from fastinstall.rules.checks import CheckContext, check_names, run_checks
from fastinstall.rules.checks._reference import check_page, render_reference
from fastinstall.system.files import write_text

_TESTS = Path(__file__).parents[2] / "tests"
_WIDTH = 118


def pages() -> dict[str, str]:
    """Path below docs/reference to content."""
    schemas = {f"schemas/{name}": content for name, content in schema_files().items()}
    examples = _examples()
    checks = {f"checks/{name}.md": check_page(name, examples.get(name, "")) for name in check_names()}
    return {
        "cli.md": render_cli(),
        "fastinstall.1": render_man(),
        "checks.md": render_reference(),
        **checks,
        "recipes.md": render_recipes(),
        "exit-codes.md": render_exit_codes(),
        "settings.md": render_settings(),
        "documents.md": render_documents(DOCUMENTS),
        **schemas,
    }


def _examples() -> dict[str, str]:
    """A finding of each check, of the test case that says to be its example, as doctor prints it."""
    sys.path.insert(0, str(_TESTS))
    try:
        from check_cases import case_files, load_case  # noqa: PLC0415 (from the directory put there just now)
    finally:
        sys.path.remove(str(_TESTS))
    cases = [case for case in map(load_case, case_files()) if case.example_of]
    return {case.example_of: _gravest(case.example_of, case.context) for case in cases}


def _gravest(name: str, context: CheckContext) -> str:
    findings = run_checks(context, (name,))
    return finding_text(max(findings, key=lambda finding: finding.status.gravity), Page(width=_WIDTH))


if __name__ == "__main__":
    for name, content in pages().items():
        path = Path(__file__).parent / name
        path.parent.mkdir(exist_ok=True)
        write_text(path, content)
