"""The wizard at a terminal: show what was found and what will change, then ask Proceed / Customize / Cancel."""

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, count
from pathlib import Path

from fastinstall.cli.consent import ask_for_risks
from fastinstall.cli.console import Console, Page, join_lines
from fastinstall.cli.questions import Asker, ask_text_or_go_back, asker_for
from fastinstall.cli.text.facts_page import facts_text
from fastinstall.cli.text.plan_page import list_cautions, plan_text
from fastinstall.cli.text.reports import INSTRUCTIONS, error_text
from fastinstall.cli.wizard.choices import ENVIRONMENT, WizardConversation, customise_request
from fastinstall.core.directories import expand_home
from fastinstall.core.errors import DeclinedError, FastinstallError, RefusedError, UsageError
from fastinstall.core.messages import format_count, format_rough_duration, quote
from fastinstall.core.values import immutable
from fastinstall.model.facts import EnvironmentKind, Facts
from fastinstall.model.request import Request
from fastinstall.observe.environments import USUAL_NAMES, NamedTarget, active_prefixes
from fastinstall.observe.recipes import recipe_named
from fastinstall.observe.session import Session
from fastinstall.setup.expectations import describe_cost, describe_expected_gain, estimate_seconds
from fastinstall.setup.plan import Plan
from fastinstall.setup.recovery import recover_first
from fastinstall.setup.steps.prepare import SystemPackages
from fastinstall.verbs.discover_environments import NEARBY, FoundEnvironment, discover_environments
from fastinstall.verbs.setup import observe_facts, plan_setup

PROCEED, CUSTOMIZE, CANCEL = "Proceed", "Customize", "Cancel"
_COLUMN = 13


def ask_for_plan(session: Session, target: NamedTarget, request: Request, console: Console) -> Plan:
    """Ask a person about target and request until they agree to a plan and its risks; return the plan.

    Raises:
        RefusedError: this machine or environment cannot be set up; a DeclinedError if the person cancelled.
        KeyboardInterrupt: the person interrupted a question; nothing was changed.
    """
    asker, is_named = asker_for(console), bool(target.prefix or target.python or target.new)
    chooser = EnvironmentChooser(session=session, asker=asker, console=console, directory=Path.cwd())
    meant = chooser.choose() if is_left_open(target, session) else target
    while True:
        recover_first(session, meant)
        facts = observe_facts(session, meant, recipe_named(session, request.recipe))
        talk = WizardConversation(session=session, target=meant, facts=facts, asker=asker, console=console)
        wizard = _Wizard(talk=talk, before=request, place=chooser.shorten(facts.environment.prefix))
        try:
            agreed = wizard.agree_on_plan()
        except RefusedError as error:
            if is_named or isinstance(error, DeclinedError):
                raise
            console.complain(error_text(error, console.err))
            meant = chooser.choose(refused=wizard.prefix)
            continue
        if agreed is not None:
            return agreed
        meant = chooser.choose()


@immutable
class _Wizard:
    """The questions about the plan for one target.

    Attributes:
        talk: the target, and the asker and console for the questions.
        before: the request made by flags, variables and settings.
        place: the path of the target in its shortest form, for messages.
    """

    talk: WizardConversation
    before: Request
    place: str

    @property
    def prefix(self) -> Path:
        """The root directory of the target."""
        return self.talk.facts.environment.prefix

    def agree_on_plan(self) -> Plan | None:
        """Show plans until the user agrees to one, and return it; return None if the user wants another environment.

        A plan without steps is returned without a question.

        Raises:
            DeclinedError: the user cancelled.
        """
        try:
            plan, shown = self._plan(self.before), None
        except FastinstallError:
            self._show_found()
            raise
        if plan.steps or not self.talk.console.quiet:
            self._show_found()
        while plan.steps:
            if plan is not shown:
                self._show_plan(plan)
            shown, answer = plan, self._ask_next(plan)
            if answer == CANCEL:
                raise DeclinedError(CANCELLED)
            if answer == CUSTOMIZE:
                if (other := self._customise(plan)) is None:
                    return None
                plan = other
            elif (agreed := ask_for_risks(plan, self.talk.asker)) is not None:
                return agreed
        return plan

    def _customise(self, plan: Plan) -> Plan | None:
        """Return the plan for a customized request, or None if the user wants another environment."""
        request, details = plan.request, lambda: self._tell(plan_text(plan, replace(self._page(), verbose=True)))
        while True:
            wanted = customise_request(self.talk, request, details)
            if wanted == ENVIRONMENT:
                return None
            request = self.before if isinstance(wanted, str) else wanted
            if request == plan.request:
                return plan
            try:
                return self._plan(request)
            except (RefusedError, UsageError) as error:
                self._tell(error_text(error, self._page()))

    def _plan(self, request: Request) -> Plan:
        return plan_setup(self.talk.session, self.talk.target, request)

    def _ask_next(self, plan: Plan) -> str:
        cache = self.talk.session.directories.cache
        meanings = {
            PROCEED: f"build, test, install: {format_rough_duration(estimate_seconds(plan, cache))}",
            CUSTOMIZE: "version, CPU level, libraries, ...",
            CANCEL: "change nothing",
        }
        return self.talk.asker.choose("Proceed?", {name: name for name in meanings}, meanings=meanings)

    def _show_found(self) -> None:
        page, facts = self._page(), self.talk.facts
        brief = join_lines(_lay_out(list_found(facts, self.place), page))
        self._tell(facts_text(facts, page) if page.verbose else brief)

    def _show_plan(self, plan: Plan) -> None:
        page, gain = self._page(), describe_expected_gain(self.talk.session, plan)
        rows = [("Change", change) for change in list_outside_changes(plan)]
        cost = describe_cost(plan, self.talk.session.directories.cache)
        rows += [(name, text) for name, text in (("Speed", gain), ("Cost", cost)) if text]
        prefix = self.place if quote(self.place) == self.place else quote(self.prefix)
        undo = _name_value("Undo", f"fastinstall rollback --prefix {prefix}", page)
        self._tell(join_lines((*_lay_out(rows, page), undo, *list_cautions(plan, page), "")))
        if page.verbose:
            self._tell(plan_text(plan, page))

    def _page(self) -> Page:
        return self.talk.console.err

    def _tell(self, text: str) -> None:
        self.talk.console.complain(text)  # even with --quiet, because users must see what they are agreeing to


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


CANCELLED = "cancelled; nothing was changed"

_OTHER, _CANCEL = "other", "cancel"


@immutable
class EnvironmentChooser:
    """Asks which environment to set up.

    Attributes:
        session: variables, directories, clock and event listener of this run.
        asker: asks the questions.
        console: prints why a typed directory is refused.
        directory: the working directory; environments in it are offered.
    """

    session: Session
    asker: Asker
    console: Console
    directory: Path

    def choose(self, refused: Path | None = None) -> NamedTarget:
        """Ask which environment to set up, and return it.

        Args:
            refused: an environment that cannot be set up, and is therefore not offered.

        Raises:
            DeclinedError: the user cancelled.
        """
        everywhere = discover_environments(self.session, self.directory)
        found = [each for each in everywhere if each.seen.prefix != refused]
        usual = self.directory / USUAL_NAMES[0]
        found.sort(key=lambda each: each.seen.prefix != usual)  # stable: the others keep their order
        there = {str(each.seen.prefix): each for each in found}
        new = "" if str(usual) in there else str(_find_free_name(usual))
        # Enter alone takes the first answer, so the first must be an environment with the usual name, or a new one.
        answers = {path: self.shorten(Path(path)) for path in filter(None, (new, *there))}
        meanings = {path: describe_found_environment(each) for path, each in there.items()}
        if new:
            meanings[new] = "make a new one; nothing else changes"
        answers |= {_OTHER: "Other", _CANCEL: "Cancel"}
        meanings |= {_OTHER: "type a directory", _CANCEL: "change nothing"}
        while True:
            answer = self.asker.choose(_word_question(everywhere, self.session), answers, meanings=meanings)
            if answer == _CANCEL:
                raise DeclinedError(CANCELLED)
            if answer in there:
                return NamedTarget(prefix=Path(answer))
            if answer == new:
                return NamedTarget(new=Path(new))
            question = "Directory of an environment, or of a new one"
            typed = ask_text_or_go_back(self.asker, question, self._read_target, self._complain)
            if typed:
                return self._read_target(typed)

    def _complain(self, text: str) -> None:
        self.console.talk("\n".join(self.console.err.lines(text)))

    def shorten(self, prefix: Path) -> str:
        """Return the shortest form of a path: absolute, or relative to the working or home directory."""
        ways = [str(prefix)]
        if prefix.is_relative_to(self.directory):
            ways.append(f"./{prefix.relative_to(self.directory)}")
        home = self.session.variables.get("HOME", "")
        if home and prefix.is_relative_to(home):
            ways.append(f"~/{prefix.relative_to(home)}")
        return min(ways, key=len)

    def _read_target(self, text: str) -> NamedTarget:
        place = self.directory / expand_home(text)
        if any(os.path.lexists(place / name) for name in ("bin/python", "bin/python3")):
            return NamedTarget(prefix=place)
        if os.path.lexists(place) and (not place.is_dir() or any(place.iterdir())):
            raise ValueError(f"{place} is no Python environment: it has no bin/python")
        return NamedTarget(new=place)


def _find_free_name(usual: Path) -> Path:
    """Return the path, with a number appended to its name if it exists already."""
    numbered = (usual.with_name(f"{usual.name}-{number}") for number in count(2))
    return next(path for path in chain((usual,), numbered) if not os.path.lexists(path))


def is_left_open(target: NamedTarget, session: Session) -> bool:
    """Return True if no flag names a target, and either no or several environments besides fastinstall's are active."""
    if target.prefix or target.python or target.new:
        return False
    return len(_list_active_prefixes(session) - {os.path.realpath(session.tool_prefix)}) != 1


def describe_found_environment(each: FoundEnvironment) -> str:
    """Return a line on an environment: its Python, its Pillow, and how it was found."""
    seen = each.seen
    parts = ["conda"] if seen.kind is EnvironmentKind.CONDA else []
    parts += [f"Python {seen.python}"] if seen.python else []
    parts += [_describe_pillow(each)]
    return ", ".join(parts) + ("" if each.found == NEARBY else f" ({each.found})")  # the path shows NEARBY


def _describe_pillow(each: FoundEnvironment) -> str:
    there = " and ".join(each.seen.pillow) or "no Pillow"
    if not each.seen.ours:
        return there
    return f"{there}; the fast build is gone" if each.seen.is_replaced else f"{there} by fastinstall"


def _list_active_prefixes(session: Session) -> set[str]:
    return {os.path.realpath(prefix) for prefix in active_prefixes(session.variables).values()}


def _word_question(found: Sequence[FoundEnvironment], session: Session) -> str:
    active = sum(each.found.startswith("active") for each in found)
    if active:
        state = "Two environments are active." if active > 1 else ""
    elif os.path.realpath(session.tool_prefix) in _list_active_prefixes(session):
        state = "Only fastinstall's own environment is active."
    else:
        state = "No environment is active."
    return f"{state} Which one gets the fast Pillow?" if state else "Which environment gets the fast Pillow?"
