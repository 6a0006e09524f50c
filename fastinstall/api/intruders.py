"""What has taken the place of a stack since it was set up, and would contradict what comes back in a rollback."""

from collections.abc import Iterator

from fastinstall.api.observing import facts_of, recipe_named
from fastinstall.api.session import Session
from fastinstall.errors import FastinstallError, UndeterminedError
from fastinstall.journal.entries import Moving
from fastinstall.journal.recover import receipt_if_readable
from fastinstall.journal.store import Store
from fastinstall.model.conda import Conda
from fastinstall.model.environment import Environment
from fastinstall.model.facts import Facts
from fastinstall.model.receipt import MoveKind, Receipt
from fastinstall.model.recipe import Recipe
from fastinstall.model.wish import Wish
from fastinstall.probes.facts import ObservationRequest


def intruders_of(session: Session, environment: Environment, store: Store) -> tuple[str, ...]:
    """Metadata of what has taken PIL over, pip's and conda's, relative to the prefix.

    A receipt that cannot be read, or is gone since the stack was accepted, must not be in the way: what is ours then
    stands in the journals.
    """
    receipt = receipt_if_readable(store)
    recipe = recipe_of(session, receipt)
    try:
        facts = facts_of(session, environment, ObservationRequest(recipe=recipe))
    except UndeterminedError:
        return ()  # its interpreter is gone; the files can come back all the same
    if receipt is None:
        brought = _brought(store)
        return tuple(path for path in _distributions(facts) if path not in brought)
    ours = str(facts.interpreter.site_packages.relative_to(environment.prefix) / receipt.metadata)
    distributions = (path for path in _distributions(facts) if path != ours)
    return (*distributions, *_other_records(facts.conda, recipe, receipt))


def recipe_of(session: Session, receipt: Receipt | None) -> Recipe:
    """The receipt's, which may be somebody's own and gone by now; the usual one names the same distributions."""
    try:
        return recipe_named(session, receipt.recipe if receipt is not None else Wish().recipe)
    except FastinstallError:
        return recipe_named(session, Wish().recipe)


def provided_by(recipe: Recipe) -> set[str]:
    """Names of distributions, and of conda packages, that provide what a recipe provides."""
    return {*recipe.replaces, recipe.source.pypi, recipe.source.chassis}


def _distributions(facts: Facts) -> Iterator[str]:
    site_packages = facts.interpreter.site_packages.relative_to(facts.environment.prefix)
    yield from (str(site_packages / owner.distribution.metadata) for owner in facts.stack.owners)


def _brought(store: Store) -> set[str]:
    logs = (store.journal(info.id).read() for info in store.readable())
    moves = (move for log in logs for entry in log.entries if isinstance(entry, Moving) for move in entry.moves)
    return {move.live for move in moves if move.kind is not MoveKind.OUT}


def _other_records(conda: Conda | None, recipe: Recipe, receipt: Receipt) -> Iterator[str]:
    """Records of conda packages in the place of ours; where ours is none of conda's, conda's was there before."""
    if conda is None or receipt.conda is None:
        return
    for package in conda.packages:
        if package.name in provided_by(recipe) and package.dist != receipt.conda.package.dist:
            yield f"conda-meta/{package.record}"
