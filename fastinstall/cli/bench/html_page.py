"""A bench report as one self-contained HTML page: `page.html.jinja` and `page.css`, filled by jinja2.

Everything that comes from files and other people's metadata is escaped. Tables scroll within their own box, and bars
are inline SVG.

Text has a contrast of at least 4.5 to its background, the line of a bar one of at least 3. Source: WCAG 2.2, 1.4.3 and
1.4.11. The colours of stages are those of Okabe and Ito.
"""

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from fastinstall.bench.bottleneck import list_stage_costs
from fastinstall.bench.report import BenchReport
from fastinstall.cli.bench import tables, words
from fastinstall.cli.console import strip_control_characters


def bench_html(report: BenchReport) -> str:
    """Return the report as an HTML page that needs no other file."""
    loader = FileSystemLoader(Path(__file__).parent)
    jinja = Environment(
        loader=loader,
        autoescape=True,
        finalize=_finalize,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    names = {"words": words, "tables": tables, "list_stage_costs": list_stage_costs}
    return jinja.get_template("page.html.jinja", globals=names).render(report=report)


def _finalize(value: object) -> object:
    """Return text as a page takes it: nothing that would steer a terminal or the direction of writing."""
    return value if hasattr(value, "__html__") else strip_control_characters(str(value))
