"""The wizard: environment, facts, plan, Proceed / Customize / Cancel. Only for a person at a terminal.

Answers outlive an interruption: kept as they are given, offered at the next run, forgotten when they have served.

How the wizard ends: what has changed, how to undo it, how it is guarded, what to do next, and the same as flags.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from fastinstall.apply.carry_out import recover_first
from fastinstall.apply.eta import estimate_durations
from fastinstall.cli.consent import ask_for_risks, equivalent_command
from fastinstall.cli.console import Console, Page, join_lines
from fastinstall.cli.options import format_flags
from fastinstall.cli.progress import format_rough_duration
from fastinstall.cli.questions import Asker, asker_for
from fastinstall.cli.text.facts_page import facts_text
from fastinstall.cli.text.reports import error_text, render_speed_table, report_text
from fastinstall.cli.text.short_documents import plan_text
from fastinstall.cli.wizard.environment_question import CANCELLED, EnvironmentChooser, WizardConversation, is_left_open
from fastinstall.cli.wizard.menu import customise_request
from fastinstall.core.errors import RefusedError, UsageError
from fastinstall.core.messages import quote
from fastinstall.core.values import immutable
from fastinstall.model.finding import EnvironmentReport, Status
from fastinstall.model.receipt import Receipt
from fastinstall.model.request import Request
from fastinstall.observe.active_environment import NamedTarget
from fastinstall.observe.observation import recipe_named
from fastinstall.observe.session import Session
from fastinstall.plan.make import observe_facts, plan_setup
from fastinstall.plan.plan import Plan
from fastinstall.verbs import answers
from fastinstall.verbs.answers import Answers

_MADE = "what was compiled by then comes from the cache"


@immutable
class RememberedAnswers:
    """What is kept of a conversation.

    Attributes:
        talk: the conversation.
        before: the wish that flags, variables and settings give.
    """

    talk: WizardConversation
    before: Request

    @property
    def place(self) -> Path:
        """The target that the answers are about."""
        return Path(self.talk.facts.environment.prefix)

    def keep(self, request: Request, *, at_work: bool = False) -> None:
        """Keep what was answered so far; where that is nothing, forget what was kept."""
        if request == self.before and not at_work:
            self.forget()
            return
        now = self.talk.session.now().isoformat(timespec="seconds")
        kept = Answers(target=self.place, before=self.before, after=request, kept_at=now, at_work=at_work)
        answers.keep(self.talk.session, kept)

    def forget(self) -> None:
        """Forget it."""
        answers.forget(self.talk.session, self.place)

    @contextmanager
    def report_at_interruption(self) -> Iterator[None]:
        """Where the block is interrupted, say that the answers are kept, if there are any."""
        try:
            yield
        except KeyboardInterrupt:
            if answers.read_kept_answers(self.talk.session, self.place) is not None:
                self.talk.console.talk("\nyour answers are kept: the same command goes on with them")
            raise

    def resume_request(self) -> Request:
        """The wish to begin with: what was answered before an interruption, where the person wants to go on with it."""
        kept = answers.read_kept_answers(self.talk.session, self.place)
        if kept is None:
            return self.before
        request = answers.apply_kept_answers(kept, self.before)
        self.talk.say(_describe_memory(kept))
        if request == self.before:
            return request
        chosen = self.talk.asker.choose(
            "Go on with these answers?",
            {"on": "Go on", "anew": "Begin anew"},
            meanings={
                "on": f"take over: {' '.join(format_flags(request)) or 'the usual'}; risks are asked for again",
                "anew": "forget them",
            },
        )
        if chosen == "on":
            return request
        self.forget()
        return self.before


def _describe_memory(kept: Answers) -> str:
    when = kept.kept_at[:16].replace("T", " ")
    where = f"while it was at work: {_MADE}" if kept.at_work else "at its questions"
    return f"An earlier setup of this environment stopped at {when} UTC, {where}."


_PROCEED, _CUSTOMIZE, _BACK, _CANCEL = "Proceed", "Customize", "Back", "Cancel"
_MEANINGS = {
    _CUSTOMIZE: "change something: version, CPU level, libraries, guard ...",
    _BACK: "choose another environment",
    _CANCEL: "change nothing",
}


def ask_for_plan(session: Session, target: NamedTarget, request: Request, console: Console) -> Plan:
    """Lead a person to a plan that they agree to, risks included.

    Raises:
        RefusedError: they cancelled, or nothing suits this machine or this environment.
        KeyboardInterrupt: they interrupted a question; nothing was changed, and their answers are kept.
    """
    asker = asker_for(console)
    is_named = bool(target.prefix or target.python or target.new)
    chooser = EnvironmentChooser(session=session, asker=asker, console=console, directory=Path.cwd())
    meant = chooser.choose() if is_left_open(target, session) else target
    while True:
        memory = _open_conversation(session, meant, request, (asker, console))
        with memory.report_at_interruption():
            agreed = _Conversation(memory=memory, may_go_back=not is_named).agree_on_plan()
        if agreed is not None:
            return agreed
        meant = chooser.choose()


def _open_conversation(
    session: Session, target: NamedTarget, request: Request, person: tuple[Asker, Console]
) -> RememberedAnswers:
    """Look at the target and show what was found."""
    asker, console = person
    recover_first(session, target)
    facts = observe_facts(session, target, recipe_named(session, request.recipe))
    console.talk(facts_text(facts, console.err))
    return RememberedAnswers(
        talk=WizardConversation(session=session, target=target, facts=facts, asker=asker, console=console),
        before=request,
    )


@immutable
class _Conversation:
    """About the plan for one target.

    Attributes:
        memory: what is kept of it.
        may_go_back: whether another environment may be chosen.
    """

    memory: RememberedAnswers
    may_go_back: bool

    def agree_on_plan(self) -> Plan | None:
        """Return the plan agreed to, possibly without steps, or None if the user wants another environment."""
        made, shown = self._make_first_plan(), None
        while made.steps:
            if made is not shown:
                self._talk.console.talk(plan_text(made, self._talk.console.err))
            shown = made
            answer = self._ask_next(made)
            if answer == _CANCEL:
                self.memory.forget()
                raise RefusedError(CANCELLED)
            if answer == _BACK:
                return None
            if answer == _CUSTOMIZE:
                made = self._customise_plan(made)
            elif (agreed := ask_for_risks(made, self._talk.asker)) is not None:
                self.memory.keep(made.wish, at_work=True)
                return agreed
        self.memory.forget()
        return made

    @property
    def _talk(self) -> WizardConversation:
        return self.memory.talk

    def _make_first_plan(self) -> Plan:
        """The plan to begin with; where answers that were kept lead nowhere any more, the plan without them."""
        request = self.memory.resume_request()
        if request != self.memory.before:
            try:
                return self._make_plan(request)
            except (RefusedError, UsageError) as error:
                self._talk.console.talk(error_text(error, self._talk.console.err))
                self.memory.forget()
        return self._make_plan(self.memory.before)

    def _make_plan(self, request: Request) -> Plan:
        return plan_setup(self._talk.session, self._talk.target, request)

    def _ask_next(self, made: Plan) -> str:
        answers = [_PROCEED, _CUSTOMIZE, *([_BACK] if self.may_go_back else []), _CANCEL]
        meanings = {
            _PROCEED: f"carry it out: {_describe_duration(self._talk.session, made)}; it can be undone",
            **_MEANINGS,
        }
        shown = {name: name for name in answers}
        return self._talk.asker.choose("What now?", shown, meanings=meanings)

    def _customise_plan(self, made: Plan) -> Plan:
        """Another plan, by other wishes; the one that was made where they are taken back."""
        request: Request | None = made.wish
        while (request := customise_request(self._talk, request or made.wish, self.memory.keep)) is not None:
            try:
                return self._make_plan(request)
            except (RefusedError, UsageError) as error:
                self._talk.console.talk(error_text(error, self._talk.console.err))
        self.memory.keep(made.wish)
        return made


def _describe_duration(session: Session, made: Plan) -> str:
    seen = estimate_durations(session, made)
    source = "as measured here before" if seen.measured else "as is usual on two CPUs, less with a full cache"
    return f"{format_rough_duration(seen.seconds)}, {source}"


def render_wizard_ending(plan: Plan, receipt: Receipt, report: EnvironmentReport | None, page: Page) -> str:
    """The last screen.

    Args:
        plan: that was carried out.
        receipt: of the setup that holds.
        report: doctor's report, or None if it could not be made.
        page: how lines are broken; commands never are.
    """
    parts = [
        _describe_checks(report, page),
        _describe_speed(receipt, page),
        join_lines(_render_closing(plan, receipt, page)),
    ]
    return "\n".join(part for part in parts if part)


def _describe_checks(report: EnvironmentReport | None, page: Page) -> str:
    """How doctor's checks ended; in full only what is not well."""
    if report is None:
        return ""
    told = tuple(each for each in report.findings if each.status not in (Status.OK, Status.SKIPPED))
    counts = Counter(each.status for each in report.findings)
    tally = ", ".join(f"{counts[status]} {status}" for status in Status if counts[status])
    text = join_lines(page.lines(f"checked by doctor: {tally}", rest="  ", style=report.status))
    return text if not told else report_text(replace(report, findings=told), page) + text


def _describe_speed(receipt: Receipt, page: Page) -> str:
    return render_speed_table(receipt.speed, page) if receipt.speed is not None else ""


def _render_closing(plan: Plan, receipt: Receipt, page: Page) -> Iterator[str]:
    prefix = quote(plan.environment.prefix)
    before, after = receipt.previous or "no Pillow", f"{receipt.distribution} {receipt.version}"
    change = f"{before} -> {after}" if before != after else f"{after}, made anew"
    yield from page.lines(f"done: {change}", rest="  ", style="bold")
    yield from page.lines(f"in {plan.environment.prefix}", first="  ", rest="    ")
    if receipt.speed is not None:
        gain = f"{receipt.speed.geomean:.1f} times as fast as {receipt.speed.baseline} in the mean of the table above"
        yield from page.lines(gain, first="  ", rest="  ")
    yield "undo:"
    yield f"  fastinstall rollback --prefix {prefix}"
    yield from page.lines(f"guarded: {_guard(plan)}", rest="  ")
    yield "next:"
    yield f"  fastinstall doctor --prefix {prefix}"
    yield "      is it whole, fast, and still ours?"
    yield f"  fastinstall bench --prefix {prefix} DIR"
    yield "      is loading your images in DIR the bottleneck, and what would help?"
    yield "the same again, without questions:"
    yield f"  {equivalent_command(plan)}"


def _guard(plan: Plan) -> str:
    if not plan.wish.guard:
        return "no; ask from time to time: fastinstall doctor swapped"
    pinned = " A pin holds other tools to it." if plan.wish.pin else ""
    return f"each program tells you once when another tool has replaced it, with the command to get it back.{pinned}"
