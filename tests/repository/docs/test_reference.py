"""The generated pages in docs/reference agree with the code."""

import re
from pathlib import Path

import pytest
import write_reference
from render_command_line import DOCUMENTS, EXIT_CODES, render_cli

from fastinstall.core.errors import ExitCode

ROOT = Path(__file__).parents[3]
REFERENCE = ROOT / "docs" / "reference"


PAGES = write_reference.pages()


def _code() -> str:
    files = [*(ROOT / "fastinstall").rglob("*.py"), *(ROOT / "hooks").rglob("*.py"), ROOT / "bootstrap.sh"]
    return "\n".join(file.read_text(encoding="utf-8") for file in files)


@pytest.mark.parametrize("page", PAGES)
def test_page_is_current(page: str) -> None:
    written = (REFERENCE / page).read_text(encoding="utf-8")
    assert written == PAGES[page], "run: python docs/reference/write_reference.py"


def test_no_page_is_left_over() -> None:
    generated = (file for file in REFERENCE.rglob("*") if file.suffix in (".md", ".json", ".1"))
    written = {file.relative_to(REFERENCE).as_posix() for file in generated}
    assert written == set(PAGES)


def test_every_exit_code_has_a_meaning() -> None:
    assert set(EXIT_CODES) == set(ExitCode)


def test_every_json_document_that_the_code_prints_is_listed() -> None:
    code = _code()
    printed = set(re.findall(r'"fastinstall\.([a-z]+)/1"', code))
    printed |= set(re.findall(r'\b(?:document\(|tell\(context, )"([\w-]+)"', code))
    internal = {"interpreter", "provenance"}  # the probe in the target prints the first; a wheel contains the second
    internal |= {  # documents written to the cache and into journals
        "static",
        "requirements",
        "offered",
        "proof",
        "creation",
        "speed",
        "tree",
    }
    internal |= {"journal"}  # the journal of a transaction
    internal |= {"tool-needs"}  # a document that no code prints
    assert set(DOCUMENTS) - {"error"} <= printed
    assert printed - internal <= set(DOCUMENTS)


def test_every_variable_that_the_code_names_is_on_the_page() -> None:
    named = set(re.findall(r"\bFASTINSTALL_[A-Z][A-Z_]*[A-Z]\b", _code()))
    internal = {"FASTINSTALL_GUARD_ROOT"}  # set by the guard, to mark a tree of processes
    assert {name for name in named - internal if f"`{name}`" not in PAGES["cli.md"]} == set()


def test_every_flag_of_a_verb_is_on_the_page() -> None:
    page = render_cli()
    for flag in ("--new-env DIR", "--fail-on error\\|warning\\|never", "--with-system-deps", "--redact", "--no-color"):
        assert f"`{flag}`" in page
