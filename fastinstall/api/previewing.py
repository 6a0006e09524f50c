"""What a conda engine's solver says before a plan is made; nothing is changed."""

from dataclasses import replace

from fastinstall.api.session import Session
from fastinstall.errors import FailedError
from fastinstall.installers.conda.choose import engine_for
from fastinstall.installers.conda.engine import CondaEngine
from fastinstall.installers.conda.means import Means
from fastinstall.installers.conda.microarchitectures import microarchitectures
from fastinstall.model.conda import Conda, CondaChange, CondaRequest, CondaTool, Engine
from fastinstall.model.environment import EnvironmentKind
from fastinstall.model.event import Started
from fastinstall.rules.conda_engine import planned_engine
from fastinstall.rules.conda_request import conda_request
from fastinstall.rules.messages import listing
from fastinstall.rules.situation import Situation


def previewed(session: Session, situation: Situation) -> Situation:
    """The situation, with what a solver says where the stack becomes conda packages; else as it is.

    Raises:
        RefusedError: there is no engine, or its solver finds no solution.
        FailedError: the engine failed, or said nothing of what it was asked.
    """
    facts, wish = situation.facts, situation.wish
    if facts.environment.kind is not EnvironmentKind.CONDA or facts.conda is None:
        return situation
    chosen = planned_engine(situation)
    if chosen is Engine.PIP:
        return situation
    known = replace(situation, microarchitectures=microarchitectures(level.name for level in situation.recipe.levels))
    request = conda_request(known)
    if request is None:
        return known
    engine = engine_of(session, chosen, facts.conda.tool, offline=wish.offline)
    session.emit(Started(stage="solve", message=f"asking {engine.description} what would change"))
    preview = engine.preview(request)
    _refuse_silence(request, preview, facts.conda, engine)
    return replace(known, preview=preview)


def engine_of(session: Session, engine: Engine, tool: CondaTool | None, *, offline: bool) -> CondaEngine:
    """An engine that works by this session's variables and cache.

    Raises:
        RefusedError: it is not there.
    """
    means = Means(variables=session.variables, cache=session.own_cache() / "conda", emit=session.emit, offline=offline)
    return engine_for(engine, tool, means)


def _refuse_silence(request: CondaRequest, preview: CondaChange, conda: Conda, engine: CondaEngine) -> None:
    """An answer without the packages that were asked for is none, and not the news that nothing else changes."""
    told = {package.dist for package in (*preview.linked, *conda.packages)}
    untold = [package.dist for package in request.ours if package.dist not in told]
    if untold:
        raise FailedError(
            f"{engine.description}: what it says of {listing(untold)} cannot be understood",
            hint=f"take another engine: --engine {Engine.RATTLER if engine.name is Engine.CONDA else Engine.CONDA}",
        )
