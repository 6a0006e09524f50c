"""What has taken the place of a stack since it was set up, and would contradict what comes back in a rollback."""

from collections.abc import Iterable, Iterator
from pathlib import Path, PurePath

from fastinstall.api.observing import recipe_named
from fastinstall.api.session import Session
from fastinstall.errors import FastinstallError
from fastinstall.journal.entries import Moving
from fastinstall.journal.log import Log
from fastinstall.journal.recover import receipt_if_readable
from fastinstall.journal.store import Store
from fastinstall.model.environment import EnvironmentKind
from fastinstall.model.receipt import MoveKind, Receipt
from fastinstall.model.recipe import Recipe
from fastinstall.model.wish import Wish
from fastinstall.probes.distributions import normalised, observe_distributions
from fastinstall.probes.environment import kind_of_prefix
from fastinstall.probes.ownership import observe_owners

_SITES = ("site-packages", "dist-packages")


def intruders_of(session: Session, store: Store) -> tuple[str, ...]:
    """Metadata of what has taken PIL over, pip's and conda's, relative to the prefix.

    From files alone: the environment's Python may be gone. A receipt that cannot be read, or is gone since the stack
    was accepted, must not be in the way either: what is ours then stands in the journals.
    """
    receipt = receipt_if_readable(store)
    recipe = recipe_of(session, receipt)
    logs = [store.journal(info.id).read() for info in store.readable()]
    found = tuple(path for site in _sites(logs) for path in _distributions(store.prefix, site, recipe))
    if receipt is None:
        brought = _brought(logs)
        return tuple(path for path in found if path not in brought)
    distributions = (path for path in found if PurePath(path).name != receipt.metadata)
    return (*distributions, *_other_records(store.prefix, recipe, receipt))


def recipe_of(session: Session, receipt: Receipt | None) -> Recipe:
    """The receipt's, which may be somebody's own and gone by now; the usual one names the same distributions."""
    try:
        return recipe_named(session, receipt.recipe if receipt is not None else Wish().recipe)
    except FastinstallError:
        return recipe_named(session, Wish().recipe)


def provided_by(recipe: Recipe) -> set[str]:
    """Names of distributions, and of conda packages, that provide what a recipe provides."""
    return {*recipe.replaces, recipe.source.pypi, recipe.source.chassis}


def _sites(logs: Iterable[Log]) -> tuple[str, ...]:
    """Every site-packages that a transaction was about."""
    begun = (log.begun for log in logs if log.begun is not None)
    directories = (directory.path for each in begun for directory in each.directories)
    return tuple(dict.fromkeys(path for path in directories if PurePath(path).name in _SITES))


def _distributions(prefix: Path, site: str, recipe: Recipe) -> Iterator[str]:
    there = observe_distributions(prefix / site)
    owners = observe_owners(prefix / site, tuple(map(normalised, provided_by(recipe))), there, thorough=False)
    yield from (f"{site}/{owner.distribution.metadata}" for owner in owners)


def _brought(logs: Iterable[Log]) -> set[str]:
    moves = (move for log in logs for entry in log.entries if isinstance(entry, Moving) for move in entry.moves)
    return {move.live for move in moves if move.kind is not MoveKind.OUT}


def _other_records(prefix: Path, recipe: Recipe, receipt: Receipt) -> Iterator[str]:
    """Records of conda packages in the place of ours; where ours is none of conda's, conda's was there before."""
    if receipt.conda is None or kind_of_prefix(prefix) is not EnvironmentKind.CONDA:
        return
    from fastinstall.probes.conda_records import read_records  # noqa: PLC0415 (only in conda environments)

    for package in read_records(prefix / "conda-meta").packages:
        if package.name in provided_by(recipe) and package.dist != receipt.conda.package.dist:
            yield f"conda-meta/{package.record}"
