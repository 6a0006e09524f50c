"""`fastinstall doctor`: the checks, as text or JSON, and the repair."""

from argparse import Namespace
from dataclasses import replace

from fastinstall.api.early import use_pil
from fastinstall.api.session import Session
from fastinstall.api.target import find
from fastinstall.cli.common import session_of, target_of
from fastinstall.cli.main import Context
from fastinstall.errors import ExitCode
from fastinstall.model.environment import Environment
from fastinstall.model.finding import Report, Status


def run(arguments: Namespace, context: Context) -> int:
    """Examine an environment; repair it with --fix."""
    if arguments.list:
        return _list(context)
    session = session_of(context)
    environment = find(session, target_of(arguments))
    started = None if arguments.quick or arguments.checks else use_pil(session, environment)
    from fastinstall.api.doctor import Examination, examine  # noqa: PLC0415 (while the target's Python is at work)

    examination = Examination(checks=tuple(arguments.checks), quick=arguments.quick, started=started)
    report = examine(session, environment, examination)
    if arguments.fix and _is_repairable(report):
        _fix(session, environment, arguments, context)
        report = examine(session, environment, replace(examination, started=None))
    _print(report, context)
    return _exit_code(report, arguments.fail_on)


def _list(context: Context) -> int:
    from fastinstall.rules.checks import check_names, load_check  # noqa: PLC0415 (only with --list)

    checks = [load_check(name) for name in check_names()]
    if context.console.json:
        from fastinstall.model.codec import dump  # noqa: PLC0415 (only for JSON)

        listed = [{"check": check.NAME, "summary": check.SUMMARY} for check in checks]
        context.console.data(dump({"schema": "fastinstall.checks/1", "checks": listed}))
        return ExitCode.OK
    width = max(len(check.NAME) for check in checks)
    context.console.data("\n".join(f"{check.NAME:<{width}}  {check.SUMMARY}" for check in checks))
    return ExitCode.OK


def _print(report: Report, context: Context) -> None:
    if context.console.json:
        from fastinstall.model.codec import document, dump  # noqa: PLC0415 (only for JSON)

        context.console.data(dump(document("doctor", report)))
        return
    from fastinstall.cli.render import report_text  # noqa: PLC0415 (only for text)

    if not context.console.quiet or report.status is not Status.OK:
        context.console.data(report_text(report, context.console.out))


def _is_repairable(report: Report) -> bool:
    """An error, or whatever a check says that --fix repairs."""
    remedies = (finding.remedy for finding in report.findings if finding.status.gravity >= Status.WARNING.gravity)
    offered = any(remedy is not None and "--fix" in (remedy.command or "") for remedy in remedies)
    return offered or report.status.gravity >= Status.ERROR.gravity


def _fix(session: Session, environment: Environment, arguments: Namespace, context: Context) -> None:
    from fastinstall.api.repair import plan_repair, repair, undo_interruption  # noqa: PLC0415 (only with --fix)
    from fastinstall.cli.common import progress_for  # noqa: PLC0415
    from fastinstall.cli.consent import consent, refuse_without_yes  # noqa: PLC0415
    from fastinstall.rules.messages import fix_command  # noqa: PLC0415

    working = session.listening(progress_for(context))
    command = f"{fix_command(environment.prefix)} --yes"
    refuse_without_yes(arguments, context.console, command)
    undo_interruption(working, environment)
    planned = plan_repair(working, environment)
    if planned.steps:
        repair(working, consent(planned, arguments, context, command))


def _exit_code(report: Report, fail_on: str) -> int:
    if fail_on == "never":
        return ExitCode.OK
    return ExitCode.FINDINGS if report.status.gravity >= Status(fail_on).gravity else ExitCode.OK
