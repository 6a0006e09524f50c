"""`fastinstall doctor`: the checks, as text or JSON, and the repair."""

from argparse import Namespace
from dataclasses import replace
from pathlib import PurePath
from typing import TYPE_CHECKING

from fastinstall.cli.common import make_request, refuse_together, target_of
from fastinstall.cli.main import Context
from fastinstall.cli.run_events import progress_for, session_of
from fastinstall.cli.text.reports import (
    ResultOutput,
    open_outlet,
    render_speed_table,
    tell_report,
    tell_survey,
    write_undetermined,
)
from fastinstall.core.errors import DocumentError, ExitCode, UndeterminedError, UsageError
from fastinstall.core.home import expand_home
from fastinstall.model.facts import Environment
from fastinstall.model.finding import EnvironmentReport, Status, Unobservable
from fastinstall.observe.active_environment import find_environment
from fastinstall.observe.interpreter import ask_interpreter, use_pil
from fastinstall.observe.observation import read_earlier_receipt
from fastinstall.observe.session import Session

if TYPE_CHECKING:
    from fastinstall.elf.cpu import Host
    from fastinstall.fleet.reports import Collected
    from fastinstall.model.facts import Facts
    from fastinstall.plan.plan import Plan
    from fastinstall.verbs.examine import Examination

_NOT_BESIDE_COLLECT = ("--prefix", "--python", "--all", "--pid", "--quick", "--fix", "--host-flags", "--junit")
_NEVER = "never"
_TARGETS = ("--prefix", "--python", "--all", "--pid")


def run(arguments: Namespace, context: Context) -> int:
    """Examine an environment, a process or every environment; repair the first with --fix."""
    if arguments.list:
        return _list(context)
    if arguments.collect is not None:
        return _collect(arguments, context)
    _refuse_contradictions(arguments)
    session = session_of(context)
    outlet = open_outlet(arguments, context.console, session.now)
    if arguments.all:
        return _run_all(arguments, session, outlet)
    try:
        if arguments.pid:
            return _run_process(arguments, session, outlet)
        return _run_one(arguments, session, outlet, context)
    except UndeterminedError as error:
        write_undetermined(Unobservable(prefix=_get_named_target(arguments), problem=error.message), outlet)
        raise


def _collect(arguments: Namespace, context: Context) -> int:
    """Sum up reports of many machines; nothing is examined."""
    from fastinstall.core.codec import document, dump  # noqa: PLC0415 (only with --collect)
    from fastinstall.fleet.reports import collect  # noqa: PLC0415 (likewise)

    refuse_together(arguments, "--collect", _NOT_BESIDE_COLLECT)
    if arguments.checks:
        raise UsageError("--collect sums up what reports say of all checks", hint="leave the names of checks out")
    hosts = expand_home(arguments.hosts) if arguments.hosts else None
    place = expand_home(arguments.collect)
    collected = collect(session_of(context), place, hosts, arguments.max_age)
    if context.console.json:
        context.console.data(dump(document("collected", collected)))
    elif context.console.quiet:
        context.console.data(f"{collected.status}: {collected.summary}")
    else:
        from fastinstall.cli.text.fleets import render_collected  # noqa: PLC0415 (only for text)

        context.console.data(render_collected(collected, context.console.out))
    return _choose_collected_exit_code(collected, arguments.fail_on)


def _choose_collected_exit_code(collected: "Collected", fail_on: str) -> int:
    if not collected.hosts:
        return ExitCode.UNDETERMINED
    if fail_on == _NEVER:
        return ExitCode.OK
    return ExitCode.FINDINGS if collected.status.gravity >= Status(fail_on).gravity else ExitCode.OK


def _refuse_contradictions(arguments: Namespace) -> None:
    if arguments.hosts:
        raise UsageError("--hosts says who should have a report", hint="name the reports too: --collect DIR")
    for named in ("--all", "--pid"):
        others = [other for other in (*_TARGETS, "--fix") if other != named]
        refuse_together(arguments, named, others)


def _get_named_target(arguments: Namespace) -> PurePath:
    """Return the target that could not be looked at, as it was named."""
    if arguments.pid:
        return PurePath("/proc", str(arguments.pid))
    return PurePath(arguments.prefix or arguments.python or ".")


def _run_one(arguments: Namespace, session: Session, outlet: ResultOutput, context: Context) -> int:
    hosts = _read_hosts(arguments)
    environment = find_environment(session, target_of(arguments))
    answer = ask_interpreter(environment)
    started = None if arguments.quick or arguments.checks else use_pil(session, environment)
    # While the target's Python is at work:
    from fastinstall.verbs.examine import Examination, examine_facts  # noqa: PLC0415

    examination = Examination(
        checks=tuple(arguments.checks),
        quick=arguments.quick,
        started=started,
        hosts=hosts,
        interpreter=answer,
    )
    report, facts = examine_facts(session, environment, examination)
    again = replace(examination, started=None, interpreter=None)
    if arguments.fix and _is_repairable(report):
        if _recover_interrupted(session, environment, arguments, context):
            report, facts = examine_facts(session, environment, again)
        if _is_repairable(report):
            _fix(session, environment, arguments, context)
            report, facts = _examine_again(session, environment, again)
    code = tell_report(report, outlet, None if arguments.checks else facts)
    if context.console.verbose and not arguments.checks:
        _tell_speed(environment, outlet)
    return code


def _examine_again(
    session: Session, environment: Environment, examination: "Examination"
) -> "tuple[EnvironmentReport, Facts]":
    """Examine what a repair has come to."""
    from fastinstall.apply.late_interrupts import report_interruption_after_completion  # noqa: PLC0415 (likewise)
    from fastinstall.verbs.examine import examine_facts  # noqa: PLC0415 (only with --fix)

    with report_interruption_after_completion(environment.prefix, "doctor --fix"):
        return examine_facts(session, environment, examination)


def _tell_speed(environment: Environment, outlet: ResultOutput) -> None:
    """Print the speed table that the setup measured."""
    receipt = read_earlier_receipt(environment)
    if receipt is not None and receipt.speed is not None and outlet.is_text:
        outlet.console.data(render_speed_table(receipt.speed, outlet.console.out))


def _run_process(arguments: Namespace, session: Session, outlet: ResultOutput) -> int:
    from fastinstall.observe.running_process import observe_process  # noqa: PLC0415
    from fastinstall.verbs.examine import Examination, examine  # noqa: PLC0415 (only what is asked for)
    from fastinstall.verbs.process_target import process_target  # noqa: PLC0415

    process = observe_process(arguments.pid)
    environment = process_target(process, session.variables)
    examination = Examination(
        checks=tuple(arguments.checks), quick=arguments.quick, hosts=_read_hosts(arguments), process=process
    )
    return tell_report(examine(session, environment, examination), outlet)


def _run_all(arguments: Namespace, session: Session, outlet: ResultOutput) -> int:
    from fastinstall.verbs.everywhere import examine_everywhere  # noqa: PLC0415
    from fastinstall.verbs.examine import Examination  # noqa: PLC0415 (only what is asked for)

    examination = Examination(checks=tuple(arguments.checks), quick=arguments.quick, hosts=_read_hosts(arguments))
    return tell_survey(examine_everywhere(session, examination), outlet)


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

    checks = [load_check(name) for name in check_names(foreign=True)]
    if context.console.json:
        from fastinstall.core.codec import dump  # noqa: PLC0415 (only for JSON)

        listed = [{"check": check.NAME, "summary": check.SUMMARY} for check in checks]
        context.console.data(dump({"schema": "fastinstall.checks/1", "checks": listed}))
        return ExitCode.OK
    width = max(len(check.NAME) for check in checks)
    context.console.data("\n".join(f"{check.NAME:<{width}}  {check.SUMMARY}" for check in checks))
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
    from fastinstall.core.messages import fix_command  # noqa: PLC0415

    refuse_without_yes(arguments, context.console, f"{fix_command(environment.prefix)} --yes")
    return recover_environment(session.listening(progress_for(context)), environment)


def _fix(session: Session, environment: Environment, arguments: Namespace, context: Context) -> None:
    from fastinstall.cli.consent import consent  # noqa: PLC0415
    from fastinstall.cli.progress import describe_expectations  # noqa: PLC0415
    from fastinstall.core.messages import fix_command  # noqa: PLC0415
    from fastinstall.verbs.repair import plan_repair, repair  # noqa: PLC0415 (only with --fix)

    working = session.listening(progress_for(context))
    command = f"{fix_command(environment.prefix)} --yes"
    request = make_request(arguments, context)
    planned = plan_repair(working, environment, request)

    def agreed(plan: "Plan") -> "Plan":
        return consent(plan, arguments, context, command, describe_expectations(session, plan))

    if planned.steps:
        repair(working, agreed(planned), request, agreed)
