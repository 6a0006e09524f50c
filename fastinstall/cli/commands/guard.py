"""`fastinstall guard install|status|remove|check|accept`."""

from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from fastinstall.cli.main import Context
from fastinstall.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from fastinstall.model.guards import Guards
    from fastinstall.model.pins import PinState

_CHANNEL = "file:///path/of/the/channel"
_ALSO = """\
where the environment is made of an environment.yml, that file needs the same, and a channel that outlives the
environment (fastinstall build --format conda -o ./channel):"""
_QUESTIONS = {"install": "Install the guards into", "remove": "Remove the guards from"}


def run(arguments: Namespace, context: Context) -> int:
    """Dispatch on the action."""
    _refuse_stray(arguments)
    if arguments.action == "check":
        from fastinstall.cli.commands.guard_check import run as check  # noqa: PLC0415 (it has no target)

        return check(arguments, context)
    if arguments.action == "accept":
        from fastinstall.cli.commands.guard_accept import run as accept  # noqa: PLC0415 (an action of its own)

        return accept(arguments, context)
    return _run(arguments, context)


def _refuse_stray(arguments: Namespace) -> None:
    if arguments.files and arguments.action != "check":
        raise UsageError(
            f"guard {arguments.action} takes no files: {arguments.files[0]}",
            hint=f"fastinstall guard {arguments.action} --prefix DIR",
        )


def _run(arguments: Namespace, context: Context) -> int:
    from fastinstall.api.guarding import guards_of, install_guard, remove_guard  # noqa: PLC0415 (not for check)
    from fastinstall.api.late import done_already  # noqa: PLC0415 (likewise)
    from fastinstall.api.target import find  # noqa: PLC0415 (likewise)
    from fastinstall.cli import common  # noqa: PLC0415 (likewise)

    session = common.session_of(context).listening(common.progress_for(context))
    changes = arguments.action in _QUESTIONS
    if changes:
        environment = find(session, common.target_of(arguments))
        common.mend_or_tell(session, environment, arguments, context)
    else:
        environment = common.look_at(session, arguments, context)
    _consent(arguments, context, str(environment.prefix))
    project = Path(arguments.project).expanduser() if arguments.project else None
    if arguments.action == "install":
        guards = install_guard(session, environment, pin=arguments.pin, project=project)
    elif arguments.action == "remove":
        guards = remove_guard(session, environment, project=project)
    else:
        guards = guards_of(session, environment, measured=True, project=project)
    if changes:
        with done_already(environment.prefix, f"guard {arguments.action}"):
            _tell(guards, arguments, context)
        return ExitCode.OK
    _tell(guards, arguments, context)
    return ExitCode.OK if guards.is_whole else ExitCode.FINDINGS


def _tell(guards: "Guards", arguments: Namespace, context: Context) -> None:
    from fastinstall.cli.render_guards import guards_text  # noqa: PLC0415 (likewise)
    from fastinstall.model.codec import document, dump  # noqa: PLC0415 (likewise)

    told = dump(document("guard", guards)) if context.console.json else guards_text(guards, context.console.out)
    context.console.data(told)
    if arguments.action == "install" and arguments.pin and not context.console.json:
        _advise(guards.pins, context)


def _consent(arguments: Namespace, context: Context, prefix: str) -> None:
    if arguments.action not in _QUESTIONS:
        return
    from fastinstall.cli.consent import agree  # noqa: PLC0415 (only where something is to change)
    from fastinstall.rules.messages import quote  # noqa: PLC0415 (likewise)
    from fastinstall.rules.pins import HOLDS_BACK  # noqa: PLC0415 (likewise)

    pin = ("--pin",) if arguments.pin and arguments.action == "install" else ()
    project = ("--project", quote(arguments.project)) if arguments.project else ()
    words = ("fastinstall", "guard", arguments.action, *pin, *project, "--yes", "--prefix", quote(prefix))
    also = f", and pin the stack ({HOLDS_BACK})" if pin else ""
    agree(f"{_QUESTIONS[arguments.action]} {prefix}{also}?", arguments, context.console, " ".join(words))


def _advise(pins: "tuple[PinState, ...]", context: Context) -> None:
    """What else a pin of conda's needs, where environments are made of a file."""
    from fastinstall.model.pins import PinKind  # noqa: PLC0415 (only with --pin)
    from fastinstall.rules.pins import environment_lines  # noqa: PLC0415 (likewise)

    for pin in pins:
        if pin.kind == PinKind.CONDA:
            lines = environment_lines(_CHANNEL, pin.requirement)
            context.console.talk("\n".join((_ALSO, *(f"    {line}" for line in lines))))
