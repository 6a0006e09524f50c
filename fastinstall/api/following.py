"""A repair that keeps the version which somebody has put in the place of ours, built with the kernels; or says why not.

Where there is no such build, what is left is two ways: ours of the earlier version, which is a risk to be allowed by
name, or the stock one, accepted.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from fastinstall.api.observing import recipe_named
from fastinstall.api.planning import index_for, plan, settings_of
from fastinstall.api.session import Session
from fastinstall.api.target import Target
from fastinstall.errors import FailedError, FastinstallError, RefusedError, UsageError
from fastinstall.model.environment import Environment
from fastinstall.model.immutable import immutable
from fastinstall.model.plan import Plan
from fastinstall.model.receipt import Receipt
from fastinstall.model.steps import Prove
from fastinstall.model.wish import Risk, Wish
from fastinstall.probes.interpreter import observe_interpreter
from fastinstall.rules.intent import Intent
from fastinstall.rules.messages import listing
from fastinstall.rules.numbering import base_version

_OF_ONE_VERSION = (Risk.DOWNGRADE, Risk.VULNERABLE)
"""Risks that were accepted for the version of the receipt, and are asked about again for another one."""


@immutable
class Followed:
    """What came of planning for the version in place.

    Attributes:
        plan: builds it, or None if it cannot be built.
        reasons: why it cannot, attempt by attempt.
    """

    plan: Plan | None
    reasons: tuple[str, ...] = ()


def plan_following(
    session: Session, environment: Environment, receipt: Receipt, intent: Intent, wish: Wish
) -> Followed:
    """Plan our build of the version in place: by the receipt's recipe, else with the kernels merged onto it.

    Args:
        session: the outside world.
        environment: the target.
        receipt: of the setup that was replaced; its wish is kept, but for the version.
        intent: what took its place.
        wish: of this run: risks, and whether there is a network.
    """
    reasons: dict[str, None] = {}
    reachable = True
    for recipe in dict.fromkeys((receipt.recipe, Wish().recipe)):
        for wanted in _attempts(session, _wanted(receipt, recipe, intent.version, wish), reachable=reachable):
            made = _planned(session, environment, wanted)
            if isinstance(made, Plan):
                return Followed(plan=_told(made, intent))
            reasons[made.message] = None
            reachable = reachable and not isinstance(made, FailedError)
            if reachable:
                break
    return Followed(plan=None, reasons=tuple(reasons))


def _attempts(session: Session, wanted: Wish, *, reachable: bool) -> Iterator[Wish]:
    """With the index, as long as it answers; without one what was fetched before may do."""
    if reachable or wanted.offline:
        yield wanted
    source = f"[0-9a-f][0-9a-f]/*/*-{wanted.version}.tar.gz"
    if not wanted.offline and any((session.directories.cache / "downloads").glob(source)):
        yield replace(wanted, offline=True)


def _wanted(receipt: Receipt, recipe: str, version: str, wish: Wish) -> Wish:
    kept = tuple(risk for risk in receipt.wish.allow if risk not in _OF_ONE_VERSION)
    return replace(
        receipt.wish,
        recipe=recipe,
        version=version,
        upgrade=False,
        avoid=(),
        offline=wish.offline or receipt.wish.offline,
        wheelhouse=wish.wheelhouse or receipt.wish.wheelhouse,
        allow=tuple(dict.fromkeys((*kept, *wish.allow))),
    )


def _planned(session: Session, environment: Environment, wish: Wish) -> Plan | FastinstallError:
    try:
        _refuse_unless_offered(session, environment, wish)
        return plan(session, Target(prefix=Path(environment.prefix)), wish)
    except (UsageError, RefusedError, FailedError) as error:
        return error


def _refuse_unless_offered(session: Session, environment: Environment, wish: Wish) -> None:
    """Look whether there is such a version at all, before anything else is looked at for it."""
    recipe = recipe_named(session, wish.recipe)
    interpreter = observe_interpreter(Path(environment.python))
    index = index_for(session, wish, settings_of(session, Path(environment.python)))
    offered = index.releases(recipe, interpreter)
    versions = {base_version(artefact.version) for artefact in (*offered.sources, *offered.prebuilt)}
    if wish.version not in versions:
        raise UsageError(f"{offered.origin} has no {recipe.source.pypi} {wish.version}")


def _told(made: Plan, intent: Intent) -> Plan:
    """The plan with its story; like any repair it does without the measurement of speed."""
    why = f", and {listing(intent.unmet)}" if intent.unmet else ""
    story = f"{intent.story}{why}: that version is kept, and gets the kernels"
    steps = tuple(replace(step, timed=False) if isinstance(step, Prove) else step for step in made.steps)
    return replace(made, steps=steps, warnings=(story, *made.warnings))
