"""Whether a recipe knows what is wished for; asked before anything is observed or looked up. Pure."""

from fastinstall.errors import UsageError
from fastinstall.model.recipe import Recipe
from fastinstall.model.wish import Wish
from fastinstall.rules.levels import LEVELS

AUTO = "auto"


def refuse_unknown(recipe: Recipe, wish: Wish) -> None:
    """Raise where a wish names a level or a library that the recipe does not have.

    Raises:
        UsageError: names the flag; the hint lists what is known.
    """
    refuse_unknown_levels(recipe, wish)
    for name in wish.require:
        if name not in recipe.libraries:
            known = ", ".join(recipe.libraries)
            raise UsageError(f"--require {name}: {recipe.name} knows no such library", hint=f"known: {known}")


def refuse_unknown_levels(recipe: Recipe, wish: Wish) -> None:
    """Raise where a recipe has no level of a wished name, or where they do not go together.

    Raises:
        UsageError: the hint lists the levels.
    """
    if wish.levels and wish.level != AUTO:
        raise UsageError(
            f"--level {wish.level} and --levels {','.join(wish.levels)} exclude each other",
            hint="--levels puts several into one wheel, --level takes one",
        )
    known = [level.name for level in recipe.levels]
    _refuse_others("--level", (wish.level,), (AUTO, *known), recipe)
    _refuse_others("--levels", wish.levels, known, recipe)
    apart = [name for name in wish.levels if name not in LEVELS]
    if apart and len(set(wish.levels)) > 1:
        choosable = ",".join(name for name in reversed(known) if name in LEVELS)
        raise UsageError(
            f"--levels {','.join(wish.levels)}: {apart[0]} cannot be combined: the loader cannot choose it",
            hint=f"--level {apart[0]} alone, or some of --levels {choosable}",
        )


def asked_levels(wish: Wish) -> tuple[str, ...]:
    """The levels that are named, each once; none where the choice is left to us."""
    return tuple(dict.fromkeys(wish.levels)) or (() if wish.level == AUTO else (wish.level,))


def _refuse_others(flag: str, names: tuple[str, ...], known: list[str] | tuple[str, ...], recipe: Recipe) -> None:
    for name in names:
        if name not in known:
            raise UsageError(f"{flag} {name}: {recipe.name} has no such level", hint=f"known: {', '.join(known)}")
