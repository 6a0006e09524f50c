"""The program: arguments to a verb, failures to messages and exit codes."""

import contextlib
import importlib
import os
import sys
from argparse import Namespace
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import field
from pathlib import Path
from typing import Protocol

from fastinstall.cli.console import Console, can_ask, is_dumb, page_for
from fastinstall.cli.log import RunLog, open_log
from fastinstall.cli.parser import build_parser, parse
from fastinstall.cli.settings import Sources
from fastinstall.cli.streams import UnwrittenError, name_files_in_utf8, open_closed_streams
from fastinstall.errors import (
    DamagedError,
    DocumentError,
    ExitCode,
    FastinstallError,
    LateInterruption,
    UsageError,
)
from fastinstall.model.immutable import immutable
from fastinstall.rules.secrets import known_secrets
from fastinstall.system import signals
from fastinstall.system.directories import user_directories
from fastinstall.system.signals import interruptible
from fastinstall.system.surroundings import cautious

_CHANGING = frozenset({"setup", "apply", "rollback", "guard"})


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
        changes: of the target, that hold however the run ends, and whether the user was told.
    """

    variables: Mapping[str, str]
    sources: Sources
    console: Console
    log: RunLog
    closing: ExitStack
    changes: dict[str, bool] = field(default_factory=dict)


@cautious()
def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns its exit code."""
    open_closed_streams()
    if argv is None:
        name_files_in_utf8()
    words = sys.argv[1:] if argv is None else list(argv)
    with interruptible():
        try:
            return _main(words, dict(os.environ))
        except KeyboardInterrupt:
            return _interrupted(_console(_flags_seen(words), os.environ))


def _main(words: Sequence[str], variables: Mapping[str, str]) -> int:
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
    context = Context(variables=variables, sources=sources, console=console, log=log, closing=ExitStack())
    outcome = _tried(arguments, context)
    with contextlib.suppress(KeyboardInterrupt), signals.deferred():  # what has happened is told as it is
        code = _told(outcome, arguments, context)
        log.write(f"exit code {code}")
        log.close()
    return code


def _tried(arguments: Namespace, context: Context) -> int | BaseException:
    """The exit code of a command, or what kept it from having one."""
    try:
        command: _Command = importlib.import_module(f"fastinstall.cli.commands.{arguments.verb}")
        with context.closing:
            return command.run(arguments, context)
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 (every one of them is told)
        return error


def _told(outcome: int | BaseException, arguments: Namespace, context: Context) -> int:
    """Say how a command ended; its exit code."""
    console, log = context.console, context.log
    match outcome:
        case int():
            return int(outcome)
        case FastinstallError():
            log.write(f"error: {outcome.message}")
            return int(_explain(_in_full(outcome, context), console))
        case LateInterruption():
            console.complain(outcome.message)
            return int(ExitCode.OK)  # what was asked for is done
        case KeyboardInterrupt():
            return int(_interrupted(console))
        case UnwrittenError():
            return int(_unwritten(outcome, arguments, console))
        case _:
            return int(_bug(outcome, console, log))


def _in_full(error: FastinstallError, context: Context) -> FastinstallError:
    """An error with what the code that raised it does not know: a settings file, and what was changed before."""
    settings = context.sources.settings
    if isinstance(error, UsageError) and not isinstance(error, DocumentError) and settings.values:
        told = f"what no flag and no variable says comes from {settings.file}"
        return UsageError(error.message, hint=error.hint, details=(*error.details, told))
    return _behind(error, context)


def _behind(error: FastinstallError, context: Context) -> FastinstallError:
    """A refusal or a failure says that nothing was changed; behind changes that hold it says these, by exit 7."""
    if not context.changes or error.exit_code not in (ExitCode.REFUSED, ExitCode.FAILED_UNCHANGED):
        return error
    done = tuple(f"done before that: {change}" for change, is_told in context.changes.items() if not is_told)
    return DamagedError(error.message, hint=error.hint, details=(*done, *error.details))


def _console(arguments: Namespace, variables: Mapping[str, str]) -> Console:
    colourless, verbose = arguments.no_color, arguments.verbose
    return Console(
        json=arguments.json,
        quiet=arguments.quiet,
        interactive=can_ask(variables, sys.stdin, sys.stderr),
        lines_only=is_dumb(variables),
        out=page_for(sys.stdout, variables, colourless=colourless, verbose=verbose),
        err=page_for(sys.stderr, variables, colourless=colourless, verbose=verbose),
        known=known_secrets(variables),
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
                    "error": error.tag,
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


def _unwritten(error: UnwrittenError, arguments: Namespace, console: Console) -> int:
    """A result comes last: what was asked for has happened, and only a script would never know."""
    console.complain(f"error: {error}")
    if arguments.verb in _CHANGING or getattr(arguments, "fix", False):
        console.complain("  what was asked for is done; hint: see what is there now: fastinstall doctor")
        return ExitCode.FAILED_CHANGED
    return ExitCode.FAILED_UNCHANGED


def _bug(error: BaseException, console: Console, log: RunLog) -> int:
    import traceback  # noqa: PLC0415 (for our own bugs)

    trace = "".join(traceback.format_exception(error))
    log.write(trace)
    console.complain(trace if console.verbose else f"error: {type(error).__name__}: {error}")
    console.complain(f"  this is a bug of fastinstall; the log is {log.path}")
    console.complain("  hint: report it with the output of: fastinstall inspect --redact")
    return ExitCode.BUG
