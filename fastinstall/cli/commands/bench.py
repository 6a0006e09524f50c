"""`fastinstall bench`: how images are loaded here, what bounds it, and what would help."""

import os
import sys
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fastinstall.bench.report import BenchReport
from fastinstall.cli.bench.bench_request import make_bench_request, pipeline_of
from fastinstall.cli.common import find_target_to_read, progress_for, session_of, tell
from fastinstall.cli.main import Context
from fastinstall.core.errors import ExitCode, FailedError

_ADAPTERS = str(Path(__file__).parents[2] / "bench/adapters")


def run(arguments: Namespace, context: Context) -> int:
    """Measure, and tell it; or name the candidates, or print the code of one."""
    if arguments.list:
        return _list(context)
    if arguments.print_code:
        return _print_code(arguments, context)
    from fastinstall.verbs.measure_loading import bench  # noqa: PLC0415 (not for --list and what is refused)

    request = make_bench_request(arguments)
    session = session_of(context).listening(progress_for(context))
    with explain_vanished_tool():
        report = bench(session, find_target_to_read(session, arguments, context), request)
        _tell(report, context)
    return ExitCode.OK


@contextmanager
def explain_vanished_tool() -> Iterator[None]:
    """Say so if what failed is that fastinstall's own files were removed or replaced meanwhile.

    Raises:
        FailedError: they were.
    """
    before = _identify_own_files()
    try:
        yield
    except Exception as error:
        if _identify_own_files() == before:
            raise
        message = f"fastinstall's own environment was removed or rebuilt while this ran: {sys.prefix}"
        raise FailedError(message, hint="run the same command again; nothing was changed") from error


def _identify_own_files() -> list[tuple[int, int] | None]:
    places = (sys.prefix, __file__, _ADAPTERS)
    found = [os.stat(each) if os.path.exists(each) else None for each in places]  # noqa: PTH110, PTH116 (these two)
    return [(each.st_dev, each.st_ino) if each else None for each in found]


def _tell(report: BenchReport, context: Context) -> None:
    from fastinstall.cli.bench.text import bench_brief, bench_text  # noqa: PLC0415 (not for --list)

    tell(context, "bench", report, bench_brief if context.console.quiet else bench_text)


def _list(context: Context) -> int:
    from fastinstall.bench.materials import list_known_candidates  # noqa: PLC0415 (only with --list)

    known = list_known_candidates()
    from fastinstall.cli.bench.text import candidates_text  # noqa: PLC0415 (likewise)

    tell(context, "bench-candidates", {"candidates": known}, lambda _, page: candidates_text(known, page))
    return ExitCode.OK


def _print_code(arguments: Namespace, context: Context) -> int:
    from fastinstall.bench.printed_code import render_code  # noqa: PLC0415 (only with --print-code)

    context.console.data(render_code(arguments.print_code, pipeline_of(arguments)))
    return ExitCode.OK
