"""The candidates of `bench --list` as text."""

from collections.abc import Sequence

from fastinstall.api.bench_materials import Known
from fastinstall.cli.page import Page, joined
from fastinstall.cli.render_bench_table import Column, table_lines


def candidates_text(known: Sequence[Known], page: Page) -> str:
    """Every candidate: its name, what it is, the packages that it needs."""
    columns = (
        Column(title="name", figures=False, least=20),
        Column(title="what it is", figures=False, least=20),
        Column(title="needs", figures=False, least=12),
    )
    rows = [(each.name, each.title, ", ".join(each.requirements)) for each in known]
    lines = table_lines(columns, rows, page)
    hint = "what needs packages is measured where they are installed, or with --with NAME, which fetches them for this"
    return joined((*lines, *page.lines(hint, first="  ", rest="  ")))
