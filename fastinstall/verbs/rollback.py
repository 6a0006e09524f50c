"""Undo setups, newest first; refuse if another stack has replaced ours, or with `force` move that stack aside."""

from collections.abc import Iterator
from contextlib import nullcontext, suppress
from pathlib import Path, PurePath

from fastinstall.conda.reinstall import describe_unmet_requirements
from fastinstall.core import signals
from fastinstall.core.errors import EnvironmentDamagedError, FastinstallError, RefusedError
from fastinstall.core.messages import quote
from fastinstall.core.version_numbers import base_version, normalise_distribution_name
from fastinstall.journal.entries import Moving
from fastinstall.journal.foresee import extend_to_intact_stack
from fastinstall.journal.layout import KEPT
from fastinstall.journal.rollback import (
    RolledBack,
    is_transaction,
    list_undoable_transactions,
    position,
    receipt_if_readable,
    rollback,
)
from fastinstall.journal.store import JournalStore, TransactionInfo
from fastinstall.model.conda import CondaPackage
from fastinstall.model.facts import Environment, EnvironmentKind
from fastinstall.model.history import MoveKind
from fastinstall.model.receipt import Receipt
from fastinstall.model.request import Request
from fastinstall.observe.environments import kind_of_prefix, scan_environment
from fastinstall.observe.interpreter import explain_absence
from fastinstall.observe.recipes import recipe_named
from fastinstall.observe.session import Session
from fastinstall.observe.stack import observe_distributions, observe_owners
from fastinstall.setup.recovery import change_environment, describe_interruptions, report_interruption_after_recovery
from fastinstall.wheelbuild.wheel_cache import discard_unneeded_wheels, has_kept_wheels

_SITES = ("site-packages", "dist-packages")


def roll_back(session: Session, environment: Environment, *, to: str | None, force: bool) -> tuple[str, ...]:
    """Undo the last setup; or, if `to` is given, undo the transaction `to` and all later ones.

    If an earlier run was interrupted, only recover from the interruption, and undo no finished setup: a user who
    repeats a failed rollback does not want to undo one more setup. But if `to` still names a transaction after the
    recovery, also undo that transaction and all later ones.

    Args:
        session: variables, directories, clock and event listener of this run.
        environment: the target environment, as returned by `find_environment`.
        to: the ID of a transaction, or the beginning of the ID; None for the current setup.
        force: move aside a stack that has replaced ours, instead of refusing.

    Returns:
        Sentences that describe what was done.

    Raises:
        RefusedError: there is nothing to undo, the originals are missing, or another tool replaced the stack.
        UsageError: `to` matches no transaction, or several.

    Example:
        for line in roll_back(session, environment, to=None, force=False):
            print(line)
    """
    alone = report_interruption_after_recovery(Path(environment.prefix)) if to is None else nullcontext()
    with alone, change_environment(session, environment, "rollback", force=force) as locked:
        store = locked.store
        if locked.sentences and (to is None or not is_transaction(store, to)):
            again = f"to undo the last setup: fastinstall rollback --prefix {quote(store.prefix)}"
            return (*locked.sentences, *((f"nothing else was undone; {again}",) if store.readable() else ()))
        receipt, chosen = receipt_if_readable(store), _choose_ids_to_undo(store, to)
        with signals.defer_signals():  # undo all of the transactions, or none
            done = tuple(_undo_transactions(session, environment, chosen, to, force=force))
        with suppress(OSError, RefusedError):  # the rollback is done, even if the cache cannot be cleaned
            if has_kept_wheels(session.directories.cache):  # some of the kept wheels may no longer be needed
                discard_unneeded_wheels(session.own_cache())
        packages, names = _read_conda_packages(store.prefix), _list_provided_names(session, receipt)
        unmet = describe_unmet_requirements(packages, names, str(store.prefix))
        return (*locked.sentences, *done, *unmet)


def end_interrupted_run(session: Session, environment: Environment, *, force: bool) -> tuple[str, ...]:
    """Recover from an interrupted run, and do nothing else.

    Args:
        session: variables, directories, clock and event listener of this run.
        environment: the target environment, as returned by `find_environment`.
        force: move aside files that are in the way of files to be restored, instead of refusing.

    Returns:
        Sentences that describe what was done; if nothing was interrupted, a sentence that says so.

    Raises:
        FastinstallError: raised by `change_environment`.

    Example:
        for line in end_interrupted_run(session, environment, force=False):
            print(line)
    """
    alone = report_interruption_after_recovery(Path(environment.prefix))
    with alone, change_environment(session, environment, "recovery", force=force) as locked:
        return locked.sentences or (f"nothing was interrupted in {environment.prefix}",)


def _choose_ids_to_undo(store: JournalStore, to: str | None) -> tuple[str, ...]:
    """Return the IDs of the transactions to undo, newest first.

    The last of them is `to` or, without `to`, the current setup. If the current setup repaired an altered stack, the
    setup of that stack is undone, too.
    """
    infos = list_undoable_transactions(store)
    if to is not None:
        return tuple(info.id for info in infos[: position(infos, to) + 1])
    receipt = receipt_if_readable(store)
    known = tuple(info.id for info in infos)
    if receipt is None:
        if not known:
            raise RefusedError(
                f"{store.prefix}: nothing to undo: fastinstall has not set up this environment",
                hint=f"see what is there: fastinstall doctor --prefix {quote(store.prefix)}",
            )
        return known[:1]  # the current setup is unknown: the replacement was accepted, or the receipt is unreadable
    if receipt.id not in known:
        raise _make_missing_cache_error(store, receipt, known)
    own = known.index(receipt.id) + 1
    return extend_to_intact_stack(store, known[:own], known[own:])


def list_rollback_notices(environment: Environment, to: str | None) -> Iterator[str]:
    """Yield warnings to show before consent: unexpected results of this rollback, each with an alternative.

    Raises:
        RefusedError: there is nothing to undo, not even an interrupted run, so there is nothing to consent to.

    Example:
        for notice in list_rollback_notices(environment, to=None):
            print(notice)
    """
    store = JournalStore(Path(environment.prefix))
    try:
        infos = list_undoable_transactions(store)
        chosen = _choose_ids_to_undo(store, to)
        known, receipt = tuple(info.id for info in infos), receipt_if_readable(store)
        current = known.index(receipt.id) + 1 if receipt is not None and receipt.id in known else 0
        own = len(chosen) if to is not None else current  # number of transactions that the user wants to undo
        intact = extend_to_intact_stack(store, known[:own], known[own:]) if own else ()
    except FastinstallError:
        if not store.readable() and not store.unreadable() and not describe_interruptions(environment):
            raise
        return  # `roll_back` will report the error
    if len(intact) > own:
        repair, repaired = infos[own - 1], infos[len(intact) - 1]
        yield _describe_repair(store.prefix, repair, repaired, is_named=to is not None)


def _describe_repair(prefix: Path, repair: TransactionInfo, repaired: TransactionInfo, *, is_named: bool) -> str:
    verb = repair.title.verb or "run"
    found = f"the {verb} of {repair.at} found the setup of {repaired.at} replaced or damaged"
    other = f"fastinstall rollback --to {(repaired if is_named else repair).id} --prefix {quote(prefix)}"
    if is_named:
        keep = f"fastinstall guard accept --prefix {quote(prefix)}"
        return (
            f"{found}; that comes back, and doctor calls it an error; to go back to before that setup: {other}; "
            f"or, to keep what comes back: {keep}"
        )
    kept = prefix / KEPT
    return f"{found}: both are undone, and what stood there in between goes to {kept}; to have that back: {other}"


def _make_missing_cache_error(store: JournalStore, receipt: Receipt, known: tuple[str, ...]) -> RefusedError:
    where, python = quote(store.prefix), quote(receipt.environment.python)
    stock = f"pillow=={base_version(receipt.source_version)}"  # stock version that satisfies the same requirements
    replaced = f"; it had replaced {receipt.previous}" if receipt.previous else ""
    since = f"later changes can be undone: fastinstall rollback --to {known[-1]} --prefix {where}" if known else ""
    return RefusedError(
        f"{store.prefix}: cannot undo the setup of {receipt.distribution} {receipt.version} ({receipt.created_at}): "
        f"{store.directory(receipt.id)} is missing{replaced}",
        hint=f"install stock Pillow: {python} -m pip install --force-reinstall --no-deps {stock}; "
        f"then remove the guards and the record: fastinstall guard accept --prefix {where}",
        details=("the stack itself is intact; doctor --fix and setup still work", *filter(None, (since,))),
    )


def _undo_transactions(
    session: Session, environment: Environment, chosen: tuple[str, ...], to: str | None, *, force: bool
) -> Iterator[str]:
    """Undo all of the transactions, or none; yield sentences that describe what was done."""
    prefix = Path(environment.prefix)
    store = JournalStore(prefix)
    foreign_entries = _find_foreign_packages(session, store)
    oldest = None if to is None and len(chosen) == 1 else chosen[-1]
    try:
        done = rollback(store, to=oldest, force=force, foreign_entries=foreign_entries)
    except EnvironmentDamagedError as error:
        details = (*error.details, _describe_installed_stack(prefix))
        raise EnvironmentDamagedError(error.message, hint=error.hint, details=details) from error
    yield from _describe_rollback(prefix, done)
    if absent := explain_absence(Path(environment.python)):
        yield f"{environment.python}: {absent}; the files are restored, but could not be tested"


def _read_conda_packages(prefix: Path) -> tuple[CondaPackage, ...]:
    """Return the packages in conda's records of an environment; empty if it is not a conda environment."""
    if kind_of_prefix(prefix) is not EnvironmentKind.CONDA:
        return ()
    from fastinstall.observe.conda.records import read_records  # only in conda environments

    return read_records(prefix / "conda-meta").packages


def _describe_rollback(prefix: Path, done: RolledBack) -> Iterator[str]:
    kept = prefix / KEPT
    yield from (f"undone: {identifier}" for identifier in done.ids)
    yield from (f"moved aside, not fastinstall's: {path}" for path in done.kept)
    yield from (f"not restored, because it was removed since: {path}" for path in done.lost)
    if kept.is_dir():  # this rollback or an earlier one created it
        yield f"delete what was moved aside when you no longer need it: rm -r {quote(kept)}"
    before = "" if done.receipt else " to before fastinstall"
    yield f"rolled back{before}: {_describe_installed_stack(prefix)}"


def _describe_installed_stack(prefix: Path) -> str:
    """Describe which Pillow is installed, judging by its files; a receipt may claim another."""
    seen = scan_environment(prefix)
    found = " and ".join(seen.pillow) or "no Pillow"
    contradicted = f", though {seen.ours} was set up" if seen.is_replaced else ""
    return f"{found} is installed{contradicted}"


def _find_foreign_packages(session: Session, store: JournalStore) -> tuple[str, ...]:
    """Return the metadata paths, relative to the prefix, of pip and conda packages that have replaced ours.

    Only files are read, because the environment's Python may be missing. Without a readable receipt, the journals show
    which files are ours.
    """
    receipt = receipt_if_readable(store)
    names = _list_provided_names(session, receipt)
    logs = [store.journal(info.id).read() for info in store.readable()]
    directories = (directory.path for log in logs if log.begun is not None for directory in log.begun.directories)
    sites = dict.fromkeys(path for path in directories if PurePath(path).name in _SITES)
    found: list[str] = []
    for site in sites:
        installed = observe_distributions(store.prefix / site)
        wanted = tuple(map(normalise_distribution_name, names))
        owners = observe_owners(store.prefix / site, wanted, installed, thorough=False)
        found += (f"{site}/{owner.distribution.metadata}" for owner in owners)
    if receipt is None:
        moves = (move for log in logs for entry in log.entries if isinstance(entry, Moving) for move in entry.moves)
        brought = {move.live for move in moves if move.kind is not MoveKind.OUT}
        return tuple(path for path in found if path not in brought)
    distributions = (path for path in found if PurePath(path).name != receipt.metadata)
    if receipt.conda is None:  # our stack is a wheel, so a conda record is no replacement
        return tuple(distributions)
    packages = (package for package in _read_conda_packages(store.prefix) if package.name in names)
    others = (package for package in packages if package.dist != receipt.conda.package.dist)
    return (*distributions, *(f"conda-meta/{package.record}" for package in others))


def _list_provided_names(session: Session, receipt: Receipt | None) -> set[str]:
    """Return the names of distributions and conda packages that provide PIL, according to the receipt's recipe.

    Without a receipt, or if its recipe no longer exists, use the default recipe, which has the same names.
    """
    try:
        recipe = recipe_named(session, receipt.recipe if receipt is not None else Request().recipe)
    except FastinstallError:
        recipe = recipe_named(session, Request().recipe)
    return {*recipe.replaces, recipe.source.pypi, recipe.source.base_wheel}
