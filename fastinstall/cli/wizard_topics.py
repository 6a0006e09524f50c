"""Everything that can be customised: a row for each wish, with how its value is told and how it is asked for.

A test holds the rows against the flags of `options`: a wish that has a flag has a row.
"""

from collections.abc import Callable
from dataclasses import replace

from fastinstall.api.observing import recipe_named
from fastinstall.cli import wizard_choices as choices
from fastinstall.cli import wizard_entries as entries
from fastinstall.cli.ask_back import Menu, chosen_or_back
from fastinstall.cli.ask_engine import ask_engine
from fastinstall.cli.ask_levels import ask_levels
from fastinstall.cli.render_offers import offer_answers, offer_meanings
from fastinstall.cli.wizard_talk import Talk
from fastinstall.model.facts import Facts
from fastinstall.model.immutable import immutable
from fastinstall.model.wish import Wish
from fastinstall.rules.conda_engine import is_conda

Ask = Callable[[Talk, Wish], Wish | None]


def _everywhere(_facts: Facts) -> bool:
    return True


@immutable
class Topic:
    """One thing that can be changed.

    Attributes:
        fields: of `Wish`, that it sets.
        title: for the menu.
        told: its present value, in a few words.
        ask: asks for another one; returns None if the user goes back.
        applies: whether it means anything for a target.
    """

    fields: tuple[str, ...]
    title: str
    told: Callable[[Wish], str]
    ask: Ask
    applies: Callable[[Facts], bool] = _everywhere


def _recipe(talk: Talk, wish: Wish) -> Wish | None:
    offers = talk.compared(wish)
    menu = Menu(
        question="Which recipe?",
        answers=offer_answers(offers),
        meanings=offer_meanings(offers),
        default=wish.recipe,
    )
    name = chosen_or_back(talk.asker, menu)
    if name is None or name == wish.recipe:
        return None if name is None else wish
    return replace(wish, recipe=name, version=None, level="auto", levels=())  # these belong to a recipe


def _levels(talk: Talk, wish: Wish) -> Wish | None:
    answer = ask_levels(talk.asker, recipe_named(talk.session, wish.recipe), wish)
    return None if answer is None else replace(wish, level=answer[0], levels=answer[1])


def _engine(talk: Talk, wish: Wish) -> Wish | None:
    engine = ask_engine(talk.asker, talk.facts, wish)
    return None if engine is None else replace(wish, engine=engine)


TOPICS: tuple[Topic, ...] = (
    Topic(fields=("recipe",), title="Recipe", told=lambda wish: wish.recipe, ask=_recipe),
    Topic(
        fields=("version",),
        title="Version",
        told=lambda wish: wish.version or "the newest that fits",
        ask=entries.version,
    ),
    Topic(
        fields=("level", "levels"),
        title="CPU level",
        told=lambda wish: ", ".join(wish.levels) or wish.level,
        ask=_levels,
    ),
    Topic(fields=("link",), title="Libraries", told=lambda wish: wish.link, ask=choices.link),
    Topic(
        fields=("require",),
        title="Must have",
        told=lambda wish: ", ".join(wish.require) or "what the recipe has",
        ask=entries.require,
    ),
    Topic(fields=("guard",), title="Guard", told=lambda wish: _yes(wish.guard), ask=choices.guard),
    Topic(fields=("pin",), title="Pin", told=lambda wish: _yes(wish.pin), ask=choices.pin),
    Topic(
        fields=("engine",),
        title="Installed by",
        told=lambda wish: wish.engine,
        ask=_engine,
        applies=is_conda,
    ),
    Topic(
        fields=("channels",),
        title="Conda channels",
        told=lambda wish: ", ".join(wish.channels) or "as conda is configured",
        ask=entries.channels,
        applies=is_conda,
    ),
    Topic(fields=("dist_name",), title="Named", told=lambda wish: wish.dist_name, ask=choices.dist_name),
    Topic(fields=("offline",), title="Offline", told=lambda wish: _yes(wish.offline), ask=choices.offline),
    Topic(
        fields=("wheelhouse",),
        title="Wheelhouse",
        told=lambda wish: str(wish.wheelhouse or "none: the package index"),
        ask=entries.wheelhouse,
    ),
    Topic(
        fields=("with_system_deps",),
        title="System packages",
        told=lambda wish: "install what is missing" if wish.with_system_deps else "leave the system alone",
        ask=choices.with_system_deps,
    ),
    Topic(fields=("toolchain",), title="Compiler", told=lambda wish: wish.toolchain, ask=choices.toolchain),
    Topic(
        fields=("jobs",),
        title="Parallel jobs",
        told=lambda wish: str(wish.jobs or "one for each CPU"),
        ask=entries.jobs,
    ),
    Topic(fields=("upgrade",), title="Look for later", told=lambda wish: _yes(wish.upgrade), ask=choices.upgrade),
    Topic(
        fields=("allow",),
        title="Risks allowed",
        told=lambda wish: ", ".join(wish.allow) or "none: each is asked for",
        ask=choices.allow,
    ),
)


def _yes(value: bool) -> str:  # noqa: FBT001 (told, and no option)
    return "yes" if value else "no"
