"""`fastinstall bench`: how images are loaded here, what bounds it, and what would help."""

import sys
from argparse import Namespace

from fastinstall.cli.bench_outputs import outputs_of, write_outputs
from fastinstall.cli.bench_wish import bench_wish, pipeline_of
from fastinstall.cli.common import look_at, progress_for, session_of
from fastinstall.cli.console import Console
from fastinstall.cli.main import Context
from fastinstall.errors import ExitCode
from fastinstall.model.bench import BenchReport
from fastinstall.model.codec import document, dump

_BARS = "█▏"


def run(arguments: Namespace, context: Context) -> int:
    """Measure, and tell it; or name the candidates, or print the code of one."""
    if arguments.list:
        return _list(context)
    if arguments.print_code:
        return _print_code(arguments, context)
    from fastinstall.api.benching import bench  # noqa: PLC0415 (not for --list and what is refused)

    wish, outputs = bench_wish(arguments), outputs_of(arguments)
    session = session_of(context).listening(progress_for(context))
    report = bench(session, look_at(session, arguments, context), wish)
    _tell(report, context.console)
    write_outputs(report, outputs, context.console.talk)
    return ExitCode.OK


def _tell(report: BenchReport, console: Console) -> None:
    if console.json:
        console.data(dump(document("bench", report)))
        return
    from fastinstall.cli.render_bench import bench_brief, bench_text  # noqa: PLC0415 (only for text)

    if console.quiet:
        console.data(bench_brief(report, console.out))
    else:
        console.data(bench_text(report, console.out, unicode=_draws_bars()))


def _draws_bars() -> bool:
    """Whether stdout takes block characters."""
    try:
        _BARS.encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def _list(context: Context) -> int:
    from fastinstall.api.benching import candidate_names  # noqa: PLC0415 (only with --list)
    from fastinstall.bench.adapting import adapter_problems  # noqa: PLC0415 (likewise)

    known = candidate_names(session_of(context))
    for problem in adapter_problems():
        context.console.talk(problem)
    if context.console.json:
        context.console.data(dump(document("bench-candidates", {"candidates": known})))
    else:
        from fastinstall.cli.render_bench_list import candidates_text  # noqa: PLC0415 (only for text)

        context.console.data(candidates_text(known, context.console.out))
    return ExitCode.OK


def _print_code(arguments: Namespace, context: Context) -> int:
    from fastinstall.bench.printed import render_code  # noqa: PLC0415 (only with --print-code)

    context.console.data(render_code(arguments.print_code, pipeline_of(arguments)))
    return ExitCode.OK
