"""The wizard: environment, facts, plan, Proceed / Customize / Cancel. Only for a person at a terminal."""

from pathlib import Path

from fastinstall.api.foretelling import expected
from fastinstall.api.observing import recipe_named
from fastinstall.api.planning import facts_for, plan
from fastinstall.api.session import Session
from fastinstall.api.setup import recover_first
from fastinstall.api.target import Target
from fastinstall.cli.ask import Asker, asker_for
from fastinstall.cli.consent import with_risks_accepted
from fastinstall.cli.console import Console
from fastinstall.cli.progress_line import about
from fastinstall.cli.render import error_text
from fastinstall.cli.render_facts import facts_text
from fastinstall.cli.render_plan import plan_text
from fastinstall.cli.wizard_memory import Memory
from fastinstall.cli.wizard_menu import customised
from fastinstall.cli.wizard_talk import Talk
from fastinstall.cli.wizard_target import CANCELLED, Chooser, is_left_open
from fastinstall.errors import RefusedError, UsageError
from fastinstall.model.immutable import immutable
from fastinstall.model.plan import Plan
from fastinstall.model.wish import Wish

_PROCEED, _CUSTOMIZE, _BACK, _CANCEL = "Proceed", "Customize", "Back", "Cancel"
_MEANINGS = {
    _CUSTOMIZE: "change something: version, CPU level, libraries, guard ...",
    _BACK: "choose another environment",
    _CANCEL: "change nothing",
}


def ask_for_plan(session: Session, target: Target, wish: Wish, console: Console) -> Plan:
    """Lead a person to a plan that they agree to, risks included.

    Raises:
        RefusedError: they cancelled, or nothing suits this machine or this environment.
        KeyboardInterrupt: they interrupted a question; nothing was changed, and their answers are kept.
    """
    asker = asker_for(console)
    is_named = bool(target.prefix or target.python or target.new)
    chooser = Chooser(session=session, asker=asker, console=console, directory=Path.cwd())
    meant = chooser.chosen() if is_left_open(target, session) else target
    while True:
        memory = _opened(session, meant, wish, (asker, console))
        with memory.told_at_interruption():
            agreed = _Conversation(memory=memory, may_go_back=not is_named).agreed()
        if agreed is not None:
            return agreed
        meant = chooser.chosen()


def _opened(session: Session, target: Target, wish: Wish, person: tuple[Asker, Console]) -> Memory:
    """Look at the target and show what was found."""
    asker, console = person
    recover_first(session, target)
    facts = facts_for(session, target, recipe_named(session, wish.recipe))
    console.talk(facts_text(facts, console.err))
    return Memory(talk=Talk(session=session, target=target, facts=facts, asker=asker, console=console), before=wish)


@immutable
class _Conversation:
    """About the plan for one target.

    Attributes:
        memory: what is kept of it.
        may_go_back: whether another environment may be chosen.
    """

    memory: Memory
    may_go_back: bool

    def agreed(self) -> Plan | None:
        """Return the plan agreed to, possibly without steps, or None if the user wants another environment."""
        made, shown = self._first(), None
        while made.steps:
            if made is not shown:
                self._talk.console.talk(plan_text(made, self._talk.console.err))
            shown = made
            answer = self._asked(made)
            if answer == _CANCEL:
                self.memory.forget()
                raise RefusedError(CANCELLED)
            if answer == _BACK:
                return None
            if answer == _CUSTOMIZE:
                made = self._customised(made)
            elif (agreed := with_risks_accepted(made, self._talk.asker)) is not None:
                self.memory.keep(made.wish, at_work=True)
                return agreed
        self.memory.forget()
        return made

    @property
    def _talk(self) -> Talk:
        return self.memory.talk

    def _first(self) -> Plan:
        """The plan to begin with; where answers that were kept lead nowhere any more, the plan without them."""
        wish = self.memory.resumed()
        if wish != self.memory.before:
            try:
                return self._planned(wish)
            except (RefusedError, UsageError) as error:
                self._talk.console.talk(error_text(error, self._talk.console.err))
                self.memory.forget()
        return self._planned(self.memory.before)

    def _planned(self, wish: Wish) -> Plan:
        return plan(self._talk.session, self._talk.target, wish)

    def _asked(self, made: Plan) -> str:
        answers = [_PROCEED, _CUSTOMIZE, *([_BACK] if self.may_go_back else []), _CANCEL]
        meanings = {_PROCEED: f"carry it out: {_time(self._talk.session, made)}; it can be undone", **_MEANINGS}
        shown = {name: name for name in answers}
        return self._talk.asker.chosen("What now?", shown, meanings=meanings)

    def _customised(self, made: Plan) -> Plan:
        """Another plan, by other wishes; the one that was made where they are taken back."""
        wish: Wish | None = made.wish
        while (wish := customised(self._talk, wish or made.wish, self.memory.keep)) is not None:
            try:
                return self._planned(wish)
            except (RefusedError, UsageError) as error:
                self._talk.console.talk(error_text(error, self._talk.console.err))
        self.memory.keep(made.wish)
        return made


def _time(session: Session, made: Plan) -> str:
    seen = expected(session, made)
    source = "as measured here before" if seen.measured else "as is usual on two CPUs, less with a full cache"
    return f"{about(seen.seconds)}, {source}"
