"""The generated pages on the command line and on JSON documents are complete."""

import dataclasses
from functools import partial

import pytest
from published_schemas import SCHEMAS
from render_command_line import DOCUMENTS, REMEDIES, render_cli
from render_documents import render_documents

from fastinstall.cli.options import REQUEST_OPTIONS
from fastinstall.core.errors import ExitCode


def test_every_exit_code_says_what_to_do() -> None:
    assert set(REMEDIES) == set(ExitCode)
    assert all(f"| {int(code)} |" in render_cli() for code in ExitCode)


def test_every_request_has_its_variable_and_key() -> None:
    page = render_cli()
    assert [each.flag for each in REQUEST_OPTIONS if f"| `{each.variable}` | `{each.field}` |" not in page] == []


@pytest.mark.parametrize("name", sorted(set(DOCUMENTS) & set(SCHEMAS)))
def test_every_key_of_a_document_is_told(name: str) -> None:
    make = SCHEMAS[name]
    assert isinstance(make, partial)
    section = render_documents({name: "`verb`"}).partition(f"## {name}\n")[2]
    assert [each.name for each in dataclasses.fields(make.args[0]) if f"| `{each.name}` |" not in section] == []


def test_a_document_without_a_schema_is_listed_all_the_same() -> None:
    page = render_documents({"other": "`verb`"})
    (row,) = (line for line in page.splitlines() if "`fastinstall.other/1`" in line)
    assert row.endswith("| `verb` |")
    assert "## other" not in page
