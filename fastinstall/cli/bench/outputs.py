"""The page that `bench --html` writes: refused before the measurement where it cannot be written, written after it."""

import os
from pathlib import Path

from fastinstall.bench.report import BenchReport
from fastinstall.core.errors import UsageError
from fastinstall.core.home import expand_home


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
    from fastinstall.cli.bench.html_page import bench_html  # noqa: PLC0415 (jinja2, only with --html)
    from fastinstall.core.files import write_bytes  # noqa: PLC0415 (likewise)

    try:
        write_bytes(path, bench_html(report).encode("utf-8", "backslashreplace"))
    except OSError as error:
        raise _make_unwritable_error(path, error.strerror or str(error)) from None


def _make_unwritable_error(path: Path, problem: str) -> UsageError:
    return UsageError(f"--html {path}: {problem}", hint="name a file that can be written")
