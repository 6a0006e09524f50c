"""`fastinstall doctor`: the checks, as text or JSON, and the repair."""

from argparse import Namespace
from dataclasses import replace
from typing import TYPE_CHECKING

from fastinstall.cli.common import make_request, parse_path, progress_for, refuse_together, session_of, target_of, tell
from fastinstall.cli.main import Context
from fastinstall.cli.text.reports import choose_exit_code, render_speed_table, tell_report, tell_survey
from fastinstall.core.directories import expand_home
from fastinstall.core.errors import DocumentError, ExitCode, UsageError
from fastinstall.core.messages import fix_command
from fastinstall.model.facts import Environment
from fastinstall.model.finding import EnvironmentReport, Status
from fastinstall.observe.environments import find_environment
from fastinstall.observe.interpreter import ask_interpreter, use_pil
from fastinstall.observe.observation import read_earlier_receipt
from fastinstall.observe.session import Session

if TYPE_CHECKING:
    from fastinstall.elf.cpu import Host
    from fastinstall.plan.plan import Plan


def run(arguments: Namespace, context: Context) -> int:
    """Examine an environment or every one; repair the first with --fix."""
    if arguments.list:
        return _list(context)
    if arguments.collect is not None:
        return _collect(arguments, context)
    if arguments.hosts:
        raise UsageError("--hosts says who should have a report", hint="name the reports too: --collect DIR")
    refuse_together(arguments, "--all", ("--prefix", "--python", "--fix"))
    session = session_of(context)
    return _run_all(arguments, session, context) if arguments.all else _run_one(arguments, session, context)


def _collect(arguments: Namespace, context: Context) -> int:
    """Sum up reports of many machines; nothing is examined."""
    from fastinstall.cli.text.fleets import render_collected  # noqa: PLC0415 (only with --collect)
    from fastinstall.fleet.reports import collect  # noqa: PLC0415 (likewise)

    refuse_together(arguments, "--collect", ("--prefix", "--python", "--all", "--quick", "--fix", "--host-flags"))
    if arguments.checks:
        raise UsageError("--collect sums up what reports say of all checks", hint="leave the names of checks out")
    place, hosts = expand_home(arguments.collect), parse_path(arguments.hosts)
    collected = collect(session_of(context), place, hosts, arguments.max_age)
    brief = f"{collected.status}: {collected.summary}"
    tell(context, "collected", collected, (lambda *_: brief) if context.console.quiet else render_collected)
    return choose_exit_code(collected.status, arguments.fail_on) if collected.hosts else ExitCode.UNDETERMINED


def _run_one(arguments: Namespace, session: Session, context: Context) -> int:
    hosts = _read_hosts(arguments)
    environment = find_environment(session, target_of(arguments))
    answer = ask_interpreter(environment)
    started = None if arguments.quick or arguments.checks else use_pil(session, environment)
    # While the target's Python is at work:
    from fastinstall.verbs.examine import Examination, examine_facts  # noqa: PLC0415

    again = Examination(checks=tuple(arguments.checks), quick=arguments.quick, hosts=hosts)
    report, facts = examine_facts(session, environment, replace(again, started=started, interpreter=answer))
    if arguments.fix and _is_repairable(report):
        if _recover_interrupted(session, environment, arguments, context):
            report, facts = examine_facts(session, environment, again)
        if _is_repairable(report):
            _fix(session, environment, arguments, context)
            from fastinstall.apply.late_interrupts import report_interruption_after_completion  # noqa: PLC0415

            with report_interruption_after_completion(environment.prefix, "doctor --fix"):
                report, facts = examine_facts(session, environment, again)
    context.closing.close()  # a line that is alive on the terminal goes first
    code = tell_report(report, context.console, arguments.fail_on, None if arguments.checks else facts)
    console, receipt = context.console, read_earlier_receipt(environment) if context.console.verbose else None
    is_text = not (arguments.checks or console.json or console.quiet)
    if receipt is not None and receipt.speed is not None and is_text:
        console.data(render_speed_table(receipt.speed, console.out))
    return code


def _run_all(arguments: Namespace, session: Session, context: Context) -> int:
    from fastinstall.verbs.everywhere import examine_everywhere  # noqa: PLC0415
    from fastinstall.verbs.examine import Examination  # noqa: PLC0415 (only what is asked for)

    examination = Examination(checks=tuple(arguments.checks), quick=arguments.quick, hosts=_read_hosts(arguments))
    return tell_survey(examine_everywhere(session, examination), context.console, arguments.fail_on)


def _read_hosts(arguments: Namespace) -> "tuple[Host, ...]":
    if not arguments.host_flags:
        return ()

    from fastinstall.observe.host_files import read_host  # noqa: PLC0415

    try:
        return tuple(read_host(expand_home(name)) for name in arguments.host_flags)
    except DocumentError as error:
        raise UsageError(f"--host-flags {error.message}", hint=error.hint) from None


def _list(context: Context) -> int:
    from fastinstall.doctor.registry import check_names, load_check  # noqa: PLC0415 (only with --list)

    checks = [load_check(name) for name in check_names()]
    width = max(len(check.NAME) for check in checks)
    lines = "\n".join(f"{check.NAME:<{width}}  {check.SUMMARY}" for check in checks)
    listed = {"checks": [{"check": check.NAME, "summary": check.SUMMARY} for check in checks]}
    tell(context, "checks", listed, lambda *_: lines)
    return ExitCode.OK


def _is_repairable(report: EnvironmentReport) -> bool:
    """Tell whether there is an error that a setup may mend, or anything that a check says --fix repairs."""
    from fastinstall.doctor.registry import load_check  # noqa: PLC0415 (only with --fix)

    remedies = (finding.remedy for finding in report.findings if finding.status.gravity >= Status.WARNING.gravity)
    offered = any(remedy is not None and "--fix" in (remedy.command or "") for remedy in remedies)
    errors = (finding for finding in report.findings if finding.status.gravity >= Status.ERROR.gravity)
    return offered or any(load_check(finding.check).SETUP_REPAIRS for finding in errors)


def _recover_interrupted(session: Session, environment: Environment, arguments: Namespace, context: Context) -> bool:
    """Bring to its end what a dead run left; whether there was anything. That alone may make all well."""
    from fastinstall.apply.recovery import recover_environment  # noqa: PLC0415 (only with --fix)
    from fastinstall.cli.consent import refuse_without_yes  # noqa: PLC0415

    refuse_without_yes(arguments, context.console, f"{fix_command(environment.prefix)} --yes")
    return recover_environment(session.listening(progress_for(context)), environment)


def _fix(session: Session, environment: Environment, arguments: Namespace, context: Context) -> None:
    from fastinstall.apply.expectations import describe_expectations  # noqa: PLC0415
    from fastinstall.cli.consent import consent  # noqa: PLC0415
    from fastinstall.verbs.repair import plan_repair, repair  # noqa: PLC0415 (only with --fix)

    working = session.listening(progress_for(context))
    command = f"{fix_command(environment.prefix)} --yes"
    request = make_request(arguments, context)
    planned = plan_repair(working, environment, request)

    def agreed(plan: "Plan") -> "Plan":
        return consent(plan, arguments, context, command, describe_expectations(session, plan))

    if planned.steps:
        repair(working, agreed(planned), request, agreed)
