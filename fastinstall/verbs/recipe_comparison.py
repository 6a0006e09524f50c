"""Compare the recipes by version, advisories and measured speed. Changes nothing."""

from collections.abc import Iterator
from pathlib import Path

from fastinstall.core import foreign
from fastinstall.core.errors import RefusedError, UsageError
from fastinstall.core.values import immutable
from fastinstall.core.version_numbers import base_version
from fastinstall.model.advisories import Advisory, select_applicable_advisories
from fastinstall.model.artefact import Releases
from fastinstall.model.facts import Facts
from fastinstall.model.recipe import Recipe
from fastinstall.model.request import Request
from fastinstall.model.speed import SpeedTable
from fastinstall.observe.environments import NamedTarget, base_python, find_environment
from fastinstall.observe.recipes import load_recipes
from fastinstall.observe.session import Session
from fastinstall.setup.decide.build import select_buildable
from fastinstall.setup.decide.levels import refuse_unsuited
from fastinstall.setup.decide.versions import VersionChoice, choose_version
from fastinstall.setup.tools import defer_pip_settings, make_index


@immutable
class RecipePreview:
    """What a recipe would give.

    Attributes:
        recipe: the recipe that is previewed.
        choice: the version that would be built, or None if no version fits.
        problem: why none does; empty if one does.
        advisories: known against that version, the gravest first.
        speed: measured earlier on this machine for that version, or None if it was not measured.
    """

    recipe: Recipe
    choice: VersionChoice | None
    problem: str = ""
    advisories: tuple[Advisory, ...] = ()
    speed: SpeedTable | None = None


def compare_recipes(session: Session, target: NamedTarget, facts: Facts, request: Request) -> tuple[RecipePreview, ...]:
    """Return what each recipe would give for a target, the recommended ones first.

    Args:
        session: variables, directories, clock and event listener of this run.
        target: the environment, which may be yet to be made.
        facts: what was observed of that target.
        request: its version and levels are ignored, because they belong to one recipe.

    Raises:
        FailedError: the index cannot be reached.

    Example:
        facts = observe_facts(session, target, recipe)
        for preview in compare_recipes(session, target, facts, Request()):
            print(preview.recipe.name, preview.problem or preview.choice.version)
    """
    recipes = sorted(load_recipes(session.recipe_directories).values(), key=lambda recipe: not recipe.recommended)
    python = target.python or base_python(session) if target.new else Path(find_environment(session, target).python)
    index = make_index(session, request, defer_pip_settings(session, python))
    releases = index.releases_for(recipes, facts.interpreter)  # everything is looked up at the same time
    speeds = tuple(_read_measured_tables(session.directories.cache, facts.cpu.name))
    plain = Request(recipe=request.recipe, dist_name=request.dist_name)
    return tuple(_offer(recipe, releases[recipe.name], facts, plain, speeds) for recipe in recipes)


def _offer(
    recipe: Recipe, releases: Releases, facts: Facts, request: Request, speeds: tuple[SpeedTable, ...]
) -> RecipePreview:
    try:
        refuse_unsuited(recipe, facts.cpu, request)
        usable = select_buildable(releases, recipe, facts.cpu, request)
        choice = choose_version(usable, recipe, facts.interpreter, facts.stack.dependants, request)
    except (RefusedError, UsageError) as error:
        return RecipePreview(recipe=recipe, choice=None, problem=error.message)
    made = f"{request.dist_name} {base_version(choice.version)}+{recipe.source.label}."
    return RecipePreview(
        recipe=recipe,
        choice=choice,
        advisories=select_applicable_advisories(recipe.advisories, choice.version, kernels=bool(recipe.expect.symbols)),
        speed=next((table for table in speeds if table.candidate.startswith(made)), None),
    )


def _read_measured_tables(cache: Path, cpu: str) -> Iterator[SpeedTable]:
    """Read the speed tables of our cache for a CPU, the latest first."""
    tables = (foreign.read_kept(SpeedTable, "speed", path) for path in (cache / "speed").glob("*.json"))
    found = (table for table in tables if table is not None and table.cpu == cpu)
    yield from sorted(found, key=lambda table: table.measured_at, reverse=True)
