"""The wizard: what was detected, the plan, Proceed / Customize / Cancel. Only for a person at a terminal."""

from dataclasses import replace
from pathlib import Path

from fastinstall.api.catalogue import all_recipes
from fastinstall.api.observing import facts_of, recipe_named
from fastinstall.api.planning import plan
from fastinstall.api.session import Session
from fastinstall.api.target import Target, find
from fastinstall.cli.ask import chosen, confirmed, typed
from fastinstall.cli.console import Console
from fastinstall.cli.render import facts_text, plan_text
from fastinstall.errors import RefusedError
from fastinstall.model.plan import Plan
from fastinstall.model.wish import LinkMode, Wish
from fastinstall.probes.environment import active_prefixes
from fastinstall.rules.planner import unaccepted

_PROCEED, _CUSTOMIZE, _CANCEL = "proceed", "customize", "cancel"


def ask_for_plan(session: Session, target: Target, wish: Wish, console: Console) -> Plan:
    """Lead a person to a plan that they agree to, risks included.

    Raises:
        RefusedError: they cancelled, or nothing suits this machine.
    """
    chosen_target = _target(session, target)
    _show_facts(session, chosen_target, wish, console)
    while True:
        made = plan(session, chosen_target, wish)
        console.talk(plan_text(made, console))
        if not made.steps:
            return made
        answer = chosen("What now?", _answers(made))
        if answer == _PROCEED:
            return accepting(made)
        if answer == _CANCEL:
            raise RefusedError("cancelled; nothing was changed")
        wish = _customized(session, wish)


def accepting(made: Plan) -> Plan:
    """The same plan with its risks accepted, in its wish too, so that the equivalent flags name them."""
    risks = tuple(hazard.risk for hazard in unaccepted(made))
    wish = replace(made.wish, allow=(*made.wish.allow, *risks))
    return replace(made, wish=wish, hazards=tuple(replace(hazard, allowed=True) for hazard in made.hazards))


def _target(session: Session, target: Target) -> Target:
    named = target.prefix or target.python or target.new
    if named or active_prefixes(session.variables):
        return target
    answers = {"new": "make a virtual environment for it", "name": "name an existing environment"}
    if chosen("No environment is active. Where should the fast stack go?", answers) == "new":
        return Target(new=Path(typed("Directory of the environment to make:", default="./fast-env")))
    return Target(prefix=Path(typed("Directory of the environment:")))


def _show_facts(session: Session, target: Target, wish: Wish, console: Console) -> None:
    if target.new is not None:
        return
    environment = find(session, target)
    console.talk(facts_text(facts_of(session, environment, recipe_named(session, wish.recipe), toolchain=True)))


def _answers(made: Plan) -> dict[str, str]:
    risks = ", ".join(hazard.risk for hazard in unaccepted(made))
    proceed = f"Proceed, and accept: {risks}" if risks else "Proceed"
    return {_PROCEED: proceed, _CUSTOMIZE: "Customize", _CANCEL: "Cancel"}


def _customized(session: Session, wish: Wish) -> Wish:
    recipes = {recipe.name: f"{recipe.name}: {recipe.summary}" for recipe in all_recipes(session)}
    name = chosen("Which recipe?", recipes, default=wish.recipe)
    levels = {"auto": "auto: the best that this CPU has and that pays"}
    levels |= {level.name: level.name for level in recipe_named(session, name).levels}
    links = {
        LinkMode.BUNDLE: "bundle: libraries inside the package, so that nobody can change them",
        LinkMode.SYSTEM: "system: the libraries of the operating system",
        LinkMode.ENV: "env: the libraries of this environment",
    }
    return replace(
        wish,
        recipe=name,
        version=typed("Version of the source (empty: the newest that fits):", default=wish.version or "") or None,
        level=chosen("Which CPU level?", levels, default=wish.level if wish.level in levels else "auto"),
        link=LinkMode(chosen("Which libraries?", {str(mode): text for mode, text in links.items()}, default=wish.link)),
        guard=confirmed("Install the start-up guard, which notices a swap?"),
        allow=(),
    )
