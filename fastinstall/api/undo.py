"""The state before a setup."""

from collections.abc import Iterator
from pathlib import Path

from fastinstall.api.observing import facts_of, recipe_named
from fastinstall.api.project_guarding import unpin_undone
from fastinstall.api.session import Session
from fastinstall.errors import RefusedError, UndeterminedError, UsageError
from fastinstall.journal.recover import RolledBack, recover, rollback
from fastinstall.journal.store import Store
from fastinstall.model.conda import Conda
from fastinstall.model.environment import Environment, EnvironmentKind
from fastinstall.model.receipt import Receipt
from fastinstall.model.recipe import Recipe
from fastinstall.model.wish import Wish
from fastinstall.probes.environment import kind_of_prefix
from fastinstall.probes.facts import ObservationRequest
from fastinstall.probes.project import noted_project
from fastinstall.rules.conda_unmet import unmet_sentences
from fastinstall.system.lock import locked


def history(environment: Environment) -> tuple[dict[str, str], ...]:
    """What can be undone, newest first: id, state, time, and the disk space that it holds."""
    return tuple(
        {"id": info.id, "state": str(info.state), "at": info.at, "held": f"{info.held_bytes / 1e6:.1f} MB"}
        for info in Store(Path(environment.prefix)).transactions()
    )


def undo(session: Session, environment: Environment, *, to: str | None, force: bool) -> tuple[str, ...]:
    """Undo the last setup, or everything back to before `to`; an interrupted one first.

    Args:
        session: the outside world.
        environment: the target.
        to: identifier of a transaction; None for the setup that holds.
        force: move aside what has replaced ours since, instead of refusing.

    Returns:
        What was done, in sentences.

    Raises:
        RefusedError: there is nothing to undo, or something foreign is in place.
    """
    prefix = Path(environment.prefix)
    with locked(prefix):
        store = Store(prefix)
        recovered = recover(store, force=force)
        if recovered is not None and to is None:
            return (f"undone: {recovered.was} {recovered.id}, which had been interrupted",)
        receipt, transactions = store.read_receipt(), store.transactions()
        if receipt is None and not transactions:
            raise RefusedError(f"{prefix}: nothing to undo: fastinstall has set up nothing here")
        last = receipt.id if receipt is not None else transactions[0].id  # the acceptance of what is in place
        noted = noted_project(prefix)
        done = tuple(_roll_back(session, environment, to or last, force=force))
        unpinned = unpin_undone(prefix, noted)
        told = (*done, unpinned) if unpinned else done
        recipe = recipe_named(session, receipt.recipe if receipt is not None else Wish().recipe)
        return (*told, *_unmet(prefix, _names(recipe)))


def _roll_back(session: Session, environment: Environment, to: str, *, force: bool) -> Iterator[str]:
    """One setup after the other, each looked at as it then stands."""
    store = Store(Path(environment.prefix))
    identifiers = [info.id for info in store.transactions()]
    if to not in identifiers:
        raise UsageError(f"--to {to}: there is no such transaction", hint=f"known: {', '.join(identifiers)}")
    undone: list[str] = []
    for _ in identifiers[: identifiers.index(to) + 1]:
        receipt = store.read_receipt()
        intruders = _intruders(session, environment, receipt) if receipt is not None else ()
        try:
            done = rollback(store, force=force, intruders=intruders)
        except RefusedError as error:
            raise RefusedError(error.message, hint=error.hint, details=(*undone, *error.details)) from error
        undone += [f"undone before that: {identifier}" for identifier in done.ids]
        yield from _sentences(done)


def recover_interrupted(environment: Environment) -> str | None:
    """Undo a transaction that was interrupted; a sentence that says so, or None where there is none."""
    prefix = Path(environment.prefix)
    if Store(prefix).unfinished() is None:
        return None
    with locked(prefix):
        recovered = recover(Store(prefix))
    return f"{recovered.was} {recovered.id} had been interrupted, and is undone" if recovered else None


def _intruders(session: Session, environment: Environment, receipt: Receipt) -> tuple[str, ...]:
    """Metadata of what has taken PIL over since, pip's and conda's: it would contradict what comes back."""
    recipe = recipe_named(session, receipt.recipe)
    try:
        facts = facts_of(session, environment, ObservationRequest(recipe=recipe))
    except UndeterminedError:
        return ()  # its interpreter is gone; the files can come back all the same
    site_packages = facts.interpreter.site_packages.relative_to(environment.prefix)
    metadata = (owner.distribution.metadata for owner in facts.stack.owners)
    distributions = (str(site_packages / name) for name in metadata if name != receipt.metadata)
    return (*distributions, *_other_records(facts.conda, recipe, receipt))


def _other_records(conda: Conda | None, recipe: Recipe, receipt: Receipt) -> Iterator[str]:
    """Records of conda packages in the place of ours; where ours is none of conda's, conda's was there before."""
    if conda is None or receipt.conda is None:
        return
    for package in conda.packages:
        if package.name in _names(recipe) and package.dist != receipt.conda.package.dist:
            yield f"conda-meta/{package.record}"


def _names(recipe: Recipe) -> set[str]:
    """Of distributions, and of conda packages, that provide what is set up."""
    return {*recipe.replaces, recipe.source.pypi, recipe.source.chassis}


def _unmet(prefix: Path, names: set[str]) -> Iterator[str]:
    """What a conda package that came back has to have, and has no longer."""
    if kind_of_prefix(prefix) is not EnvironmentKind.CONDA:
        return
    from fastinstall.probes.conda_records import read_records  # noqa: PLC0415 (only in conda environments)

    yield from unmet_sentences(read_records(prefix / "conda-meta").packages, names, str(prefix))


def _sentences(done: RolledBack) -> tuple[str, ...]:
    # What is in place may be another tool's: a repair was undone, and what it repaired is back.
    earlier = f"it, on record as {done.receipt.distribution} {done.receipt.version}" if done.receipt else "fastinstall"
    return (
        *(f"undone: {identifier}" for identifier in done.ids),
        *(f"kept aside: {path}" for path in done.kept),
        *(f"could not come back, somebody had removed it: {path}" for path in done.lost),
        f"back to the state before {earlier}",
    )
