"""The question for CPU levels: our choice, one of them, or several in one wheel."""

from fastinstall.cli.ask import Asker
from fastinstall.cli.ask_back import Menu, chosen_or_back, typed_or_back
from fastinstall.cli.readers import names
from fastinstall.model.recipe import Recipe
from fastinstall.model.wish import Wish
from fastinstall.rules.messages import listing
from fastinstall.rules.wishes import AUTO

_SEVERAL = "several"
_SAID = {
    "x86-64-v4": "for CPUs with AVX-512; measured to be 3 to 6 % slower than x86-64-v3 on resizing (2026-11-21)",
    "x86-64-v3": "for CPUs with AVX2, Intel since 2013 and AMD since 2015; as fast as a build for this very CPU",
    "x86-64-v2": "for any CPU since about 2011, slower: 1.8 times stock Pillow where x86-64-v3 is 2.1 (2026-11-21)",
    "native": "for CPUs just like this one, others may refuse it; measured to be no faster than x86-64-v3",
}


def ask_levels(asker: Asker, recipe: Recipe, wish: Wish) -> tuple[str, tuple[str, ...]] | None:
    """One level, or several for one wheel: what `Wish.level` and `Wish.levels` take; None where the person goes back.

    Args:
        asker: how to ask.
        recipe: whose levels there are.
        wish: what was asked for so far; the answer that is marked first.
    """
    usual = [level.name for level in reversed(recipe.levels) if level.automatic]
    meanings = {AUTO: f"{listing(usual)} in one wheel, of which each machine loads its best; right for nearly all"}
    meanings |= {level.name: f"{_said(level.name)}" for level in recipe.levels}
    meanings[_SEVERAL] = "in one wheel, named one by one; needs glibc 2.33 or later"
    answers = {name: name if name in (AUTO, _SEVERAL) else f"{name} alone" for name in meanings}
    default = _SEVERAL if wish.levels else wish.level
    question = "Which CPU level (instructions that it may use)?"
    menu = Menu(question=question, answers=answers, meanings=meanings, default=default if default in answers else AUTO)
    answer = chosen_or_back(asker, menu)
    if answer is None:
        return None
    return _several(asker, wish, usual) if answer == _SEVERAL else (answer, ())


def _several(asker: Asker, wish: Wish, usual: list[str]) -> tuple[str, tuple[str, ...]] | None:
    default = ",".join(wish.levels or usual)
    typed = typed_or_back(asker, "Levels, separated by commas", names, lambda _: None, default=default)
    return None if typed is None else (AUTO, names(typed))


def _said(name: str) -> str:
    return _SAID.get(name, "a level of this recipe")
