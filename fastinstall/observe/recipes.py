"""Load recipes and their shared advisories from directories; for each name, the first directory that has it wins."""

from dataclasses import replace
from functools import cache
from pathlib import Path

from fastinstall.core import foreign
from fastinstall.core.directories import recipes_directory
from fastinstall.core.errors import DocumentError, UsageError
from fastinstall.core.messages import quote
from fastinstall.core.surroundings import refuse_planted
from fastinstall.journal.layout import RECEIPT
from fastinstall.model.facts import Environment
from fastinstall.model.receipt import Receipt
from fastinstall.model.recipe import Recipe
from fastinstall.model.recipe_documents import parse_advisories, parse_recipe
from fastinstall.model.request import Request
from fastinstall.observe.session import Session


def recipe_named(session: Session, name: str) -> Recipe:
    """Return the recipe that has the given name, from the session's recipe directories.

    Raises:
        UsageError: no recipe has this name.
        DocumentError: the recipe is malformed.
    """
    return load_recipe(name, session.recipe_directories)


def read_recorded_recipe(session: Session, environment: Environment, receipt: Receipt | None) -> Recipe:
    """Return the recipe that an environment's receipt names, or the default recipe if there is no receipt.

    Raises:
        DocumentError: the receipt names a missing recipe, or the recipe is malformed.
    """
    try:
        return recipe_named(session, Request().recipe if receipt is None else receipt.recipe)
    except DocumentError:
        raise
    except UsageError as error:
        raise DocumentError(environment.prefix / RECEIPT, "recipe", error.message, hint=error.hint) from None


def load_recipes(directories: tuple[Path, ...]) -> dict[str, Recipe]:
    """Return every recipe in the given directories, by name.

    Args:
        directories: directories of `NAME.toml` files; for each name, the first directory that has it wins.

    Raises:
        DocumentError: a recipe is malformed.
        UsageError: a directory or a file cannot be read.
    """
    return {name: _read(file, directories) for name, file in sorted(_list_recipe_files(directories).items())}


def load_recipe(name: str, directories: tuple[Path, ...]) -> Recipe:
    """Return the recipe that has the given name; other recipes are not read.

    Raises:
        UsageError: no recipe has this name; the hint lists the known names.
        DocumentError: the recipe is malformed.
    """
    files = _list_recipe_files(directories)
    if name not in files:
        import difflib  # needed only if a name is wrong

        near = difflib.get_close_matches(name, files, n=1)
        suggestion = f"did you mean --recipe {near[0]}? " if near else ""
        raise UsageError(
            f"no recipe is named {name!r}", hint=f"{suggestion}known: {', '.join(sorted(files)) or 'none'}"
        )
    return _read(files[name], directories)


def load_recipe_file(file: Path) -> Recipe:
    """Return the recipe in a file outside the recipe directories.

    Shared advisories are searched beside the file, then in fastinstall's own recipe directory.

    Raises:
        UsageError: the file cannot be read.
        DocumentError: the recipe is malformed.
    """
    return _read(file, (file.parent, recipes_directory()))


def _list_recipe_files(directories: tuple[Path, ...]) -> dict[str, Path]:
    found: dict[str, Path] = {}
    for directory in directories:
        if not directory.is_dir():
            raise UsageError(f"{directory}: not a directory of recipes", hint="check FASTINSTALL_RECIPES")
        for file in sorted(directory.glob("*.toml")):
            refuse_planted(file, {}, f"remove it, or FASTINSTALL_RECIPES={quote(directory)} from your variables")
            found.setdefault(file.stem, file)
    return found


@cache  # a setup reads its recipe three times, which takes 20 ms each time
def _read(file: Path, directories: tuple[Path, ...]) -> Recipe:
    try:
        recipe = parse_recipe(_read_recipe_text(file), file)
    except DocumentError as error:
        raise error.hinting(f"correct it, then: fastinstall recipes check {quote(file)}") from None
    advisories, pixel_changes = list(recipe.advisories), list(recipe.pixel_changes)
    for index, name in enumerate(recipe.advisories_from):
        files = (directory / "advisories" / f"{name}.toml" for directory in directories)
        shared = next((each for each in files if each.is_file()), None)
        if shared is None:
            raise DocumentError(file, f"advisories_from[{index}]", f"no recipe directory has advisories/{name}.toml")
        document = parse_advisories(_read_recipe_text(shared), shared)
        advisories += document.advisories
        pixel_changes += document.pixel_changes
    return replace(recipe, advisories=tuple(advisories), pixel_changes=tuple(pixel_changes))


def _read_recipe_text(file: Path) -> str:
    try:
        return foreign.read_text(file)
    except UnicodeDecodeError as error:
        raise DocumentError(file, "", f"not UTF-8: byte {error.start}") from None
    except OSError as error:
        raise UsageError(f"{file}: cannot be read: {error.strerror or error}") from error
