"""Files that `bench` writes: refused before the measurement where they cannot be written, written after it."""

import importlib.util
import os
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path

from fastinstall.bench.report import BenchReport
from fastinstall.cli.bench.csv_table import bench_csv
from fastinstall.core.errors import UsageError
from fastinstall.core.values import immutable


@immutable
class Outputs:
    """Where the results go, besides stdout.

    Attributes:
        csv: the table; None for none.
        chart: the picture; None for none.
        html: the page; None for none.
    """

    csv: Path | None = None
    chart: Path | None = None
    html: Path | None = None


def outputs_of(arguments: Namespace) -> Outputs:
    """What the flags ask for.

    Raises:
        UsageError: a file that cannot be written, a picture of another kind, or no matplotlib for a picture.
    """
    found = Outputs(
        csv=_parse_output_path("--csv", arguments.csv),
        chart=_parse_output_path("--chart", arguments.chart),
        html=_parse_output_path("--html", arguments.html),
    )
    if found.chart is not None:
        _refuse_chart(arguments.chart, found.chart)
    _refuse_twice([each for each in (found.csv, found.chart, found.html) if each is not None])
    return found


def write_outputs(report: BenchReport, outputs: Outputs, tell: Callable[[str], None]) -> None:
    """Write what was asked for, each file whole or not at all.

    Args:
        report: what was measured.
        outputs: where it goes.
        tell: hears the path of each.

    Raises:
        UsageError: a file could not be written.
    """
    for flag, path, make in _list_outputs(outputs):
        if path is not None:
            _write(flag, path, make(report))
            tell(f"{flag}: {path}")


def _list_outputs(outputs: Outputs) -> tuple[tuple[str, Path | None, Callable[[BenchReport], bytes]], ...]:
    return (
        ("--csv", outputs.csv, _render_csv),
        ("--chart", outputs.chart, _render_chart),
        ("--html", outputs.html, _render_html),
    )


def _render_csv(report: BenchReport) -> bytes:
    return bench_csv(report).encode("utf-8", "backslashreplace")


def _render_chart(report: BenchReport) -> bytes:
    from fastinstall.cli.bench.chart import bench_chart  # noqa: PLC0415 (matplotlib takes half a second)

    return bench_chart(report)


def _render_html(report: BenchReport) -> bytes:
    from fastinstall.cli.bench.html_page import bench_html  # noqa: PLC0415 (only with --html)

    return bench_html(report).encode("utf-8", "backslashreplace")


def _write(flag: str, path: Path, content: bytes) -> None:
    from fastinstall.core.files import write_bytes  # noqa: PLC0415 (only where something is written)

    try:
        write_bytes(path, content)
    except OSError as error:
        raise _make_unwritable_error(flag, path, error.strerror or str(error)) from None


def _parse_output_path(flag: str, text: str | None) -> Path | None:
    if not text:
        return None
    path = Path(text).expanduser().absolute()
    _refuse_file(flag, path)
    return path


def _refuse_file(flag: str, path: Path) -> None:
    if os.path.lexists(path) and (path.is_symlink() or not path.is_file()):
        raise _make_unwritable_error(flag, path, "a directory" if path.is_dir() else "no regular file")
    if not path.parent.is_dir():
        raise _make_unwritable_error(flag, path, f"there is no directory {path.parent}")
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise _make_unwritable_error(flag, path, f"{path.parent} cannot be written to")


def _refuse_chart(text: str, path: Path) -> None:
    if path.suffix.lower() != ".png":
        raise UsageError(f"--chart {text}: it is a PNG picture", hint=f"--chart {path.stem}.png")
    if importlib.util.find_spec("matplotlib") is None:
        raise UsageError(
            "--chart needs matplotlib, which is not installed beside fastinstall",
            hint="pip install 'fastinstall[bench]', or --html FILE, which needs nothing",
        )


def _refuse_twice(paths: list[Path]) -> None:
    for path in paths:
        if paths.count(path) > 1:
            raise UsageError(f"{path} is named for two results, and can hold one", hint="give each its own file")


def _make_unwritable_error(flag: str, path: Path, problem: str) -> UsageError:
    return UsageError(f"{flag} {path}: {problem}", hint="name a file that can be written")
