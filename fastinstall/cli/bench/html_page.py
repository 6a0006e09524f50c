"""A bench report as one self-contained HTML page: `page.html.jinja` and `page.css`, filled by jinja2.

Everything that comes from files and other people's metadata is escaped. Tables scroll within their own box, and bars
are inline SVG.

Text has a contrast of at least 4.5 to its background, the line of a bar one of at least 3. Source: WCAG 2.2, 1.4.3 and
1.4.11. The colours of stages are those of Okabe and Ito.

A file that cannot be written is refused before the measurement.
"""

import os
from pathlib import Path
from typing import Any

from fastinstall.bench.report import BenchReport
from fastinstall.cli.console import strip_control_characters
from fastinstall.core.errors import UsageError
from fastinstall.core.home import expand_home
from fastinstall.core.messages import format_bytes


def parse_page_path(text: str | None) -> Path | None:
    """Parse where the page goes, or None for nowhere.

    Raises:
        UsageError: it cannot be written there.
    """
    if not text:
        return None
    path = expand_home(text).absolute()
    if os.path.lexists(path) and (path.is_symlink() or not path.is_file()):
        raise _make_unwritable_error(path, "a directory" if path.is_dir() else "no regular file")
    if not path.parent.is_dir():
        raise _make_unwritable_error(path, f"there is no directory {path.parent}")
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise _make_unwritable_error(path, f"{path.parent} cannot be written to")
    return path


def write_page(report: BenchReport, path: Path) -> None:
    """Write the page, whole or not at all.

    Raises:
        UsageError: it could not be written.
    """
    from fastinstall.core.files import write_bytes  # noqa: PLC0415 (only with --html)

    try:
        write_bytes(path, bench_html(report).encode("utf-8", "backslashreplace"))
    except OSError as error:
        raise _make_unwritable_error(path, error.strerror or str(error)) from None


def _make_unwritable_error(path: Path, problem: str) -> UsageError:
    return UsageError(f"--html {path}: {problem}", hint="name a file that can be written")


def bench_html(report: BenchReport) -> str:
    """Return the report as an HTML page that needs no other file."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # noqa: PLC0415 (only with --html)

    from fastinstall.bench.bottleneck import list_stage_costs  # noqa: PLC0415 (likewise)
    from fastinstall.bench.wording import format_rate  # noqa: PLC0415 (likewise)
    from fastinstall.cli.bench import tables, words  # noqa: PLC0415 (likewise)

    loader = FileSystemLoader(Path(__file__).parent)
    jinja = Environment(
        loader=loader,
        autoescape=True,
        finalize=_finalize,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    names: dict[str, Any] = {each.__name__: each for each in (list_stage_costs, format_rate, format_bytes)}
    names |= {"words": words, "tables": tables}
    return jinja.get_template("page.html.jinja", globals=names).render(report=report)


def _finalize(value: object) -> object:
    """Return text as a page takes it: nothing that would steer a terminal or the direction of writing."""
    return value if hasattr(value, "__html__") else strip_control_characters(str(value))
