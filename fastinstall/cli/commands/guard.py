"""`fastinstall guard install|status|remove|pin|check|accept`: warn of a replaced stack, or prevent its replacement.

- `guard pin`: print a diff that pins the stack in the environment's project.
- `guard accept`: keep the Pillow that replaced the stack, and remove guards and receipt.
- `guard check FILE...`: find requirement and lock files that would bring stock Pillow back.
"""

from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path

from fastinstall.cli.common import (
    identify_state,
    measure_effect,
    open_target_to_change,
    open_target_to_read,
    parse_path,
    tell,
)
from fastinstall.cli.consent import agree
from fastinstall.cli.console import Page, join_lines
from fastinstall.cli.main import Context
from fastinstall.core.directories import expand_home
from fastinstall.core.errors import ExitCode, UsageError
from fastinstall.core.messages import format_count, quote
from fastinstall.guard.status import Guards
from fastinstall.journal.rollback import list_undoable_transactions
from fastinstall.journal.store import JournalStore
from fastinstall.lockcheck.files import check_locks
from fastinstall.lockcheck.verdict import LockFinding, LockReport
from fastinstall.model.effect import Acceptance, Effect
from fastinstall.model.facts import Environment, PinKind, PinState
from fastinstall.model.finding import Status
from fastinstall.observe.installed_pins import HOLDS_BACK, environment_lines
from fastinstall.observe.pip_pins import describe_pin_for_uv
from fastinstall.observe.session import Session
from fastinstall.pins.pin_project import ProjectChange
from fastinstall.setup.late_interrupts import report_interruption_after_completion
from fastinstall.verbs.guard_install import accept, find_replacement, guards_of, install_guard, remove_guard
from fastinstall.verbs.project_pin import pin_project

_ALSO = """\
where the environment is made of an environment.yml, that file needs the same, and a channel that outlives the
environment (fastinstall build --format conda -o ./channel):"""
_ONLY_WITH = {"--pin": ("install",), "--project": ("pin", "status"), "--wheels": ("pin",)}
_QUESTIONS = {"install": "Install the guards into", "remove": "Remove the guards from"}


def run(arguments: Namespace, context: Context) -> int:
    """Run the action that the command line names."""
    _refuse_idle_flags(arguments)
    if arguments.action == "check":
        return run_check(arguments, context)
    if arguments.files:
        raise UsageError(
            f"guard {arguments.action} takes no files: {arguments.files[0]}",
            hint=f"fastinstall guard {arguments.action} --prefix DIR",
        )
    return {"accept": run_accept, "pin": run_pin}.get(arguments.action, _run)(arguments, context)


def _refuse_idle_flags(arguments: Namespace) -> None:
    for flag, actions in _ONLY_WITH.items():
        if flag in arguments.given and arguments.action not in actions:
            used = " and ".join(actions)
            problem = f"{flag} does nothing with guard {arguments.action}, only with {used}"
            raise UsageError(problem, hint=f"leave {flag} out")


def _run(arguments: Namespace, context: Context) -> int:
    changes = arguments.action in _QUESTIONS
    open_target = open_target_to_change if changes else open_target_to_read
    session, environment = open_target(arguments, context)
    before = identify_state(environment.prefix)
    removes = arguments.action == "remove"
    if removes and _tell_nothing_to_remove(session, environment, context):
        return ExitCode.OK
    _ask_consent(arguments, context, str(environment.prefix))
    if arguments.action == "install":
        guards = install_guard(session, environment, pin=arguments.pin)
    elif removes:
        guards = remove_guard(session, environment)
    else:
        guards = guards_of(session, environment, measured=True, project=parse_path(arguments.project))
    if changes:
        with report_interruption_after_completion(environment.prefix, f"guard {arguments.action}"):
            _tell(guards, arguments, context, measure_effect(before, environment.prefix, context))
            if removes and not context.console.json and identify_state(environment.prefix) != before:
                context.console.talk(f"undo: {_make_undo_command(environment.prefix)}")
        return ExitCode.OK
    _tell(guards, arguments, context)
    if not guards.installed and not context.console.json:
        what = "guard install" if guards.installed_by else "setup"
        context.console.talk(f"hint: fastinstall {what} --prefix {quote(environment.prefix)}")
    return ExitCode.OK if guards.is_whole else ExitCode.FINDINGS


def _make_undo_command(prefix: Path) -> str:
    """Return the command that undoes only the last change; a plain rollback would also undo the setup before it."""
    (newest, *_) = list_undoable_transactions(JournalStore(prefix))
    return f"fastinstall rollback --to {newest.id} --prefix {quote(prefix)}"


def _tell_nothing_to_remove(session: Session, environment: Environment, context: Context) -> bool:
    guards = guards_of(session, environment)
    if guards.installed or guards.package or guards.pins or guards.problems:
        return False
    tell(context, "guard", guards, guards_text, Effect(changed=bool(context.changes)))
    context.console.talk(f"nothing to remove from {environment.prefix}")
    return True


def _tell(guards: Guards, arguments: Namespace, context: Context, effect: Effect | None = None) -> None:
    tell(context, "guard", guards, guards_text, effect)
    if arguments.action == "install" and arguments.pin and not context.console.json:
        _advise(guards.pins, context)


def _ask_consent(arguments: Namespace, context: Context, prefix: str) -> None:
    if arguments.action not in _QUESTIONS:
        return
    pin = ("--pin",) if arguments.pin and arguments.action == "install" else ()
    words = ("fastinstall", "guard", arguments.action, *pin, "--yes", "--prefix", quote(prefix))
    also = f", and pin the stack ({HOLDS_BACK})" if pin else ""
    agree(f"{_QUESTIONS[arguments.action]} {prefix}{also}?", arguments, context.console, " ".join(words))


def _advise(pins: tuple[PinState, ...], context: Context) -> None:
    """Print the lines that an environment.yml needs in addition to a conda pin."""
    for pin in pins:
        if pin.kind == PinKind.CONDA:
            lines = environment_lines("file:///path/of/the/channel", pin.requirement)
            context.console.talk("\n".join((_ALSO, *(f"    {line}" for line in lines))))


def run_pin(arguments: Namespace, context: Context) -> int:
    """Print the diff that pins the stack in the project; the project is not changed."""
    session, environment = open_target_to_read(arguments, context)
    project, wheels = parse_path(arguments.project), parse_path(arguments.wheels)
    change = pin_project(session, environment, project=project, wheels=wheels)
    if context.console.json:
        tell(context, "pin", change, lambda each, _page: each.diff)
    _tell_change(change, context)
    return ExitCode.OK


def _tell_change(change: ProjectChange, context: Context) -> None:
    """Print the diff on stdout unless --json printed it; print its notes and the commands to apply it on stderr."""
    console, where = context.console, quote(change.project)
    if not console.json and change.diff:
        console.patch(change.diff)
    for note in change.notes:
        console.talk(f"note: {note}")
    if not change.diff:
        console.talk(f"nothing to change in {change.project}")
    else:
        console.talk(f"to apply it, pipe it into: git -C {where} apply")
        # -C changes the working directory, so git reads the patch from stdin
        console.talk(f"to undo it later, save it as pin.patch: git -C {where} apply -R < pin.patch")


_WHAT_GOES = "the guards, the pins and the record of the setup go; PIL stays as it is"


def run_accept(arguments: Namespace, context: Context) -> int:
    """Accept the Pillow that replaced the stack, after consent."""
    session, environment = open_target_to_change(arguments, context)
    before, found = identify_state(environment.prefix), find_replacement(session, environment)
    if found is not None:
        context.console.talk(f"{found}\nif that is accepted, {_WHAT_GOES}")
        command = f"fastinstall guard accept --yes --prefix {quote(environment.prefix)}"
        agree(f"Accept what is in {environment.prefix} now?", arguments, context.console, command)
        found = accept(session, environment)
    with report_interruption_after_completion(environment.prefix, "guard accept"):
        _tell_acceptance(found, environment, context, measure_effect(before, environment.prefix, context))
    return ExitCode.OK


def _tell_acceptance(accepted: str | None, environment: Environment, context: Context, effect: Effect) -> None:
    prefix = quote(environment.prefix)
    if accepted is None:
        lines = [f"nothing to accept: nothing has taken the place of a stack of ours in {prefix}"]
    else:
        lines = [
            f"accepted: what is in {prefix} now; no guard and no record of the setup is left",
            f"the fast stack again: fastinstall setup --prefix {prefix}",
            f"undo: fastinstall rollback --prefix {prefix}",
        ]
    tell(context, "accepted", Acceptance(accepted=accepted or ""), lambda *_: "\n".join(lines), effect)


def run_check(arguments: Namespace, context: Context) -> int:
    """Check the files that the command line names; nothing is changed, and no environment is needed.

    Raises:
        UsageError: no file was named, or a file cannot be judged.
    """
    if not arguments.files:
        raise UsageError("guard check needs files", hint="fastinstall guard check requirements.txt uv.lock")
    report = check_locks([expand_home(name) for name in arguments.files])
    if context.console.json or report.status is Status.ERROR or not context.console.quiet:
        tell(context, "locks", report, locks_text)
    return ExitCode.FINDINGS if report.status is Status.ERROR else ExitCode.OK


def guards_text(guards: Guards, page: Page) -> str:
    """Return the guards, their problems, and the changes of the stack that they reported."""
    return "\n".join(_render_guards(guards, page))


def _render_guards(guards: Guards, page: Page) -> Iterator[str]:
    yield f"start-up guard: {f'installed, version {guards.version}' if guards.installed else 'not installed'}"
    if guards.installed and guards.installed_by:
        yield f"by {guards.installed_by}, {guards.installed_at}"
    if guards.package:
        yield f"in conda: {guards.package}"
    for pin in guards.pins:
        yield f"pinned in {pin.file}: {pin.requirement} ({HOLDS_BACK})"
        if pin.kind == PinKind.PIP:
            yield describe_pin_for_uv(pin.file.parent)
    problems = (*guards.problems, *(problem for pin in guards.pins for problem in pin.problems))
    yield from (page.paint(f"problem: {problem}", "warning") for problem in problems)
    for event in guards.events:
        yield f"told {event.at}: {event.stack} {event.change}{f' by {event.tool}' if event.tool else ''}"


def locks_text(report: LockReport, page: Page) -> str:
    """Return two or three lines for each finding, and the number of files checked."""
    lines = [line for finding in report.findings for line in _render_lock_finding(finding, page)]
    found = format_count(len(report.findings), "finding") if report.findings else "no findings"
    told = f"{report.status}: {format_count(len(report.files), 'file')} checked, {found}"
    return join_lines([*lines, page.paint(told, report.status)])


def _render_lock_finding(finding: LockFinding, page: Page) -> Iterator[str]:
    place = f"{finding.file}:{finding.line}: "
    status = page.paint(f"{finding.status}: ", finding.status)
    yield f"{place}{status}{finding.excerpt}: {finding.message}"
    yield from page.lines(f"hint: {finding.remedy.text}", first="  ", rest="        ")
    if finding.remedy.command:
        yield f"        {finding.remedy.command}"
