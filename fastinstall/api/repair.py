"""doctor --fix: the way back to the receipt, or on to the version that somebody wanted, by the machinery of setup."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from fastinstall.api.following import plan_following
from fastinstall.api.foretelling import foretelling
from fastinstall.api.observing import facts_of, receipt_of, recipe_named, recorded_recipe
from fastinstall.api.planning import index_for, plan, plan_restoring, settings_of
from fastinstall.api.session import Session
from fastinstall.api.setup import Agree, carry_out
from fastinstall.api.target import Target
from fastinstall.build.cache import find_wheel
from fastinstall.errors import UnprovenError
from fastinstall.model.artefact import Artefact, Releases
from fastinstall.model.environment import Environment, EnvironmentKind
from fastinstall.model.event import Noted
from fastinstall.model.facts import Facts
from fastinstall.model.immutable import immutable
from fastinstall.model.plan import Plan
from fastinstall.model.receipt import Receipt
from fastinstall.model.wish import Wish
from fastinstall.probes.facts import ObservationRequest
from fastinstall.rules.conda_reinstall import with_reinstalls
from fastinstall.rules.guard_plan import guard_plan
from fastinstall.rules.intent import Intent, intent_of
from fastinstall.rules.planner import nothing_to_do
from fastinstall.rules.returning import refusal, returning, with_word_of

_VERB = "doctor --fix"
"""What the list of what can be undone calls it."""


def plan_repair(session: Session, environment: Environment, wish: Wish) -> Plan:
    """Decide what makes an environment healthy again.

    Where a setup is on record, exactly its build comes back, from the cache if it is there; unless somebody has put a
    later Pillow in its place on purpose, or something requires what is there: then that version is built, with the
    receipt's wish. Where nothing is on record, it is a setup as `wish` has it.

    Raises:
        RefusedError: neither can be had; says what can be done instead.
        FastinstallError: as a setup's planning.
    """
    return replace(_planned(session, environment, wish), verb=_VERB)


def _planned(session: Session, environment: Environment, wish: Wish) -> Plan:
    receipt = receipt_of(environment)
    if receipt is None:
        return _reinstalling(session, plan(session, Target(prefix=Path(environment.prefix)), wish))
    facts = _facts(session, environment, receipt)
    recipe = recipe_named(session, receipt.recipe)
    done = nothing_to_do(facts, recipe, receipt.wish, receipt) or guard_plan(facts, recipe, receipt.wish, receipt)
    if done is not None and not _is_link(facts):
        return done
    intent = intent_of(facts, receipt)
    if intent is None or not intent.is_kept:
        restored = _restoring(session, environment, facts, receipt)
        return _reinstalling(session, with_word_of(restored, intent, receipt, recipe))
    followed = plan_following(session, environment, receipt, intent, wish)
    if followed.plan is not None:
        return _reinstalling(session, followed.plan)
    return _returning(session, _Swapped(facts=facts, receipt=receipt, intent=intent), followed.reasons, wish)


def repair(session: Session, planned: Plan, wish: Wish, agree: Agree) -> Receipt:
    """Carry out what `plan_repair` has decided.

    Args:
        session: the outside world.
        planned: the plan, consented to.
        wish: as of `plan_repair`.
        agree: asks for consent to another plan, where the version that somebody wanted does not prove.

    Raises:
        FastinstallError: as `carry_out`, `agree` and `plan_repair` say.
    """
    try:
        return _foretold(session, planned)
    except UnprovenError as error:
        swapped = _swapped(session, planned.environment)
        if swapped is None or planned.wish.version != swapped.intent.version:
            raise
        for line in error.details:
            session.emit(Noted(message=line))
        back = replace(_returning(session, swapped, (error.message,), wish), verb=_VERB)
        return _foretold(session, agree(back))


def _foretold(session: Session, plan: Plan) -> Receipt:
    with foretelling(session, plan) as telling:
        return carry_out(telling, plan).receipt


@immutable
class _Swapped:
    """An environment in which something stands in the place of ours."""

    facts: Facts
    receipt: Receipt
    intent: Intent


def _swapped(session: Session, environment: Environment) -> _Swapped | None:
    receipt = receipt_of(environment)
    if receipt is None:
        return None
    facts = _facts(session, environment, receipt)
    intent = intent_of(facts, receipt)
    return _Swapped(facts=facts, receipt=receipt, intent=intent) if intent is not None else None


def _returning(session: Session, swapped: _Swapped, reasons: Sequence[str], wish: Wish) -> Plan:
    """Back to ours, which is a risk to be allowed; refused where something requires what is in place."""
    environment, intent = swapped.facts.environment, swapped.intent
    if intent.unmet:
        raise refusal(intent, reasons, environment.prefix)
    restored = _restoring(session, environment, swapped.facts, swapped.receipt)
    return _reinstalling(session, returning(restored, intent, reasons, wish.allow))


def _restoring(session: Session, environment: Environment, facts: Facts, receipt: Receipt) -> Plan:
    return plan_restoring(session, environment, receipt, _releases(session, receipt, facts))


def _reinstalling(session: Session, planned: Plan) -> Plan:
    """In a conda environment other packages get back what was taken from them, in the same transaction."""
    environment = planned.environment
    if environment.kind is not EnvironmentKind.CONDA or not planned.steps:
        return planned
    request = ObservationRequest(recipe=recipe_named(session, planned.wish.recipe))
    conda = facts_of(session, environment, request).conda
    return with_reinstalls(planned, conda) if conda is not None else planned


def _is_link(facts: Facts) -> bool:
    """Whether PIL itself is a link: its files may be the very ones, and do not find their libraries from there."""
    return facts.stack.directory is not None and Path(facts.stack.directory).is_symlink()


def _facts(session: Session, environment: Environment, receipt: Receipt) -> Facts:
    return facts_of(session, environment, ObservationRequest(recipe=recorded_recipe(session, environment, receipt)))


def _releases(session: Session, receipt: Receipt, facts: Facts) -> Releases:
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
    settings = settings_of(session, Path(facts.interpreter.executable))
    recipe = recipe_named(session, receipt.recipe)
    return index_for(session, receipt.wish, settings).releases(recipe, facts.interpreter)
