"""`fastinstall doctor --collect DIR`: the state of many machines, by the reports collected from them."""

from argparse import Namespace
from pathlib import Path

from fastinstall.cli.common import refuse_together, session_of
from fastinstall.cli.main import Context
from fastinstall.core.errors import ExitCode, UsageError
from fastinstall.core.values import document, dump
from fastinstall.fleet.reports import Collected, CollectionRequest, collect
from fastinstall.model.finding import Status

_OTHERS = ("--prefix", "--python", "--all", "--pid", "--quick", "--fix", "--host-flags", "--junit")
_NEVER = "never"


def run(arguments: Namespace, context: Context) -> int:
    """Sum up the reports; nothing is examined."""
    refuse_together(arguments, "--collect", _OTHERS)
    if arguments.checks:
        raise UsageError("--collect sums up what reports say of all checks", hint="leave the names of checks out")
    hosts = Path(arguments.hosts).expanduser() if arguments.hosts else None
    place = Path(arguments.collect).expanduser()
    collected = collect(session_of(context), CollectionRequest(reports=place, hosts=hosts, max_age=arguments.max_age))
    if context.console.json:
        context.console.data(dump(document("collected", collected)))
    elif context.console.quiet:
        context.console.data(f"{collected.status}: {collected.summary}")
    else:
        from fastinstall.cli.text.fleets import render_collected  # noqa: PLC0415 (only for text)

        context.console.data(render_collected(collected, context.console.out))
    return _choose_exit_code(collected, arguments.fail_on)


def _choose_exit_code(collected: Collected, fail_on: str) -> int:
    if not collected.hosts:
        return ExitCode.UNDETERMINED
    if fail_on == _NEVER:
        return ExitCode.OK
    return ExitCode.FINDINGS if collected.status.gravity >= Status(fail_on).gravity else ExitCode.OK
