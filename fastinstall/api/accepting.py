"""guard accept: what has taken the place of the stack stays, and fastinstall withdraws from it; a rollback undoes that.

Guards, pins and the receipt go, in one transaction. PIL itself is not touched, neither here nor by undoing it: the
receipt comes back and with it the warnings.
"""

from pathlib import Path

from fastinstall.api.doctor import judge
from fastinstall.api.guard_files import moves_out
from fastinstall.api.guard_package import installed_package, note_removal, package_moves
from fastinstall.api.late import late_interruptions_told
from fastinstall.api.mending import mended
from fastinstall.api.observing import facts_of, recipe_named, recorded_recipe
from fastinstall.api.pinning import pin_removal
from fastinstall.api.project_guarding import pinned_project, unpin_its_project
from fastinstall.api.session import Session
from fastinstall.journal.stamp import fresh_stamp
from fastinstall.journal.store import Store
from fastinstall.journal.transaction import begin
from fastinstall.model.environment import Environment
from fastinstall.model.facts import Facts
from fastinstall.model.finding import Status
from fastinstall.model.immutable import immutable
from fastinstall.model.receipt import Move, MoveKind, Receipt
from fastinstall.probes.facts import ObservationRequest
from fastinstall.rules.conda_stack import REGISTRATION
from fastinstall.rules.protection import refuse_if_protected

_SWAPPED = "swapped"
_VERB = "guard accept"


@immutable
class Replacement:
    """What stands in the place of a stack, and may be accepted.

    Attributes:
        story: what happened, in a sentence of doctor's.
        ours: what was set up ("pillow 13.0.0+simd.v2.v3").
    """

    story: str
    ours: str


def replacement_of(session: Session, environment: Environment) -> Replacement | None:
    """Find a replacement that can be accepted, or return None if nothing is set up or ours is in place."""
    receipt = Store(Path(environment.prefix)).read_receipt()
    return _replacement(session, _facts(session, environment, receipt), receipt) if receipt is not None else None


def accept(session: Session, environment: Environment) -> Replacement | None:
    """Withdraw from an environment whose stack was replaced: guards, pins and receipt go.

    Returns:
        What was accepted; None where there is nothing to be accepted any more, and nothing has changed.

    Raises:
        RefusedError: the environment is protected, or locked by a running one.
        DamagedError: something failed, and could not be undone.
    """
    prefix = Path(environment.prefix)
    with late_interruptions_told(prefix, _VERB), mended(session, environment) as result:
        store = result.store
        receipt = store.read_receipt()
        if receipt is None:
            return None
        facts = _facts(session, environment, receipt)
        refuse_if_protected(facts)
        accepted = _replacement(session, facts, receipt)
        if accepted is not None:
            _withdraw(session, store, facts)
    return accepted


def _facts(session: Session, environment: Environment, receipt: Receipt) -> Facts:
    return facts_of(session, environment, ObservationRequest(recipe=recorded_recipe(session, environment, receipt)))


def _replacement(session: Session, facts: Facts, receipt: Receipt) -> Replacement | None:
    recipe = recipe_named(session, receipt.recipe)
    (finding,) = judge(session, facts, receipt, recipe, (_SWAPPED,)).findings
    if finding.status is not Status.ERROR:
        return None
    return Replacement(story=finding.message, ours=f"{receipt.distribution} {receipt.version}")


def _withdraw(session: Session, store: Store, facts: Facts) -> None:
    document = {"schema": "fastinstall.plan/1", "summary": _VERB, "verb": _VERB}
    stamp, site_packages = fresh_stamp(), Path(facts.interpreter.site_packages)
    project, package = pinned_project(session, facts.environment), installed_package(facts)
    with begin(store, document, site_packages=site_packages, stamp=stamp) as transaction:
        unpinning = pin_removal(store, transaction.stage)
        registration = _registration(store)
        transaction.perform((*moves_out(store, site_packages), *package_moves(facts), *registration, *unpinning))
        if package is not None:
            note_removal(package, facts, session.now(), transaction)
        if project is not None:
            unpin_its_project(session, store, project, transaction)
        transaction.retire(stamp.at)


def _registration(store: Store) -> tuple[Move, ...]:
    """Conda would go on taking our packages out of the channel that it registers."""
    if not (store.prefix / REGISTRATION).is_file():
        return ()
    return (Move(kind=MoveKind.OUT, live=REGISTRATION, kept="aside/registration.yml"),)
