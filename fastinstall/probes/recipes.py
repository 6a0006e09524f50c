"""Recipes and their shared advisories, read from directories; the first directory that has a name wins.

Behind those directories come the ones that other distributions name by the entry points `fastinstall.recipes`.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from fastinstall.errors import DocumentError, UsageError
from fastinstall.model.advisory import Advisory
from fastinstall.model.recipe import Recipe
from fastinstall.rules.messages import quote
from fastinstall.rules.recipes import parse_advisories, parse_recipe
from fastinstall.system import foreign
from fastinstall.system.resources import recipes_directory
from fastinstall.system.surroundings import refuse_planted

if TYPE_CHECKING:
    from fastinstall.extensions import Extension


def load_recipes(directories: tuple[Path, ...]) -> dict[str, Recipe]:
    """Every recipe of the directories, by name.

    Args:
        directories: those with `NAME.toml` in them; the first one that has a name wins.

    Raises:
        DocumentError: a malformed recipe.
        UsageError: a directory or a file that cannot be read.
    """
    theirs = _foreign_directories()
    files, everywhere = _files(directories, theirs), (*directories, *theirs)
    return {name: _read(file, everywhere) for name, file in sorted(files.items())}


def load_recipe(name: str, directories: tuple[Path, ...]) -> Recipe:
    """The recipe of that name; the others are not read.

    Raises:
        UsageError: there is none of that name; the hint lists those that there are.
        DocumentError: it is malformed.
    """
    files = _files(directories)
    if name not in files:
        theirs = _foreign_directories()
        files, directories = _files(directories, theirs), (*directories, *theirs)
    if name not in files:
        import difflib  # noqa: PLC0415 (only for a name that is wrong)

        near = difflib.get_close_matches(name, files, n=1)
        suggestion = f"did you mean --recipe {near[0]}? " if near else ""
        raise UsageError(
            f"no recipe is named {name!r}", hint=f"{suggestion}known: {', '.join(sorted(files)) or 'none'}"
        )
    return _read(files[name], directories)


def load_recipe_file(file: Path) -> Recipe:
    """The recipe of one file, wherever it lies; shared advisories are sought beside it, then among ours.

    Raises:
        UsageError: it cannot be read.
        DocumentError: it is malformed.
    """
    return _read(file, (file.parent, recipes_directory()))


def recipe_problems(directories: tuple[Path, ...]) -> tuple[str, ...]:
    """Why recipes of other distributions are left out, one sentence each.

    Args:
        directories: those that go before theirs.
    """
    return tuple(_problems({name: file.parent for name, file in _files(directories).items()}))


def _problems(holders: dict[str, Path]) -> Iterator[str]:
    for extension in _extensions():
        try:
            directory = extension.directory()
        except ImportError as error:
            yield f"the recipes of {extension.distribution} are left out: {error}"
            continue
        for file in sorted(directory.glob("*.toml")):
            holder = holders.setdefault(file.stem, directory)
            if holder != directory:
                yield f"the recipe {file.stem!r} of {extension.distribution} is ignored: {holder} has one of that name"


def _foreign_directories() -> tuple[Path, ...]:
    found = []
    for extension in _extensions():
        with suppress(ImportError):  # `recipe_problems` tells it
            found.append(extension.directory())
    return tuple(found)


def _extensions() -> "tuple[Extension, ...]":
    from fastinstall.extensions import RECIPES, installed  # noqa: PLC0415 (doctor takes a recipe of ours)

    return installed(RECIPES)


def _files(directories: tuple[Path, ...], theirs: tuple[Path, ...] = ()) -> dict[str, Path]:
    found: dict[str, Path] = {}
    for directory in (*directories, *theirs):
        if not directory.is_dir():
            raise UsageError(f"{directory}: not a directory of recipes", hint="check FASTINSTALL_RECIPES")
        for file in sorted(directory.glob("*.toml")):
            named = "" if directory in theirs else f", or FASTINSTALL_RECIPES={quote(directory)} from your variables"
            refuse_planted(file, {}, f"remove it{named}")
            found.setdefault(file.stem, file)
    return found


def _read(file: Path, directories: tuple[Path, ...]) -> Recipe:
    try:
        recipe = parse_recipe(_text(file), file)
    except DocumentError as error:
        raise error.hinting(f"correct it, then: fastinstall recipes check {quote(file)}") from None
    shared = tuple(
        advisory
        for index, name in enumerate(recipe.advisories_from)
        for advisory in _shared(name, file, index, directories)
    )
    return replace(recipe, advisories=(*recipe.advisories, *shared))


def _shared(name: str, recipe: Path, index: int, directories: tuple[Path, ...]) -> tuple[Advisory, ...]:
    for directory in directories:
        file = directory / "advisories" / f"{name}.toml"
        if file.is_file():
            return parse_advisories(_text(file), file)
    raise DocumentError(recipe, f"advisories_from[{index}]", f"no recipe directory has advisories/{name}.toml")


def _text(file: Path) -> str:
    try:
        return foreign.read_text(file)
    except UnicodeDecodeError as error:
        raise DocumentError(file, "", f"not UTF-8: byte {error.start}") from None
    except OSError as error:
        raise UsageError(f"{file}: cannot be read: {error.strerror or error}") from error
