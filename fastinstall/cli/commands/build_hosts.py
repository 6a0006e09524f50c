"""`fastinstall build --hosts DIR -o WHEELHOUSE`: the few wheels that many machines need."""

from argparse import Namespace
from pathlib import Path

from fastinstall.api.fleet_building import build_fleet
from fastinstall.api.session import Session
from fastinstall.cli.commands.plan_hosts import code_of, fleet_request
from fastinstall.cli.common import progress_for, session_of, wish_of
from fastinstall.cli.main import Context
from fastinstall.errors import ExitCode, UsageError
from fastinstall.model.codec import document, dump
from fastinstall.model.fleet import Fleet
from fastinstall.model.wish import Wish


def run(arguments: Namespace, context: Context) -> int:
    """Build for the hosts of facts files, and write down which host takes which wheel."""
    _refuse_contradictions(arguments)
    session = session_of(context).listening(progress_for(context))
    wheelhouse = Path(arguments.output).expanduser().absolute()
    wish = wish_of(arguments, context)
    fleet = build_fleet(session, fleet_request(arguments), wish, wheelhouse)
    if arguments.with_tool and fleet.artefacts:
        _bring_tool(session, fleet, wish, wheelhouse)
    if context.console.json:
        context.console.data(dump(document("fleet", fleet)))
    else:
        from fastinstall.cli.render_fleet import fleet_text  # noqa: PLC0415 (only for text)

        context.console.data(fleet_text(fleet, context.console.out))
    unmade = any(artefact.wheel is None for artefact in fleet.artefacts)
    return ExitCode.FAILED_UNCHANGED if unmade else code_of(fleet)


def _refuse_contradictions(arguments: Namespace) -> None:
    if arguments.explain:
        raise UsageError("--explain is for one wheel, and --hosts make several", hint="ask without --hosts")
    if arguments.format == "conda":
        raise UsageError(
            "--hosts makes wheels, which conda environments take too (setup makes packages of them there)",
            hint="leave --format out; a channel for one Python: fastinstall build --format conda --python EXE -o DIR",
        )


def _bring_tool(session: Session, fleet: Fleet, wish: Wish, wheelhouse: Path) -> None:
    from fastinstall.api.tool_wheels import bring_tool  # noqa: PLC0415 (only with --with-tool)

    pythons = tuple(dict.fromkeys(artefact.python for artefact in fleet.artefacts))
    bring_tool(session, wheelhouse, pythons=pythons, offline=wish.offline)
