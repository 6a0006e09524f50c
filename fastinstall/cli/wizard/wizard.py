"""The wizard at a terminal: show what was found and what will change, then ask Proceed / Customize / Cancel."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from fastinstall.cli.consent import ask_for_risks
from fastinstall.cli.console import Console, Page, join_lines
from fastinstall.cli.questions import asker_for
from fastinstall.cli.text.facts_page import facts_text
from fastinstall.cli.text.plan_page import list_cautions, plan_text
from fastinstall.cli.text.reports import INSTRUCTIONS, error_text
from fastinstall.cli.wizard.choices import ENVIRONMENT, WizardConversation, customise_request
from fastinstall.cli.wizard.environments import CANCELLED, choose_environment, is_left_open, shorten_path
from fastinstall.core.errors import DeclinedError, FastinstallError, RefusedError, UsageError
from fastinstall.core.messages import format_count, format_rough_duration, quote
from fastinstall.model.facts import EnvironmentKind, Facts
from fastinstall.model.request import Request
from fastinstall.observe.environments import NamedTarget
from fastinstall.observe.recipes import recipe_named
from fastinstall.observe.session import Session
from fastinstall.setup.expectations import describe_cost, describe_expected_gain, estimate_seconds
from fastinstall.setup.plan import Plan
from fastinstall.setup.recovery import recover_first
from fastinstall.setup.steps.prepare import SystemPackages
from fastinstall.verbs.setup import observe_facts, plan_setup

PROCEED, CUSTOMIZE, CANCEL = "Proceed", "Customize", "Cancel"
_COLUMN = 13


def ask_for_plan(session: Session, target: NamedTarget, request: Request, console: Console) -> Plan:
    """Ask a person about the target and the request until the person agrees to a plan and its risks; return the plan.

    Raises:
        RefusedError: this machine or environment cannot be set up.
        DeclinedError: the person cancelled.
        KeyboardInterrupt: the person interrupted a question; nothing was changed.
    """
    asker, is_named = asker_for(console), bool(target.prefix or target.python or target.new)
    directory, refused = Path.cwd(), None
    meant = choose_environment(session, asker, console, directory) if is_left_open(target, session) else target
    while True:
        recover_first(session, meant)
        facts = observe_facts(session, meant, recipe_named(session, request.recipe))
        talk = WizardConversation(session=session, target=meant, facts=facts, asker=asker, console=console)
        try:
            agreed = _agree_on_plan(talk, request)
        except RefusedError as error:
            if is_named or isinstance(error, DeclinedError):
                raise
            console.complain(error_text(error, console.err))
            agreed, refused = None, facts.environment.prefix
        if agreed is not None:
            return agreed
        meant = choose_environment(session, asker, console, directory, refused)
        refused = None


def _agree_on_plan(talk: WizardConversation, before: Request) -> Plan | None:
    """Show plans until the user agrees to one, and return it; return None if the user wants another environment.

    A plan without steps is returned without a question.

    Args:
        talk: the target, and the asker and console for the questions.
        before: the request made by flags, variables and settings.

    Raises:
        DeclinedError: the user cancelled.
    """
    try:
        plan, shown = plan_setup(talk.session, talk.target, before), None
    except FastinstallError:
        _show_found(talk)
        raise
    if plan.steps or not talk.console.quiet:
        _show_found(talk)
    while plan.steps:
        if plan is not shown:
            _show_plan(talk, plan)
        shown, answer = plan, _ask_next(talk, plan)
        if answer == CANCEL:
            raise DeclinedError(CANCELLED)
        if answer == CUSTOMIZE:
            if (other := _customise(talk, before, plan)) is None:
                return None
            plan = other
        elif (agreed := ask_for_risks(plan, talk.asker)) is not None:
            return agreed
    return plan


def _customise(talk: WizardConversation, before: Request, plan: Plan) -> Plan | None:
    """Return the plan for a customized request, or None if the user wants another environment."""
    request, console = plan.request, talk.console

    def show_details() -> None:
        console.complain(plan_text(plan, replace(console.err, verbose=True)))

    while True:
        wanted = customise_request(talk, request, show_details)
        if wanted == ENVIRONMENT:
            return None
        request = before if isinstance(wanted, str) else wanted
        if request == plan.request:
            return plan
        try:
            return plan_setup(talk.session, talk.target, request)
        except (RefusedError, UsageError) as error:
            console.complain(error_text(error, console.err))


def _ask_next(talk: WizardConversation, plan: Plan) -> str:
    duration = format_rough_duration(estimate_seconds(plan, talk.session.directories.cache))
    meanings = {
        PROCEED: f"build, test, install: {duration}",
        CUSTOMIZE: "version, CPU level, libraries, ...",
        CANCEL: "change nothing",
    }
    return talk.asker.choose("Proceed?", {name: name for name in meanings}, meanings=meanings)


def _show_found(talk: WizardConversation) -> None:
    page, facts = talk.console.err, talk.facts  # shown even with --quiet: users must see what they are agreeing to
    brief = join_lines(_lay_out(list_found(facts, _shorten_prefix(talk)), page))
    talk.console.complain(facts_text(facts, page) if page.verbose else brief)


def _show_plan(talk: WizardConversation, plan: Plan) -> None:
    page, place = talk.console.err, _shorten_prefix(talk)
    rows = [("Change", change) for change in list_outside_changes(plan)]
    gain, cost = describe_expected_gain(talk.session, plan), describe_cost(plan, talk.session.directories.cache)
    rows += [(name, text) for name, text in (("Speed", gain), ("Cost", cost)) if text]
    prefix = place if quote(place) == place else quote(talk.facts.environment.prefix)
    undo = _name_value("Undo", f"fastinstall rollback --prefix {prefix}", page)
    talk.console.complain(join_lines((*_lay_out(rows, page), undo, *list_cautions(plan, page), "")))
    if page.verbose:
        talk.console.complain(plan_text(plan, page))


def _shorten_prefix(talk: WizardConversation) -> str:
    return shorten_path(talk.facts.environment.prefix, Path.cwd(), talk.session.variables.get("HOME", ""))


def _lay_out(rows: Iterable[tuple[str, str]], page: Page) -> Iterator[str]:
    """Yield lines with names and values in two columns; if consecutive rows have the same name, print it once."""
    last, margin = "", " " * _COLUMN
    for name, value in rows:
        first, *others = page.lines(value, first=margin, rest=margin)
        yield _name_value("" if name == last else name, first[_COLUMN:], page)
        yield from others
        last = name


def _name_value(name: str, value: str, page: Page) -> str:
    return page.paint(f"{name:<{_COLUMN}}", "bold" if name else "") + value


def list_found(facts: Facts, place: str) -> Iterator[tuple[str, str]]:
    """Yield what was found on the machine and in the target, as pairs of name and description.

    Args:
        facts: the facts about the target.
        place: the path of the target, as shown to the user.
    """
    cpu, stack, kind = facts.cpu, facts.stack, facts.environment.kind
    level = f", {cpu.level}{INSTRUCTIONS.get(cpu.level, '')}" if cpu.level else ""
    yield "CPU", f"{cpu.name or cpu.architecture}, {format_count(cpu.cores, 'core')}{level}"
    yield "Python", f"{facts.interpreter.version}{', free-threaded' if facts.interpreter.free_threaded else ''}"
    yield "Environment", f"{place}{' (conda)' if kind is EnvironmentKind.CONDA else ''}"
    owners = {owner.distribution.installer for owner in stack.owners} - {"", "fastinstall"}
    by = f", installed by {' and '.join(sorted(owners))}" if owners else ""
    build = "fast build" if stack.core is not None and stack.core.simd_symbols else "stock build"
    yield "Pillow", f"{stack.version}, {build}{by}" if stack.version else "not installed"


def list_outside_changes(plan: Plan) -> Iterator[str]:
    """Yield a line for each change that a plan makes outside the cache."""
    if plan.build is None:
        yield plan.summary
        return
    of_system = (step for step in plan.prepare if isinstance(step, SystemPackages))
    for step in (plan.create, *of_system, *plan.change, plan.package, plan.swap, plan.guard, plan.pin):
        if step is not None:
            yield from step.outline()
