"""The state before a setup."""

from pathlib import Path

from fastinstall.api.observing import facts_of, recipe_named
from fastinstall.api.session import Session
from fastinstall.errors import RefusedError
from fastinstall.journal.recover import RolledBack, recover, rollback
from fastinstall.journal.store import Store
from fastinstall.model.environment import Environment
from fastinstall.model.receipt import Receipt
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
        receipt = store.read_receipt()
        if receipt is None:
            raise RefusedError(f"{prefix}: nothing to undo: fastinstall has set up nothing here")
        intruders = _intruders(session, environment, receipt)
        return _sentences(rollback(store, to=to or receipt.id, force=force, intruders=intruders))


def recover_interrupted(environment: Environment) -> str | None:
    """Undo a transaction that was interrupted; a sentence that says so, or None where there is none."""
    prefix = Path(environment.prefix)
    with locked(prefix):
        recovered = recover(Store(prefix))
    return f"{recovered.was} {recovered.id} had been interrupted, and is undone" if recovered else None


def _intruders(session: Session, environment: Environment, receipt: Receipt) -> tuple[str, ...]:
    """Metadata of distributions that have taken PIL over since: it would contradict what comes back."""
    facts = facts_of(session, environment, recipe_named(session, receipt.recipe))
    site_packages = facts.interpreter.site_packages.relative_to(environment.prefix)
    metadata = (owner.distribution.metadata for owner in facts.stack.owners)
    return tuple(str(site_packages / name) for name in metadata if name != receipt.metadata)


def _sentences(done: RolledBack) -> tuple[str, ...]:
    holds = f"{done.receipt.distribution} {done.receipt.version}" if done.receipt else "the state before fastinstall"
    return (
        *(f"undone: {identifier}" for identifier in done.ids),
        *(f"kept aside: {path}" for path in done.kept),
        *(f"could not come back, somebody had removed it: {path}" for path in done.lost),
        f"now in place: {holds}",
    )
