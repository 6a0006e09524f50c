"""`fastinstall plan`: show or save what setup would do.

With `--hosts DIR`, plan the few wheels that serve many machines.
"""

from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from fastinstall.cli.common import (
    open_working_session,
    refuse_together,
    refuse_without,
    session_of,
    target_of,
    tell_interruptions,
)
from fastinstall.cli.console import Page
from fastinstall.cli.main import Context
from fastinstall.cli.options import read_request
from fastinstall.cli.text.plan_page import plan_text
from fastinstall.core import files, refused_writes
from fastinstall.core.codec import document, dump
from fastinstall.core.directories import expand_home
from fastinstall.core.errors import ExitCode, FailedError
from fastinstall.core.messages import quote
from fastinstall.core.secrets import redact_text
from fastinstall.model.request import Request
from fastinstall.observe.session import Session
from fastinstall.setup.expectations import describe_expectations
from fastinstall.verbs.setup import plan_setup

if TYPE_CHECKING:
    from fastinstall.fleet.fleet import Fleet


def run(arguments: Namespace, context: Context) -> int:
    """Make a plan, and print it or save it with -o; with --hosts, make a plan for many machines."""
    if arguments.hosts is not None:
        return _plan_for_hosts(arguments, context)
    refuse_without(arguments, "--hosts", ("--max-age",))
    session = open_working_session(context)
    made = plan_setup(session, target_of(arguments), read_request(arguments, context.sources))
    if made.environment.prefix.is_dir():
        tell_interruptions(made.environment, context)
    risks = ",".join(dict.fromkeys(plan_risk.risk for plan_risk in made.risks if plan_risk.allowed))
    allow = f" --allow {risks}" if risks else ""
    saved = f"saved; carry it out with: fastinstall apply --yes{allow} {quote(arguments.output or '')}"
    expected = describe_expectations(session, made)
    _save_or_print("plan", made, saved, lambda page: plan_text(made, page, expected), arguments, context)
    return ExitCode.OK


def _plan_for_hosts(arguments: Namespace, context: Context) -> int:
    """Plan wheels for the hosts with facts files in the directory of --hosts; print the plan, or save it with -o."""
    from fastinstall.cli.text.fleets import fleet_text  # only with --hosts

    fleet = plan_fleet(session_of(context), arguments, read_request(arguments, context.sources))
    wheels = f"fastinstall build --hosts {quote(arguments.hosts)} -o WHEELHOUSE"
    saved = f"saved: {fleet.summary}; build them with: {wheels}"
    _save_or_print("fleet", fleet, saved, lambda page: fleet_text(fleet, page), arguments, context)
    return code_of(fleet)


def _save_or_print(
    name: str, plan: object, saved: str, render: Callable[[Page], str], arguments: Namespace, context: Context
) -> None:
    """With -o, save a plan as JSON and print the message `saved`; else print the plan, as text or as that JSON."""
    text, console = dump(document(name, plan)), context.console
    if arguments.output is not None:
        path = Path(arguments.output)
        try:
            files.write_text(path, redact_text(text))
        except OSError as error:
            is_full = error.errno in refused_writes.FULL
            hint = refused_writes.advice(error, path.absolute()) if is_full else "name another file"
            raise FailedError(f"-o {path}: cannot be written: {error.strerror}", hint=hint) from error
        console.talk(saved)
    elif arguments.format == "json" or console.json:
        console.exact(text)
    else:
        console.data(render(console.out))


def plan_fleet(session: Session, arguments: Namespace, request: Request) -> "Fleet":
    """Plan wheels for the hosts whose facts files are in the directory of --hosts.

    Raises:
        UsageError: --prefix or --new-env was given too.
    """
    refuse_together(arguments, "--hosts", ("--prefix", "--new-env"))
    from fastinstall.fleet.host_plan import plan_hosts  # only with --hosts

    place, python = expand_home(arguments.hosts), target_of(arguments).python
    return plan_hosts(session, place, request, python, arguments.max_age)


def code_of(fleet: "Fleet") -> int:
    """Return the exit code: OK if any host gets a wheel, UNDETERMINED if no facts file could be read, else REFUSED."""
    from fastinstall.fleet.fleet import Cause  # only with --hosts

    if any(artefact.hosts for artefact in fleet.artefacts):
        return ExitCode.OK
    unread = all(each.cause is Cause.UNREADABLE for each in fleet.left_out)
    return ExitCode.UNDETERMINED if unread else ExitCode.REFUSED
