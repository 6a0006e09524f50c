"""What is built, and of what: version, levels and libraries, in this order. Pure."""

from dataclasses import replace

from fastinstall.errors import RefusedError
from fastinstall.model.artefact import Releases
from fastinstall.model.facts import Interpreter
from fastinstall.model.immutable import immutable
from fastinstall.model.recipe import Level
from fastinstall.model.wish import LinkMode
from fastinstall.rules.buildable import buildable
from fastinstall.rules.choose import LevelChoice, choose_levels, hindrance_to_several, in_order, refuse_unsuited
from fastinstall.rules.labels import labelled_levels
from fastinstall.rules.messages import listing
from fastinstall.rules.native import NativeChoice, choose_libraries, wanted_libraries
from fastinstall.rules.situation import Situation
from fastinstall.rules.statics import StaticChoice, choose_statics
from fastinstall.rules.versions import Choice, newest_fitting
from fastinstall.rules.wishes import AUTO, asked_levels


@immutable
class Decision:
    """What is built, and of what.

    Attributes:
        situation: what it was decided from; of a repair, with the wish for what the receipt says.
        choice: the version, with the files that belong to it.
        levels: CPU levels.
        statics: libraries that are linked into the core.
        native: all libraries, and how what they need comes here.
    """

    situation: Situation
    choice: Choice
    levels: LevelChoice
    statics: StaticChoice
    native: NativeChoice


def decide(situation: Situation) -> Decision:
    """Decide what is built, and of what.

    Raises:
        RefusedError: no version or level fits, or something is missing that this wish does not allow to install.
        UsageError: an unknown level, version or library.
    """
    situation = _pinned(situation)
    recipe, wish = situation.recipe, situation.wish
    releases, choice = _chosen(situation)
    levels = _levels(situation, choice)
    if choice.prebuilt is not None:
        statics, native = StaticChoice(artefacts={}, reasons=()), NativeChoice(enabled=(), steps=(), missing=())
    elif situation.cached is not None:
        statics = choose_statics(recipe, releases, wish.link)
        native = NativeChoice(enabled=wanted_libraries(recipe, wish, chassis=choice.chassis is not None))
    else:
        statics = choose_statics(recipe, releases, wish.link)
        native = _native(situation, choice, statics)
    return Decision(situation=situation, choice=choice, levels=levels, statics=statics, native=native)


def compiles(situation: Situation) -> bool:
    """Whether something is built, and no wheel taken that is ready; the toolchain is not looked at.

    Raises:
        RefusedError: no version or level fits.
        UsageError: an unknown level or version.
    """
    _releases, choice = _chosen(_pinned(situation))
    return choice.prebuilt is None


def _chosen(situation: Situation) -> tuple[Releases, Choice]:
    """What there is for the machine and the wish, and what is taken of it."""
    facts, recipe, wish = situation.facts, situation.recipe, situation.wish
    refuse_unsuited(recipe, facts.cpu, wish)
    releases = buildable(situation.releases, recipe, facts.cpu, wish)
    return releases, newest_fitting(releases, recipe, facts.interpreter, facts.stack.dependants, wish)


def _pinned(situation: Situation) -> Situation:
    """What is put back is the version and the levels of the receipt, whatever there is by now."""
    receipt, wish = situation.receipt, situation.wish
    if not situation.restoring or receipt is None:
        return situation
    pinned = replace(wish, version=receipt.source_version, level=AUTO, levels=receipt.levels, avoid=())
    return replace(situation, wish=pinned)


def _levels(situation: Situation, choice: Choice) -> LevelChoice:
    facts, recipe, wish = situation.facts, situation.recipe, situation.wish
    if choice.prebuilt is None:
        hindrance = hindrance_to_several(facts.interpreter, wish.link, chassis=choice.chassis is not None)
        return choose_levels(recipe, facts.cpu, wish, hindrance=hindrance)
    if asked_levels(wish):
        return choose_levels(recipe, facts.cpu, wish)
    levels = in_order(recipe, labelled_levels(recipe, choice.prebuilt.version))
    return LevelChoice(levels=levels, reason=_levels_inside(levels, facts.interpreter))


def _levels_inside(levels: tuple[Level, ...], interpreter: Interpreter) -> str:
    told = f"{listing(level.name for level in levels)} in it"
    hindrance = hindrance_to_several(interpreter, LinkMode.BUNDLE, chassis=True)
    if len(levels) == 1 or not hindrance:
        return told
    return f"{told}, of which {levels[0].name} is loaded here: {hindrance}"


def _native(situation: Situation, choice: Choice, statics: StaticChoice) -> NativeChoice:
    if situation.facts.toolchain is None:
        raise RefusedError("the toolchain of this machine was not observed, so nothing can be built")
    chassis = choice.chassis is not None and situation.wish.link is LinkMode.BUNDLE
    return choose_libraries(
        situation.recipe, situation.facts, situation.wish, chassis=chassis, statics=tuple(statics.artefacts)
    )
