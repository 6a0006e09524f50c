"""The program's entry: read the arguments, run the verb, turn failures into messages and exit codes."""

import importlib
import os
import sys
from argparse import Namespace
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import field
from errno import EACCES, EDQUOT, EIO, ELOOP, EMFILE, ENAMETOOLONG, ENFILE, ENOSPC, EPERM, EROFS
from functools import partial
from pathlib import Path

from fastinstall.cli.console import Console, UnwrittenError, can_ask, is_dumb, open_closed_streams, page_for
from fastinstall.cli.options import Sources
from fastinstall.cli.parser import build_parser, parse
from fastinstall.cli.program import name_program
from fastinstall.cli.run_log import RunLog, open_log
from fastinstall.core import signals
from fastinstall.core.codec import dump
from fastinstall.core.directories import user_directories
from fastinstall.core.errors import (
    DocumentError,
    EnvironmentDamagedError,
    ExitCode,
    FailedError,
    FastinstallError,
    InterruptedAfterCompletion,
    NoEnvironmentError,
    RefusedError,
    UndeterminedError,
    UsageError,
)
from fastinstall.core.messages import PROGRAM, listing, quote
from fastinstall.core.secrets import find_secret_values
from fastinstall.core.surroundings import restrict_surroundings
from fastinstall.core.values import immutable

_REFUSALS = frozenset({EACCES, EPERM, ENOSPC, EDQUOT, EROFS, EIO, EMFILE, ENFILE, ENAMETOOLONG, ELOOP})
"""Error numbers that show a limit or fault of the machine, not a bug in this program."""

_CHANGING = frozenset({"setup", "apply", "rollback", "guard"})


@immutable
class Context:
    """The context of a run, which is passed to its command.

    Attributes:
        sources: where the values of absent flags come from.
        console: prints to stdout and stderr.
        log: the log of this run; every event is written to it.
        closing: context managers to leave before an error or result is printed, such as that of the live progress line.
        changes: a sentence for each change that remains even if the run fails, mapped to whether it has been printed.
        words: the command line, without the program.
        program: the command that starts this program, quoted for a shell.
    """

    sources: Sources
    console: Console
    log: RunLog
    closing: ExitStack
    changes: dict[str, bool] = field(default_factory=dict)
    words: Sequence[str] = ("VERB",)
    program: str = PROGRAM


@restrict_surroundings()
def main(argv: Sequence[str] | None = None, program: str = PROGRAM) -> int:
    """Run a command line, and return its exit code.

    Args:
        argv: the command line without the program; None for the command line of this process.
        program: the command with which users start this program; detected if `argv` is None.
    """
    open_closed_streams()
    if argv is None:
        options, search_path = sys._xoptions, os.environ.get("PATH", "")  # noqa: SLF001 (documented)
        program = name_program(sys.argv[0], options, Path(sys.executable), search_path)
    words = sys.argv[1:] if argv is None else list(argv)
    if "_ARGCOMPLETE" in os.environ and argv is None:  # set by the completion script
        from fastinstall.cli.commands.completion import answer_shell  # only for completion

        answer_shell(os.environ)
    with signals.handle_interruptions():
        try:
            return _parse_and_run(words, dict(os.environ), program)
        except KeyboardInterrupt:
            return _report_interruption(_make_console(_find_output_flags(words), os.environ, program))


def _parse_and_run(words: Sequence[str], variables: Mapping[str, str], program: str) -> int:
    candidates = (Path("fastinstall.toml"), user_directories(variables).config / "fastinstall.toml")
    try:
        arguments, sources = parse(words, variables, candidates, program)
    except FastinstallError as error:
        return _explain(error, _make_console(_find_output_flags(words), variables, program))
    if arguments.verb is None:
        build_parser(program=program).print_help(sys.stderr)
        return ExitCode.USAGE
    console, log = _make_console(arguments, variables, program), open_log(variables, words)
    context = Context(sources=sources, console=console, log=log, closing=ExitStack(), words=words, program=program)
    outcome: int | BaseException
    try:
        command = importlib.import_module(f"fastinstall.cli.commands.{arguments.verb}")
        with context.closing:
            outcome = int(command.run(arguments, context))
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 (every exception is reported)
        outcome = error
    with suppress(KeyboardInterrupt), signals.defer_signals():  # Ctrl-C must not change what is reported now
        code = int(_report_outcome(outcome, arguments, context))
        log.write(f"exit code {code}")
        log.close()
    return code


def _report_outcome(outcome: int | BaseException, arguments: Namespace, context: Context) -> int:
    """Report how a command ended; return its exit code."""
    console = context.console
    match outcome:
        case int():
            return outcome
        case FastinstallError():
            context.log.write(f"error: {outcome.message}")
            return _explain(_complete_error(outcome, context), console)
        case InterruptedAfterCompletion():
            console.complain(outcome.message)
            return ExitCode.OK  # the interruption came after the work was complete
        case KeyboardInterrupt():
            return _report_interruption(console, context)
        case UnwrittenError():
            console.complain(f"error: {outcome}")
            changes = _is_change(arguments)
            if changes:
                console.complain("  The change is complete; only its result could not be printed")
                console.complain("  hint: check the environment: fastinstall doctor")
            return ExitCode.FAILED_CHANGED if changes else ExitCode.FAILED_UNCHANGED  # scripts rely on this code
        case _:
            return _report_unexpected(outcome, arguments, context)


def _is_change(arguments: Namespace) -> bool:
    """Return whether a command changes an environment, and does not only show something."""
    if arguments.verb == "guard":
        return arguments.action in ("install", "remove", "accept")
    only_shows = getattr(arguments, "list", False) or getattr(arguments, "dry_run", False)
    return (arguments.verb in _CHANGING and not only_shows) or getattr(arguments, "fix", False)


def _complete_error(error: FastinstallError, context: Context) -> FastinstallError:
    """Add to an error what its raiser cannot know: the command line, settings file, log, and changes made so far."""
    if isinstance(error, UsageError) and not isinstance(error, DocumentError) and context.sources.settings:
        told = f"other settings come from {context.sources.file}"
        return UsageError(error.message, hint=error.hint, details=(*error.details, told))
    if isinstance(error, NoEnvironmentError):
        error = _explain_no_environment(error, context)
    is_failure = error.exit_code in (ExitCode.FAILED_UNCHANGED, ExitCode.FAILED_CHANGED)
    if error.hint is None and is_failure and context.log.path is not None:
        error.hint = f"read the log of this run: less {quote(context.log.path)}"
    return _mention_changes(error, context)


def _explain_no_environment(error: NoEnvironmentError, context: Context) -> RefusedError:
    """Return the error with a hint: the same command line, plus a flag that names an environment.

    For doctor, the error lists known environments that have a Pillow.
    """
    variables, words, command = context.sources.variables, context.words, _repeat_command(context.words)
    if error.nearby:
        return RefusedError(error.message, hint=f"name it: {command} --prefix {quote(error.nearby[0])}")
    if words[0] in ("setup", "plan"):
        return RefusedError(error.message, hint=f"make one: {command} --new-env ./fast-env")
    if words[0] == "doctor":
        from fastinstall.observe.environments import has_pillow, list_known_environments  # only for this error

        prefixes = list_known_environments(variables, user_directories(variables).state)
        if known := [str(prefix) for prefix in prefixes if has_pillow(prefix)]:
            hint = f"name it: {command} --prefix {quote(known[0])}; or examine all of them: fastinstall doctor --all"
            details = (f"known environments: {listing(known, most=6)}",)
            return RefusedError(error.message, hint=hint, details=details)
    return RefusedError(error.message, hint=f"name one: {command} --prefix DIR")


def _explain_system_error(error: OSError, verb: str, context: Context) -> FastinstallError | None:
    """Explain an OSError in a command that changes nothing; return None if it can only come from a bug."""
    try:
        place = Path.cwd()
    except OSError:
        return UsageError("the working directory is gone", hint="cd to another one, then run the same command again")
    if error.errno not in _REFUSALS:
        return None
    from fastinstall.core.refused_writes import explain_refusal  # only after a failure

    explained = explain_refusal(error, user_directories(context.sources.variables).cache, (place,))
    if verb not in ("doctor", "inspect"):
        return explained
    return UndeterminedError(explained.message, hint=explained.hint)


def _repeat_command(words: Sequence[str]) -> str:
    return " ".join(("fastinstall", *map(quote, words)))


def _mention_changes(error: FastinstallError, context: Context) -> FastinstallError:
    """Return the error; if its exit code denies changes that remain, return an error with exit code 7 instead.

    The new error lists those changes that were not printed yet.
    """
    if not context.changes or error.exit_code not in (ExitCode.REFUSED, ExitCode.FAILED_UNCHANGED):
        return error
    done = tuple(f"done before that: {change}" for change, is_told in context.changes.items() if not is_told)
    return EnvironmentDamagedError(error.message, hint=error.hint, details=(*done, *error.details))


def _make_console(arguments: Namespace, variables: Mapping[str, str], program: str) -> Console:
    return Console(
        json=arguments.json,
        quiet=arguments.quiet,
        interactive=can_ask(variables, sys.stdin, sys.stderr),
        lines_only=is_dumb(variables),
        make_page=partial(
            page_for, variables=variables, colourless=arguments.no_color, verbose=arguments.verbose, program=program
        ),
        known=find_secret_values(variables),
    )


def _find_output_flags(words: Sequence[str]) -> Namespace:
    """Find the output flags in a command line that argparse has not parsed."""
    return Namespace(
        json="--json" in words,
        quiet=not {"-q", "--quiet"}.isdisjoint(words),
        verbose=not {"-v", "--verbose"}.isdisjoint(words),
        no_color="--no-color" in words,
    )


def _explain(error: FastinstallError, console: Console) -> int:
    from fastinstall.cli.text.reports import error_text  # healthy runs do not need it

    if console.json:
        told = {
            "schema": "fastinstall.error/1",
            "error": error.tag,
            "exit_code": int(error.exit_code),
            "message": error.message,
            "hint": error.hint,
            "details": list(error.details),
        }
        console.document(dump(told))
    console.complain(error_text(error, console.err))
    return error.exit_code


def _report_interruption(console: Console, context: Context | None = None) -> int:
    if context is not None and context.changes:
        again = f"run the same command again: {_repeat_command(context.words)}"
        return _explain(_mention_changes(FailedError("interrupted", hint=again), context), console)
    console.complain("interrupted; the environment is as it was before")
    return ExitCode.INTERRUPTED


def _report_unexpected(error: BaseException, arguments: Namespace, context: Context) -> int:
    """Report an unexpected exception: a failure of the system, or a bug in fastinstall."""
    import traceback  # only for unexpected exceptions

    console, log = context.console, context.log
    trace = "".join(traceback.format_exception(error))
    log.write(trace)
    if isinstance(error, OSError) and arguments.verb not in _CHANGING:
        explained = _explain_system_error(error, arguments.verb, context)
        if explained is not None:
            return _explain(explained, console)
    console.complain(trace if console.verbose or log.path is None else f"error: {type(error).__name__}: {error}")
    where = f"The log is {log.path}" if log.path is not None else "No log could be written"
    console.complain(f"  This is a bug in fastinstall. {where}")
    console.complain("  hint: report it with the output of: fastinstall inspect --redact")
    return ExitCode.BUG
