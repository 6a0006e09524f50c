"""doctor --fix: put back what the receipt says, by the same plan machinery as setup."""

from pathlib import Path

from fastinstall.api.observing import facts_of, receipt_of, recipe_named
from fastinstall.api.planning import index_for, plan, plan_restoring, settings_of
from fastinstall.api.session import Session
from fastinstall.api.setup import Outcome, carry_out
from fastinstall.api.target import Target
from fastinstall.api.undo import recover_interrupted
from fastinstall.build.cache import find_wheel
from fastinstall.model.artefact import Artefact, Releases
from fastinstall.model.environment import Environment, EnvironmentKind
from fastinstall.model.event import Noted
from fastinstall.model.plan import Plan
from fastinstall.model.receipt import Receipt
from fastinstall.model.wish import Wish
from fastinstall.probes.facts import ObservationRequest
from fastinstall.rules.conda_reinstall import with_reinstalls
from fastinstall.rules.planner import nothing_to_do


def plan_repair(session: Session, environment: Environment, wish: Wish) -> Plan:
    """Decide what makes an environment healthy again.

    Where a setup is on record, exactly its build comes back, from the cache if it is there; where
    none is, it is a setup as `wish` has it.
    """
    planned = _planned(session, environment, wish)
    if environment.kind is not EnvironmentKind.CONDA or not planned.steps:
        return planned
    request = ObservationRequest(recipe=recipe_named(session, planned.wish.recipe))
    conda = facts_of(session, environment, request).conda
    return with_reinstalls(planned, conda) if conda is not None else planned


def repair(session: Session, planned: Plan) -> Outcome:
    """Carry out what `plan_repair` has decided."""
    return carry_out(session, planned)


def undo_interruption(session: Session, environment: Environment) -> bool:
    """Undo a transaction that was interrupted; whether there was one."""
    sentence = recover_interrupted(environment)
    if sentence is not None:
        session.emit(Noted(message=sentence))
    return sentence is not None


def _planned(session: Session, environment: Environment, wish: Wish) -> Plan:
    receipt = receipt_of(environment)
    if receipt is None:
        return plan(session, Target(prefix=Path(environment.prefix)), wish)
    recipe = recipe_named(session, receipt.recipe)
    facts = facts_of(session, environment, ObservationRequest(recipe=recipe))
    done = nothing_to_do(facts, recipe, receipt.wish, receipt)
    if done is not None:
        return done
    return plan_restoring(session, environment, receipt, _releases(session, receipt, environment))


def _releases(session: Session, receipt: Receipt, environment: Environment) -> Releases:
    cached = find_wheel(session.directories.cache, receipt.wheel_sha256)
    if cached is not None:
        wheel = Artefact(
            name=receipt.distribution,
            version=receipt.version,
            filename=cached.name,
            url=cached.as_uri(),
            sha256=receipt.wheel_sha256,
        )
        return Releases(sources=(), wheels=(), prebuilt=(wheel,), origin="fastinstall's cache")
    recipe = recipe_named(session, receipt.recipe)
    facts = facts_of(session, environment, ObservationRequest(recipe=recipe))
    settings = settings_of(session, Path(facts.interpreter.executable))
    return index_for(session, receipt.wish, settings).releases(recipe, facts.interpreter)
