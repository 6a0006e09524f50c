"""Whether a recipe knows what is wished for; asked before anything is observed or looked up. Pure."""

from fastinstall.errors import UsageError
from fastinstall.model.recipe import Recipe
from fastinstall.model.wish import Wish

AUTO = "auto"


def refuse_unknown(recipe: Recipe, wish: Wish) -> None:
    """Raise where a wish names a level or a library that the recipe does not have.

    Raises:
        UsageError: names the flag; the hint lists what is known.
    """
    refuse_unknown_level(recipe, wish.level)
    for name in wish.require:
        if name not in recipe.libraries:
            known = ", ".join(recipe.libraries)
            raise UsageError(f"--require {name}: {recipe.name} knows no such library", hint=f"known: {known}")


def refuse_unknown_level(recipe: Recipe, name: str) -> None:
    """Raise where a recipe has no level of that name, and it is not "auto".

    Raises:
        UsageError: the hint lists the levels.
    """
    if name != AUTO and name not in [level.name for level in recipe.levels]:
        known = ", ".join((AUTO, *(level.name for level in recipe.levels)))
        raise UsageError(f"--level {name}: {recipe.name} has no such level", hint=f"known: {known}")
