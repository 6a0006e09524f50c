"""The recipes that there are."""

from pathlib import Path

from fastinstall.api.session import Session
from fastinstall.model.recipe import Recipe
from fastinstall.probes import recipes
from fastinstall.probes.recipes import load_recipe_file, load_recipes


def all_recipes(session: Session) -> tuple[Recipe, ...]:
    """Every recipe, by name.

    Raises:
        DocumentError: one is malformed.
    """
    return tuple(load_recipes(session.recipe_directories).values())


def recipe_problems(session: Session) -> tuple[str, ...]:
    """Why recipes of other distributions are left out, one sentence each."""
    return recipes.recipe_problems(session.recipe_directories)


def check_recipe(file: Path) -> Recipe:
    """Read one recipe file, wherever it is.

    Raises:
        DocumentError: it is malformed; names the key.
        UsageError: it cannot be read.
    """
    return load_recipe_file(file)
