"""`fastinstall guard install|status|remove`."""

from argparse import Namespace

from fastinstall.api.guarding import guard_state, install_guard, remove_guard
from fastinstall.api.target import find
from fastinstall.cli.common import session_of, target_of
from fastinstall.cli.consent import agree
from fastinstall.cli.main import Context
from fastinstall.errors import ExitCode
from fastinstall.model.codec import document, dump
from fastinstall.model.environment import Environment
from fastinstall.model.facts import GuardState
from fastinstall.rules.messages import quote


def run(arguments: Namespace, context: Context) -> int:
    """Dispatch on the action."""
    session = session_of(context)
    environment = find(session, target_of(arguments))
    _consent(arguments, context, environment)
    if arguments.action == "install":
        state = install_guard(session, environment)
    elif arguments.action == "remove":
        state = remove_guard(session, environment)
    else:
        state = guard_state(session, environment)
    _print(state, context)
    return ExitCode.FINDINGS if arguments.action == "status" and state.problems else ExitCode.OK


def _consent(arguments: Namespace, context: Context, environment: Environment) -> None:
    question = {"install": "Install the start-up guard into", "remove": "Remove the start-up guard from"}
    if arguments.action in question:
        command = f"fastinstall guard {arguments.action} --yes --prefix {quote(environment.prefix)}"
        agree(f"{question[arguments.action]} {environment.prefix}?", arguments, context.console, command)


def _print(state: GuardState, context: Context) -> None:
    if context.console.json:
        context.console.data(dump(document("guard", state)))
        return
    lines = [f"installed, version {state.version}" if state.installed else "not installed"]
    context.console.data("\n".join([*lines, *(f"problem: {problem}" for problem in state.problems)]))
