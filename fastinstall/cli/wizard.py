"""The wizard: what was detected, the plan, Proceed / Customize / Cancel. Only for a person at a terminal."""

from dataclasses import field, replace
from pathlib import Path

from fastinstall.api.comparing import Offer, compare_recipes
from fastinstall.api.observing import recipe_named
from fastinstall.api.planning import facts_for, plan
from fastinstall.api.session import Session
from fastinstall.api.setup import recover_first
from fastinstall.api.target import Target
from fastinstall.cli.ask import Asker, asker_for
from fastinstall.cli.ask_engine import ask_engine
from fastinstall.cli.ask_levels import ask_levels
from fastinstall.cli.consent import with_risks_accepted
from fastinstall.cli.console import Console
from fastinstall.cli.render import error_text
from fastinstall.cli.render_facts import facts_text
from fastinstall.cli.render_offers import offer_answers, offers_text
from fastinstall.cli.render_plan import plan_text
from fastinstall.errors import RefusedError, UsageError
from fastinstall.model.conda import Engine
from fastinstall.model.facts import Facts
from fastinstall.model.immutable import immutable
from fastinstall.model.plan import Plan
from fastinstall.model.wish import LinkMode, Wish
from fastinstall.probes.environment import active_prefixes
from fastinstall.rules.conda_engine import is_conda

_PROCEED, _CUSTOMIZE, _CANCEL = "Proceed", "Customize", "Cancel"
_LINKS = {
    LinkMode.BUNDLE: "bundle: libraries inside the package, so that nobody can change them",
    LinkMode.SYSTEM: "system: the libraries of the operating system",
    LinkMode.ENV: "env: the libraries of this environment",
}


@immutable
class _Talk:
    """Who is talked to, and about which target; the facts are those that were shown."""

    session: Session
    target: Target
    facts: Facts
    asker: Asker
    console: Console
    offers: list[Offer] = field(default_factory=list)

    def compared(self, wish: Wish) -> list[Offer]:
        """The recipes side by side; looked up and shown when they are first asked for."""
        if not self.offers:
            self.offers.extend(compare_recipes(self.session, self.target, self.facts, wish))
            self.console.talk(offers_text(self.offers, self.console.err))
        return self.offers


def ask_for_plan(session: Session, target: Target, wish: Wish, console: Console) -> Plan:
    """Lead a person to a plan that they agree to, risks included.

    Raises:
        RefusedError: they cancelled, or nothing suits this machine or this environment.
        KeyboardInterrupt: they interrupted a question; nothing was changed.
    """
    asker = asker_for(console)
    meant = _target(session, target, asker)
    recover_first(session, meant)
    facts = facts_for(session, meant, recipe_named(session, wish.recipe))
    console.talk(facts_text(facts, console.err))
    talk = _Talk(session=session, target=meant, facts=facts, asker=asker, console=console)
    made, shown = plan(session, meant, wish), None
    while made.steps:
        if made is not shown:
            console.talk(plan_text(made, console.err))
        shown = made
        answer = asker.chosen("What now?", {_PROCEED: _PROCEED, _CUSTOMIZE: _CUSTOMIZE, _CANCEL: _CANCEL})
        if answer == _CANCEL:
            raise RefusedError("cancelled; nothing was changed")
        if answer == _CUSTOMIZE:
            made = _customized(talk, made)
        elif (agreed := with_risks_accepted(made, asker)) is not None:
            return agreed
    return made


def _target(session: Session, target: Target, asker: Asker) -> Target:
    if target.prefix or target.python or target.new:
        return target
    active = {str(prefix): f"{prefix} ({name})" for name, prefix in active_prefixes(session.variables).items()}
    if len(active) == 1:
        return target
    if active:
        return Target(prefix=Path(asker.chosen("Two environments are active. Which one is meant?", active)))
    answers = {"new": "make a virtual environment for it", "name": "name an existing environment"}
    if asker.chosen("No environment is active. Where should the fast stack go?", answers) == "new":
        return Target(new=Path(asker.typed("Directory of the environment to make:", default="./fast-env")))
    return Target(prefix=Path(asker.typed("Directory of the environment:")).expanduser())


def _customized(talk: _Talk, made: Plan) -> Plan:
    """Another plan, by other wishes; the one that was made where the others lead nowhere."""
    while True:
        wish = _other_wish(talk, made.wish)
        try:
            return plan(talk.session, talk.target, wish)
        except (RefusedError, UsageError) as error:
            talk.console.talk(error_text(error, talk.console.err))
        if not talk.asker.confirmed("Customize again?"):
            return made


def _other_wish(talk: _Talk, wish: Wish) -> Wish:
    asker = talk.asker
    name = asker.chosen("Which recipe?", offer_answers(talk.compared(wish)), default=wish.recipe)
    version = wish.version if name == wish.recipe else None
    version = asker.typed("Version of the source (empty: the newest that fits):", default=version or "") or None
    level, levels = ask_levels(asker, recipe_named(talk.session, name), wish)
    return replace(
        wish,
        recipe=name,
        version=version,
        level=level,
        levels=levels,
        link=LinkMode(
            asker.chosen("Which libraries?", {str(mode): text for mode, text in _LINKS.items()}, default=wish.link)
        ),
        engine=(engine := ask_engine(asker, talk.facts, wish)),
        guard=asker.confirmed(_guard_question(talk.facts, engine), default=wish.guard),
    )


def _guard_question(facts: Facts, engine: Engine) -> str:
    if is_conda(facts) and engine is not Engine.PIP:
        return "Install the guards, which have conda keep it and notice a swap?"
    return "Install the start-up guard, which notices a swap?"
