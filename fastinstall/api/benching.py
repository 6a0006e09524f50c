"""Proof of speed on demand: every operation, the stack in place against the newest official wheel."""

from pathlib import Path

from fastinstall.actions.prove import unpacked
from fastinstall.actions.workshop import Workshop
from fastinstall.api.observing import facts_of, recipe_named
from fastinstall.api.planning import index_for, settings_of
from fastinstall.api.session import Session
from fastinstall.bench.measure import Circumstances, Contender, Effort, measure
from fastinstall.errors import FailedError, UndeterminedError
from fastinstall.model.environment import Environment
from fastinstall.model.receipt import SpeedTable
from fastinstall.model.wish import Wish
from fastinstall.probes.facts import ObservationRequest


def bench(session: Session, environment: Environment, effort: Effort | None = None) -> SpeedTable:
    """Measure every operation.

    Raises:
        UndeterminedError: there is no PIL to measure.
        FailedError: no official wheel to compare with.
    """
    wish = Wish()
    recipe = recipe_named(session, wish.recipe)
    facts = facts_of(session, environment, ObservationRequest(recipe=recipe))
    if facts.stack.core is None:
        raise UndeterminedError(f"{environment.prefix} has no PIL to measure", hint="fastinstall setup")
    python = Path(facts.interpreter.executable)
    index = index_for(session, wish, settings_of(session, python))
    wheels = index.releases(recipe, facts.interpreter).wheels
    if not wheels:
        raise FailedError("there is no official wheel for this Python to compare with")
    now = session.now()
    workshop = Workshop(
        recipe=recipe,
        index=index,
        cache=session.own_cache(),
        variables=session.variables,
        emit=session.emit,
        now=now,
        cpu=facts.cpu,
    )
    return measure(
        Contender(label=f"pillow {wheels[0].version} (wheel)", python=python, stage=unpacked(wheels[0], workshop)),
        Contender(label=f"pillow {facts.stack.version} (in place)", python=python),
        effort or Effort(operations=()),
        Circumstances(
            cpu=facts.cpu.name,
            measured_at=now.isoformat(timespec="seconds"),
            variables=session.variables,
            emit=session.emit,
        ),
    )
