"""`fastinstall plan --hosts DIR`: which few wheels serve many machines."""

from argparse import Namespace
from pathlib import Path

from fastinstall.api.fleet import FleetRequest, plan_hosts
from fastinstall.cli.common import refuse_together, session_of, target_of, wish_of
from fastinstall.cli.main import Context
from fastinstall.errors import ExitCode, FailedError, UsageError
from fastinstall.model.codec import document, dump
from fastinstall.model.fleet import Cause, Fleet
from fastinstall.rules.messages import quote
from fastinstall.rules.secrets import redacted
from fastinstall.system import files


def run(arguments: Namespace, context: Context) -> int:
    """Plan for the hosts of facts files; save it with -o."""
    if arguments.format in {"sh", "dockerfile"}:
        raise UsageError(
            f"--format {arguments.format} is for one environment, and --hosts are many", hint="--format text or json"
        )
    fleet = plan_hosts(session_of(context), fleet_request(arguments), wish_of(arguments, context))
    text = dump(document("fleet", fleet))
    if arguments.output is not None:
        _save(Path(arguments.output), text)
        wheels = f"fastinstall build --hosts {quote(arguments.hosts)} -o WHEELHOUSE"
        context.console.talk(f"saved: {fleet.summary}; build them with: {wheels}")
    elif arguments.format == "json" or context.console.json:
        context.console.data(text)
    else:
        from fastinstall.cli.render_fleet import fleet_text  # noqa: PLC0415 (only for text)

        context.console.data(fleet_text(fleet, context.console.out))
    return code_of(fleet)


def fleet_request(arguments: Namespace) -> FleetRequest:
    """What --hosts, --python and --max-age name.

    Raises:
        UsageError: an environment is named beside --hosts.
    """
    refuse_together(arguments, "--hosts", ("--prefix",))
    if getattr(arguments, "new_env", None):
        raise UsageError("--hosts and --new-env exclude each other", hint="give one of the two, --hosts or --new-env")
    return FleetRequest(
        hosts=Path(arguments.hosts).expanduser(), python=target_of(arguments).python, max_age=arguments.max_age
    )


def code_of(fleet: Fleet) -> int:
    """The exit code: whether anything can be done for any host."""
    if any(artefact.hosts for artefact in fleet.artefacts):
        return ExitCode.OK
    unread = all(each.cause is Cause.UNREADABLE for each in fleet.left_out)
    return ExitCode.UNDETERMINED if unread else ExitCode.REFUSED


def _save(path: Path, text: str) -> None:
    try:
        files.write_text(path, redacted(text))
    except OSError as error:
        raise FailedError(f"-o {path}: cannot be written: {error.strerror}", hint="name another file") from error
