"""`fastinstall recipes list|show|check`: list, show and check recipes."""

from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path

from fastinstall.cli.common import session_of, tell
from fastinstall.cli.console import Page
from fastinstall.cli.main import Context
from fastinstall.core.codec import dump, encode
from fastinstall.core.errors import ExitCode, UsageError
from fastinstall.core.messages import quote
from fastinstall.model.recipe import Recipe
from fastinstall.observe.recipes import load_recipe_file, load_recipes, recipe_named
from fastinstall.observe.session import Session


def run(arguments: Namespace, context: Context) -> int:
    """Run the action that the command line names."""
    session = session_of(context)
    action = {"list": _list, "show": _show, "check": _check}[arguments.action]
    return action(session, arguments, context)


def _list(session: Session, arguments: Namespace, context: Context) -> int:
    if arguments.names:
        name = arguments.names[0]
        raise UsageError(f"recipes list takes no names: {name}", hint=f"fastinstall recipes show {quote(name)}")
    recipes = load_recipes(session.recipe_directories).values()
    width = max(len(recipe.name) for recipe in recipes)
    lines = "\n".join(f"{recipe.name:<{width}}  {_summarize_recipe(recipe)}" for recipe in recipes)
    tell(context, "recipes", {"recipes": tuple(recipes)}, lambda *_: lines)
    return ExitCode.OK


def _show(session: Session, arguments: Namespace, context: Context) -> int:
    if not arguments.names:
        raise UsageError("recipes show: name a recipe", hint="fastinstall recipes list")
    console = context.console
    for name in arguments.names:
        recipe = recipe_named(session, name)
        if console.json:
            console.document(dump(encode(recipe)))
        else:
            console.data(_format_recipe(recipe, console.out))
    return ExitCode.OK


def _check(session: Session, arguments: Namespace, context: Context) -> int:
    for name in arguments.names or load_recipes(session.recipe_directories):
        is_file = name.endswith(".toml")
        recipe = load_recipe_file(Path(name)) if is_file else recipe_named(session, name)
        context.console.talk(f"ok: {recipe.name}")
    return ExitCode.OK


def _format_recipe(recipe: Recipe, page: Page) -> str:
    lines = list(page.lines(f"{recipe.name}: {_summarize_recipe(recipe)}", rest="  "))
    for name, value in _list_recipe_rows(recipe):
        lines += page.lines(value, first=f"  {name:<10} ", rest=" " * 13)
    for advisory in recipe.advisories:
        concerns = f"{advisory.component or 'Pillow'} {advisory.affects}"
        text = f"{advisory.id} ({advisory.severity}, {concerns}): {advisory.summary}"
        lines += page.lines(text, first="    ", rest="      ")
        lines.append(f"      {advisory.source}, as of {advisory.dated}")
    return "\n".join(lines)


def _summarize_recipe(recipe: Recipe) -> str:
    return f"{recipe.summary} (recommended)" if recipe.recommended else recipe.summary


def _list_recipe_rows(recipe: Recipe) -> Iterator[tuple[str, str]]:
    yield "source", f"{recipe.source.pypi} (sdist), in the official wheel of {recipe.source.base_wheel}"
    if recipe.kernels:
        yield "kernels", ", ".join(kernel.name for kernel in recipe.kernels)
    linked = [f"{library.static.pypi} for {name}" for name, library in recipe.libraries.items() if library.static]
    if linked:
        yield "linked in", ", ".join(linked)
    yield "replaces", ", ".join(recipe.replaces)
    yield "flags", " ".join(recipe.base_cflags)
    yield "levels", ", ".join(level.name for level in recipe.levels)
    yield "libraries", ", ".join(recipe.libraries)
    yield "advisories", str(len(recipe.advisories))
