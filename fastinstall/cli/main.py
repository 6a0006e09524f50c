"""The program: arguments to a verb, failures to messages and exit codes."""

import importlib
import os
import signal
import sys
from argparse import Namespace
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NoReturn, Protocol

from fastinstall.cli.console import Console, can_ask, is_dumb, page_for
from fastinstall.cli.log import RunLog, open_log
from fastinstall.cli.parser import build_parser, parse
from fastinstall.cli.settings import Sources
from fastinstall.errors import ExitCode, FastinstallError
from fastinstall.model.immutable import immutable
from fastinstall.system.directories import user_directories


class _Command(Protocol):
    def run(self, arguments: Namespace, context: "Context") -> int: ...


@immutable
class Context:
    """What a command gets.

    Attributes:
        variables: environment variables.
        sources: where wishes are found that the flags leave open.
        console: where to print.
        log: of this run.
        closing: left before any error is printed; a bar on the terminal ends with it.
    """

    variables: Mapping[str, str]
    sources: Sources
    console: Console
    log: RunLog
    closing: ExitStack


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns its exit code."""
    words = sys.argv[1:] if argv is None else list(argv)
    variables = dict(os.environ)
    candidates = (Path("fastinstall.toml"), user_directories(variables).config / "fastinstall.toml")
    try:
        arguments, sources = parse(words, variables, candidates)
    except FastinstallError as error:
        return _explain(error, _console(_flags_seen(words), variables))
    if arguments.verb is None:
        build_parser().print_help(sys.stderr)
        return ExitCode.USAGE
    return _run(arguments, words, sources)


def _run(arguments: Namespace, words: Sequence[str], sources: Sources) -> int:
    variables = sources.variables
    console = _console(arguments, variables)
    log = open_log(variables, words)
    _interrupt_on_termination()
    command: _Command = importlib.import_module(f"fastinstall.cli.commands.{arguments.verb}")
    try:
        with ExitStack() as closing:
            context = Context(variables=variables, sources=sources, console=console, log=log, closing=closing)
            code = command.run(arguments, context)
    except FastinstallError as error:
        code = _explain(error, console)
        log.write(f"error: {error.message}")
    except KeyboardInterrupt:
        code = _interrupted(console)
    except BrokenPipeError:
        code = _broken_pipe()
    except Exception as error:  # noqa: BLE001 (the last resort: a bug of ours, told as such)
        code = _bug(error, console, log)
    log.write(f"exit code {int(code)}")
    log.close()
    return int(code)


def _console(arguments: Namespace, variables: Mapping[str, str]) -> Console:
    colourless, verbose = arguments.no_color, arguments.verbose
    return Console(
        json=arguments.json,
        quiet=arguments.quiet,
        interactive=can_ask(variables, sys.stdin, sys.stderr),
        lines_only=is_dumb(variables),
        out=page_for(sys.stdout, variables, colourless=colourless, verbose=verbose),
        err=page_for(sys.stderr, variables, colourless=colourless, verbose=verbose),
    )


def _flags_seen(words: Sequence[str]) -> Namespace:
    """The flags of the output, of a command line that cannot be read."""
    return Namespace(
        json="--json" in words,
        quiet="--quiet" in words,
        verbose="--verbose" in words,
        no_color="--no-color" in words,
    )


def _explain(error: FastinstallError, console: Console) -> int:
    from fastinstall.cli.render import error_text  # noqa: PLC0415 (healthy runs do not need it)

    if console.json:
        from fastinstall.model.codec import dump  # noqa: PLC0415

        console.data(
            dump(
                {
                    "schema": "fastinstall.error/1",
                    "error": type(error).__name__.removesuffix("Error"),
                    "exit_code": int(error.exit_code),
                    "message": error.message,
                    "hint": error.hint,
                    "details": list(error.details),
                }
            )
        )
    console.complain(error_text(error, console.err))
    return error.exit_code


def _interrupted(console: Console) -> int:
    console.complain("interrupted; the environment is as it was before")
    return ExitCode.INTERRUPTED


def _broken_pipe() -> int:
    # The reader went away: stdout points at nothing, so that the interpreter's own flush is quiet.
    # Source: Python's documentation of the signal module, "Note on SIGPIPE".
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return ExitCode.BUG


def _bug(error: Exception, console: Console, log: RunLog) -> int:
    import traceback  # noqa: PLC0415 (for our own bugs)

    trace = "".join(traceback.format_exception(error))
    log.write(trace)
    console.complain(trace if console.verbose else f"error: {type(error).__name__}: {error}")
    console.complain(f"  this is a bug of fastinstall; the log is {log.path}")
    console.complain("  hint: report it with the output of: fastinstall inspect --redact")
    return ExitCode.BUG


def _interrupt_on_termination() -> None:
    """SIGTERM and SIGHUP end a run as Ctrl-C does: with everything undone."""

    def interrupt(_number: int, _frame: object) -> NoReturn:
        raise KeyboardInterrupt

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, interrupt)
