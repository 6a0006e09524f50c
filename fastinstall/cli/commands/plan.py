"""`fastinstall plan`: what setup would do, shown or saved."""

from argparse import Namespace
from pathlib import Path

from fastinstall.cli.commands.setup import show_plan
from fastinstall.cli.common import make_request, progress_for, session_of, target_of, tell_interruptions
from fastinstall.cli.main import Context
from fastinstall.core import files
from fastinstall.core.errors import ExitCode, FailedError
from fastinstall.core.messages import quote
from fastinstall.core.secrets import redact_text
from fastinstall.core.values import document, dump
from fastinstall.plan.make import plan_setup


def run(arguments: Namespace, context: Context) -> int:
    """Make a plan; save it with -o. With --hosts for many machines, with --format dockerfile for elsewhere."""
    if arguments.hosts is not None:
        from fastinstall.cli.commands import plan_for_others  # noqa: PLC0415 (only with --hosts)

        return plan_for_others.run_plan_for_hosts(arguments, context)
    if arguments.format == "dockerfile":
        from fastinstall.cli.commands import plan_for_others  # noqa: PLC0415 (only what is asked for)

        return plan_for_others.run(arguments, context)
    session = session_of(context).listening(progress_for(context))
    made = plan_setup(session, target_of(arguments), make_request(arguments, context))
    if Path(made.environment.prefix).is_dir():
        tell_interruptions(session, made.environment, context)
    text = dump(document("plan", made))
    if arguments.output is not None:
        _save(Path(arguments.output), text)
        risks = ",".join(dict.fromkeys(hazard.risk for hazard in made.hazards if hazard.allowed))
        allow = f" --allow {risks}" if risks else ""
        context.console.talk(f"saved; carry it out with: fastinstall apply --yes{allow} {quote(arguments.output)}")
        return ExitCode.OK
    if arguments.format == "json" or context.console.json:
        context.console.data(text)
        return ExitCode.OK
    return show_plan(made, context)


def _save(path: Path, text: str) -> None:
    try:
        files.write_text(path, redact_text(text))
    except OSError as error:
        raise FailedError(f"-o {path}: cannot be written: {error.strerror}", hint="name another file") from error
