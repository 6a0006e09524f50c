"""`fastinstall doctor`: run the checks, print their report as text or JSON, and repair with --fix."""

from argparse import Namespace
from dataclasses import replace
from typing import TYPE_CHECKING

from fastinstall.cli.common import (
    identify_state,
    measure_effect,
    progress_for,
    refuse_together,
    refuse_without,
    session_of,
    target_of,
    tell,
    tell_restarts,
)
from fastinstall.cli.main import Context
from fastinstall.cli.options import read_request
from fastinstall.cli.text.reports import choose_exit_code, render_speed_table, tell_report, tell_survey
from fastinstall.core.directories import expand_home
from fastinstall.core.errors import DocumentError, ExitCode, UsageError
from fastinstall.core.messages import fix_command
from fastinstall.model.finding import EnvironmentReport, Status
from fastinstall.observe.environments import find_environment
from fastinstall.observe.interpreter import ask_interpreter, use_pil
from fastinstall.observe.observation import read_earlier_receipt
from fastinstall.observe.session import Session

if TYPE_CHECKING:
    from fastinstall.elf.cpu import Host
    from fastinstall.model.facts import Facts
    from fastinstall.setup.plan import Plan
    from fastinstall.verbs.examine import Examination


def run(arguments: Namespace, context: Context) -> int:
    """Examine one environment, and repair it with --fix; or examine all, list the checks, or sum up reports."""
    if arguments.list:
        return _list(context)
    if arguments.collect is not None:
        return _collect(arguments, context)
    refuse_without(arguments, "--collect", ("--max-age",))
    refuse_without(arguments, "--fix", ("--allow",))
    refuse_together(arguments, "--all", ("--prefix", "--python", "--fix"))
    session = session_of(context)
    return _run_all(arguments, session, context) if arguments.all else _run_one(arguments, session, context)


def _collect(arguments: Namespace, context: Context) -> int:
    """Sum up saved reports of many machines; this machine is not examined."""
    from fastinstall.cli.text.fleets import render_collected  # only with --collect
    from fastinstall.fleet.reports import collect  # only with --collect

    refuse_together(arguments, "--collect", ("--prefix", "--python", "--all", "--quick", "--fix", "--host-flags"))
    if arguments.checks:
        raise UsageError("--collect always covers all checks", hint="leave the names of checks out")
    collected = collect(session_of(context), expand_home(arguments.collect), arguments.max_age)
    brief = f"{collected.status}: {collected.summary}"
    tell(context, "collected", collected, (lambda *_: brief) if context.console.quiet else render_collected)
    return choose_exit_code(collected.status, arguments.fail_on) if collected.hosts else ExitCode.UNDETERMINED


def _run_one(arguments: Namespace, session: Session, context: Context) -> int:
    hosts, console = _read_hosts(arguments), context.console
    environment = find_environment(session, target_of(arguments))
    before = identify_state(environment.prefix) if arguments.fix else None
    answer = ask_interpreter(session, environment)
    started = None if arguments.quick or arguments.checks else use_pil(session, environment)
    # The target's Python was just started, and runs during this import.
    from fastinstall.verbs.examine import Examination, examine_facts

    again = Examination(checks=tuple(arguments.checks), quick=arguments.quick, hosts=hosts)
    report, facts = examine_facts(session, environment, replace(again, started=started, interpreter=answer))
    if arguments.fix and _is_repairable(report, facts):
        report, facts = _fix(session, again, facts, arguments, context)
    context.closing.close()  # ends the live progress line
    effect = measure_effect(before, environment.prefix, context) if arguments.fix else None
    code = tell_report(report, console, arguments.fail_on, None if arguments.checks else facts, effect)
    tell_restarts(effect, context)
    receipt = read_earlier_receipt(environment) if console.verbose else None
    is_text = not (arguments.checks or console.json or console.quiet)
    if receipt is not None and receipt.speed is not None and is_text:
        console.data(render_speed_table(receipt.speed, console.out))
    return code


def _run_all(arguments: Namespace, session: Session, context: Context) -> int:
    from fastinstall.verbs.examine import Examination, examine_everywhere

    examination = Examination(checks=tuple(arguments.checks), quick=arguments.quick, hosts=_read_hosts(arguments))
    return tell_survey(examine_everywhere(session, examination), context.console, arguments.fail_on)


def _read_hosts(arguments: Namespace) -> "tuple[Host, ...]":
    if not arguments.host_flags:
        return ()

    from fastinstall.observe.host_files import read_host

    try:
        return tuple(read_host(expand_home(name)) for name in arguments.host_flags)
    except DocumentError as error:
        raise UsageError(f"--host-flags {error.message}", hint=error.hint) from None


def _list(context: Context) -> int:
    from fastinstall.doctor.registry import CHECKS  # only with --list

    width = max(map(len, CHECKS))
    lines = "\n".join(f"{name:<{width}}  {check.summary}" for name, check in CHECKS.items())
    listed = {"checks": [{"check": name, "summary": check.summary} for name, check in CHECKS.items()]}
    tell(context, "checks", listed, lambda *_: lines)
    return ExitCode.OK


def _is_repairable(report: EnvironmentReport, facts: "Facts") -> bool:
    """Return True if --fix may help: a setup can repair one of the errors, or a warning or error suggests --fix."""
    from fastinstall.doctor.checks.pillow_importable import list_shadow_findings  # only with --fix
    from fastinstall.doctor.registry import CHECKS  # only with --fix

    remedies = (finding.remedy for finding in report.findings if finding.status.gravity >= Status.WARNING.gravity)
    offered = any(remedy is not None and "--fix" in (remedy.command or "") for remedy in remedies)
    excused = list_shadow_findings(facts)
    grave = (finding for finding in report.findings if finding.status.gravity >= Status.ERROR.gravity)
    errors = (finding for finding in grave if finding not in excused)
    return offered or any(CHECKS[finding.check].setup_repairs for finding in errors)


def _fix(
    session: Session, again: "Examination", facts: "Facts", arguments: Namespace, context: Context
) -> "tuple[EnvironmentReport, Facts]":
    """Repair an environment after consent, and return report and facts after the repair.

    First, an interrupted run is recovered from, which alone may repair the environment. The new report is based on the
    facts that the repair observed at its end. The environment is observed again if there are no such facts, or if
    --quick or --host-flags asks for other facts.
    """
    from fastinstall.cli.consent import consent, refuse_without_yes  # these imports are needed only with --fix
    from fastinstall.setup.expectations import describe_expectations
    from fastinstall.setup.recovery import (
        recover_environment,
        report_interruption_after_completion,
    )
    from fastinstall.verbs.examine import examine_facts
    from fastinstall.verbs.repair import plan_repair, repair
    from fastinstall.verbs.setup import examine_result

    environment, working = facts.environment, session.listening(progress_for(context))
    command = f"{fix_command(environment.prefix)} --yes"

    def agreed(plan: "Plan") -> "Plan":
        return consent(plan, arguments, context, command, describe_expectations(session, plan))

    refuse_without_yes(arguments, context.console, command)
    if recover_environment(working, environment):
        report, facts = examine_facts(session, environment, again)
        if not _is_repairable(report, facts):
            return report, facts
    request = read_request(arguments, context.sources)
    # Facts observed with --quick do not suffice for a plan.
    planned = plan_repair(working, environment, request, None if again.quick else facts)
    outcome = repair(working, agreed(planned), request, agreed) if planned.steps else None
    with report_interruption_after_completion(environment.prefix, "doctor --fix"):
        if outcome is not None and outcome.after is not None and not again.quick and not again.hosts:
            repaired = examine_result(session, outcome, again.checks)
            if repaired is not None:
                return repaired, outcome.after
        return examine_facts(session, environment, again)
