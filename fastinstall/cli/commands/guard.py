"""`fastinstall guard install|status|remove`."""

from argparse import Namespace

from fastinstall.api.guarding import Guards, guards_of, install_guard, remove_guard
from fastinstall.api.target import find
from fastinstall.cli.common import session_of, target_of
from fastinstall.cli.consent import agree
from fastinstall.cli.main import Context
from fastinstall.errors import ExitCode
from fastinstall.model.codec import document, dump
from fastinstall.model.environment import Environment
from fastinstall.rules.messages import quote
from fastinstall.rules.pins import HOLDS_BACK, environment_lines

_CHANNEL = "file:///path/of/the/channel"
_ALSO = """\
where the environment is made of an environment.yml, that file needs the same, and a channel that outlives the
environment (fastinstall build --format conda -o ./channel):"""


def run(arguments: Namespace, context: Context) -> int:
    """Dispatch on the action."""
    session = session_of(context)
    environment = find(session, target_of(arguments))
    _consent(arguments, context, environment)
    if arguments.action == "install":
        guards = install_guard(session, environment, pin=arguments.pin)
    elif arguments.action == "remove":
        guards = remove_guard(session, environment)
    else:
        guards = guards_of(session, environment)
    _print(guards, context)
    if guards.pin and arguments.action == "install" and arguments.pin:
        context.console.talk("\n".join((_ALSO, *(f"    {line}" for line in environment_lines(_CHANNEL, guards.pin)))))
    return ExitCode.FINDINGS if arguments.action == "status" and guards.problems else ExitCode.OK


def _consent(arguments: Namespace, context: Context, environment: Environment) -> None:
    question = {"install": "Install the guards into", "remove": "Remove the guards from"}
    if arguments.action not in question:
        return
    pin = ("--pin",) if arguments.pin and arguments.action == "install" else ()
    words = ("fastinstall", "guard", arguments.action, *pin, "--yes", "--prefix", quote(environment.prefix))
    also = f", and pin the stack ({HOLDS_BACK})" if pin else ""
    agree(f"{question[arguments.action]} {environment.prefix}{also}?", arguments, context.console, " ".join(words))


def _print(guards: Guards, context: Context) -> None:
    if context.console.json:
        context.console.data(dump(document("guard", guards)))
        return
    lines = [f"installed, version {guards.version}" if guards.installed else "not installed"]
    if guards.package:
        lines.append(f"in conda: {guards.package}")
    if guards.pin:
        lines.append(f"pinned: {guards.pin} ({HOLDS_BACK})")
    context.console.data("\n".join([*lines, *(f"problem: {problem}" for problem in guards.problems)]))
