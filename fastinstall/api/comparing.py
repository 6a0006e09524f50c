"""The recipes side by side, for whoever has to choose: version, advisories, measured speed. Nothing is changed."""

from collections.abc import Iterator
from pathlib import Path

from fastinstall.api.catalogue import all_recipes
from fastinstall.api.planning import releases_of_all
from fastinstall.api.session import Session
from fastinstall.api.target import Target
from fastinstall.errors import DocumentError, RefusedError, UsageError
from fastinstall.model.advisory import Advisory
from fastinstall.model.artefact import Releases
from fastinstall.model.codec import open_document
from fastinstall.model.facts import Facts
from fastinstall.model.immutable import immutable
from fastinstall.model.parsing import json_data
from fastinstall.model.receipt import SpeedTable
from fastinstall.model.recipe import Recipe
from fastinstall.model.wish import Wish
from fastinstall.rules.advisories import applicable
from fastinstall.rules.buildable import buildable
from fastinstall.rules.choose import refuse_unsuited
from fastinstall.rules.numbering import base_version
from fastinstall.rules.versions import Choice, newest_fitting
from fastinstall.system import foreign


@immutable
class Offer:
    """What a recipe would give.

    Attributes:
        recipe: which one.
        choice: the version that would be built, or None if no version fits.
        problem: why none does; empty where one does.
        advisories: known against that version, the gravest first.
        speed: measured earlier on this machine for that version, or None if it was not measured.
    """

    recipe: Recipe
    choice: Choice | None
    problem: str = ""
    advisories: tuple[Advisory, ...] = ()
    speed: SpeedTable | None = None


def compare_recipes(session: Session, target: Target, facts: Facts, wish: Wish) -> tuple[Offer, ...]:
    """What each recipe would give for a target, the recommended ones first.

    Args:
        session: the outside world.
        target: what is meant.
        facts: of it.
        wish: of which the version and the levels are left out, for they belong to one recipe.

    Raises:
        FailedError: the index cannot be reached.
    """
    recipes = sorted(all_recipes(session), key=lambda recipe: not recipe.recommended)
    releases = releases_of_all(session, target, recipes, facts.interpreter, wish)
    speeds = tuple(_measured(session.directories.cache, facts.cpu.name))
    plain = Wish(recipe=wish.recipe, dist_name=wish.dist_name)
    return tuple(_offer(recipe, releases[recipe.name], facts, plain, speeds) for recipe in recipes)


def _offer(recipe: Recipe, releases: Releases, facts: Facts, wish: Wish, speeds: tuple[SpeedTable, ...]) -> Offer:
    try:
        refuse_unsuited(recipe, facts.cpu, wish)
        usable = buildable(releases, recipe, facts.cpu, wish)
        choice = newest_fitting(usable, recipe, facts.interpreter, facts.stack.dependants, wish)
    except (RefusedError, UsageError) as error:
        return Offer(recipe=recipe, choice=None, problem=error.message)
    made = f"{wish.dist_name} {base_version(choice.version)}+{recipe.source.label}."
    return Offer(
        recipe=recipe,
        choice=choice,
        advisories=applicable(recipe.advisories, choice.version, kernels=bool(recipe.expect.symbols)),
        speed=next((table for table in speeds if table.candidate.startswith(made)), None),
    )


def _measured(cache: Path, cpu: str) -> Iterator[SpeedTable]:
    """The speed tables of our cache for a CPU, the latest first."""
    found = (table for path in (cache / "speed").glob("*.json") if (table := _read(path)) is not None)
    yield from sorted((table for table in found if table.cpu == cpu), key=lambda table: table.measured_at, reverse=True)


def _read(path: Path) -> SpeedTable | None:
    try:
        return open_document(SpeedTable, "speed", json_data(foreign.read_text(path)), file=path)
    except (OSError, ValueError, DocumentError):
        return None  # of another time: it is no more than a remark here
