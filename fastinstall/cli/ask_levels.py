"""The question for CPU levels: our choice, one of them, or several in one wheel."""

from fastinstall.cli.ask import Asker
from fastinstall.cli.readers import names
from fastinstall.model.recipe import Recipe
from fastinstall.model.wish import Wish
from fastinstall.rules.messages import listing
from fastinstall.rules.wishes import AUTO

_SEVERAL = "several"


def ask_levels(asker: Asker, recipe: Recipe, wish: Wish) -> tuple[str, tuple[str, ...]]:
    """One level, or several for one wheel: what `Wish.level` and `Wish.levels` take.

    Args:
        asker: how to ask.
        recipe: whose levels there are.
        wish: what was asked for so far; the answer that is marked first.
    """
    usual = [level.name for level in reversed(recipe.levels) if level.automatic]
    answers = {AUTO: f"auto: {listing(usual)} in one wheel, or the best that suits this machine"}
    answers |= {level.name: f"{level.name} alone" for level in recipe.levels}
    answers |= {_SEVERAL: "several in one wheel, by name"}
    default = _SEVERAL if wish.levels else wish.level
    answer = asker.chosen("Which CPU level?", answers, default=default if default in answers else AUTO)
    if answer != _SEVERAL:
        return answer, ()
    return AUTO, names(asker.typed("Levels, separated by commas:", default=",".join(wish.levels or usual)))
