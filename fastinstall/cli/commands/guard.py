"""`fastinstall guard install|status|remove|pin|check|accept`: warn of a replaced stack, or prevent its replacement.

- `guard pin`: print a diff that pins the stack in the environment's project.
- `guard accept`: keep the Pillow that replaced the stack, and remove guards and receipt.
- `guard check FILE...`: find requirement and lock files that would bring stock Pillow back.
"""

from argparse import Namespace
from collections.abc import Iterator

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
from fastinstall.model.finding import Status
from fastinstall.model.guards import PinKind
from fastinstall.model.results import Acceptance, Effect
from fastinstall.observe.installed_pins import HOLDS_BACK, environment_lines
from fastinstall.observe.pip_pins import describe_pin_for_uv
from fastinstall.setup.recovery import report_interruption_after_completion
from fastinstall.verbs.guard import accept, find_replacement, guards_of, install_guard, pin_project, remove_guard

_ALSO = """\
if you create the environment from an environment.yml, add these lines to it, and keep the channel outside the
environment (fastinstall build --format conda -o ./channel):"""
_ONLY_WITH = {"--pin": ("install",), "--project": ("pin", "status"), "--wheels": ("pin",)}


def run(arguments: Namespace, context: Context) -> int:
    """Run the action that the command line names."""
    action = arguments.action
    for flag, users in _ONLY_WITH.items():
        if flag in arguments.given and action not in users:
            problem = f"{flag} does nothing with guard {action}, only with {' and '.join(users)}"
            raise UsageError(problem, hint=f"leave {flag} out")
    if arguments.files and action != "check":
        hint = f"fastinstall guard {action} --prefix DIR"
        raise UsageError(f"guard {action} takes no files: {arguments.files[0]}", hint=hint)
    actions = {
        "accept": _accept,
        "check": _check,
        "install": _install,
        "pin": _pin,
        "remove": _remove,
        "status": _status,
    }
    return int(actions[action](arguments, context))


def _status(arguments: Namespace, context: Context) -> int:
    session, environment = open_target_to_read(arguments, context)
    guards = guards_of(session, environment, measured=True, project=parse_path(arguments.project))
    tell(context, "guard", guards, guards_text)
    if not guards.installed and not context.console.json:
        verb = "guard install" if guards.installed_by else "setup"
        context.console.talk(f"hint: fastinstall {verb} --prefix {quote(environment.prefix)}")
    return ExitCode.OK if guards.is_whole else ExitCode.FINDINGS


def _install(arguments: Namespace, context: Context) -> int:
    session, environment = open_target_to_change(arguments, context)
    prefix, before = environment.prefix, identify_state(environment.prefix)
    flag, also = (" --pin", f", and pin the stack ({HOLDS_BACK})") if arguments.pin else ("", "")
    command = f"fastinstall guard install{flag} --yes --prefix {quote(prefix)}"
    agree(f"Install the guards into {prefix}{also}?", arguments, context.console, command)
    guards = install_guard(session, environment, pin=arguments.pin)
    with report_interruption_after_completion(prefix, "guard install"):
        tell(context, "guard", guards, guards_text, measure_effect(before, prefix, context))
        for pin in guards.pins if arguments.pin and not context.console.json else ():
            if pin.kind == PinKind.CONDA:  # the user's environment.yml needs the pin, too
                lines = environment_lines("file:///path/of/the/channel", pin.requirement)
                context.console.talk("\n".join((_ALSO, *(f"    {line}" for line in lines))))
    return ExitCode.OK


def _remove(arguments: Namespace, context: Context) -> int:
    session, environment = open_target_to_change(arguments, context)
    prefix, before = environment.prefix, identify_state(environment.prefix)
    guards = guards_of(session, environment)
    if not (guards.installed or guards.package or guards.pins or guards.problems):
        tell(context, "guard", guards, guards_text, Effect(changed=bool(context.changes)))
        context.console.talk(f"nothing to remove from {prefix}")
        return ExitCode.OK
    command = f"fastinstall guard remove --yes --prefix {quote(prefix)}"
    agree(f"Remove the guards from {prefix}?", arguments, context.console, command)
    guards = remove_guard(session, environment)
    with report_interruption_after_completion(prefix, "guard remove"):
        tell(context, "guard", guards, guards_text, measure_effect(before, prefix, context))
        if not context.console.json and identify_state(prefix) != before:
            # Without --to, rollback would also undo the setup that preceded this change.
            newest = list_undoable_transactions(JournalStore(prefix))[0]
            context.console.talk(f"undo: fastinstall rollback --to {newest.id} --prefix {quote(prefix)}")
    return ExitCode.OK


def _pin(arguments: Namespace, context: Context) -> int:
    """Print the diff that pins the stack in the project; the project is not changed."""
    session, environment = open_target_to_read(arguments, context)
    console, wheels = context.console, parse_path(arguments.wheels)
    change = pin_project(session, environment, project=parse_path(arguments.project), wheels=wheels)
    if console.json:
        tell(context, "pin", change, lambda each, _page: each.diff)
    elif change.diff:
        console.patch(change.diff)
    for note in change.notes:
        console.talk(f"note: {note}")
    if not change.diff:
        console.talk(f"nothing to change in {change.project}")
    else:
        where = quote(change.project)
        console.talk(f"to apply it, pipe it into: git -C {where} apply")
        # With -C, git would look for a patch file in another directory, so the patch comes on stdin.
        console.talk(f"to undo it later, save the diff as pin.patch, then run: git -C {where} apply -R < pin.patch")
    return ExitCode.OK


def _accept(arguments: Namespace, context: Context) -> int:
    """Accept the Pillow that replaced the stack, after consent."""
    session, environment = open_target_to_change(arguments, context)
    prefix = quote(environment.prefix)
    before, accepted = identify_state(environment.prefix), find_replacement(session, environment)
    if accepted is not None:
        what_goes = "the guards, the pins and the record of the setup; PIL stays as it is"
        context.console.talk(f"{accepted}\naccepting it removes {what_goes}")
        command = f"fastinstall guard accept --yes --prefix {prefix}"
        agree(f"Accept the current state of {environment.prefix}?", arguments, context.console, command)
        accepted = accept(session, environment)
    with report_interruption_after_completion(environment.prefix, "guard accept"):
        text = f"nothing to accept: no fast build in {prefix} was replaced"
        if accepted is not None:
            text = (
                f"accepted the current state of {prefix}; guards, pins and the record of the setup were removed\n"
                f"to install the fast build again: fastinstall setup --prefix {prefix}\n"
                f"undo: fastinstall rollback --prefix {prefix}"
            )
        effect = measure_effect(before, environment.prefix, context)
        tell(context, "accepted", Acceptance(accepted=accepted or ""), lambda *_: text, effect)
    return ExitCode.OK


def _check(arguments: Namespace, context: Context) -> int:
    """Check the files that the command line names; nothing is changed, and no environment is needed.

    Raises:
        UsageError: no file was named, or a file cannot be judged.
    """
    if not arguments.files:
        raise UsageError("guard check needs files", hint="fastinstall guard check requirements.txt uv.lock")
    report = check_locks([expand_home(name) for name in arguments.files])
    if context.console.json or report.status is Status.ERROR or not context.console.quiet:
        tell(context, "locks", report, _render_locks)
    return ExitCode.FINDINGS if report.status is Status.ERROR else ExitCode.OK


def guards_text(guards: Guards, page: Page) -> str:
    """Return the guards, their problems, and the changes of the stack that the start-up guard reported."""
    lines = [f"start-up guard: {f'installed, version {guards.version}' if guards.installed else 'not installed'}"]
    if guards.installed and guards.installed_by:
        lines.append(f"by {guards.installed_by}, {guards.installed_at}")
    if guards.package:
        lines.append(f"in conda: {guards.package}")
    for pin in guards.pins:
        lines.append(f"pinned in {pin.file}: {pin.requirement} ({HOLDS_BACK})")
        if pin.kind == PinKind.PIP:
            lines.append(describe_pin_for_uv(pin.file.parent))
    problems = (*guards.problems, *(problem for pin in guards.pins for problem in pin.problems))
    lines += (page.paint(f"problem: {problem}", "warning") for problem in problems)
    for event in guards.events:
        lines.append(f"reported {event.at}: {event.stack} {event.change}{f' by {event.tool}' if event.tool else ''}")
    return "\n".join(lines)


def _render_locks(report: LockReport, page: Page) -> str:
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
