"""The recipes that there are."""

from pathlib import Path

from fastinstall.api.session import Session
from fastinstall.errors import UsageError
from fastinstall.model.recipe import Recipe
from fastinstall.probes.recipes import load_recipe, load_recipes


def all_recipes(session: Session) -> tuple[Recipe, ...]:
    """Every recipe, by name.

    Raises:
        DocumentError: one is malformed.
    """
    return tuple(load_recipes(session.recipe_directories).values())


def check_recipe(session: Session, file: Path) -> Recipe:
    """Read one recipe file, wherever it is.

    Raises:
        DocumentError: it is malformed; names the key.
        UsageError: there is no such file.
    """
    if not file.is_file():
        raise UsageError(f"{file}: no such recipe file")
    return load_recipe(file.stem, (file.parent, *session.recipe_directories))
