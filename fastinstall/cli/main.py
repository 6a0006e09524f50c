"""The program: arguments to a verb, failures to messages and exit codes."""

import importlib
import os
import signal
import sys
import traceback
from argparse import Namespace
from collections.abc import Mapping, Sequence
from typing import NoReturn, Protocol

from fastinstall.cli.console import Console, can_ask, wants_colour
from fastinstall.cli.log import RunLog, open_log
from fastinstall.cli.parser import build_parser
from fastinstall.errors import ExitCode, FastinstallError


class _Command(Protocol):
    def run(self, arguments: Namespace, context: "Context") -> int: ...


class Context:
    """What a command gets: the session of the API, the console, and the log."""

    def __init__(self, variables: Mapping[str, str], console: Console, log: RunLog) -> None:
        self.variables = variables
        self.console = console
        self.log = log


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns its exit code."""
    words = sys.argv[1:] if argv is None else list(argv)
    variables = dict(os.environ)
    console = Console(
        json="--json" in words, colour=wants_colour(variables, refused="--no-color" in words, stream=sys.stderr)
    )
    try:
        arguments = build_parser(variables).parse_args(words)
    except FastinstallError as error:
        return _explain(error, console)
    if arguments.verb is None:
        build_parser(variables).print_help(sys.stderr)
        return ExitCode.USAGE
    return _run(arguments, words, variables)


def _run(arguments: Namespace, words: Sequence[str], variables: Mapping[str, str]) -> int:
    console = Console(
        json=arguments.json,
        quiet=arguments.quiet,
        verbose=arguments.verbose,
        colour=wants_colour(variables, refused=arguments.no_color, stream=sys.stderr),
        interactive=can_ask(variables),
    )
    log = open_log(variables, words)
    _interrupt_on_termination()
    command: _Command = importlib.import_module(f"fastinstall.cli.commands.{arguments.verb}")
    try:
        code = command.run(arguments, Context(variables, console, log))
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
    return int(code)


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
    console.complain(error_text(error, console))
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
