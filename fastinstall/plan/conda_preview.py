"""Ask the engine of conda packages what a change of them would bring, before a plan is made."""

from dataclasses import replace

from fastinstall.conda.engines.choose import CondaTools, open_engine
from fastinstall.conda.microarchitectures import find_microarchitectures
from fastinstall.core.errors import FailedError
from fastinstall.core.events import Started
from fastinstall.core.messages import listing
from fastinstall.model.conda import CondaEngine, CondaInstaller, CondaTool
from fastinstall.model.facts import EnvironmentKind
from fastinstall.observe.session import Session
from fastinstall.plan.conda_steps import choose_conda_engine, make_conda_request
from fastinstall.plan.protection import refuse_if_protected
from fastinstall.plan.situation import Situation


def preview_conda_change(session: Session, situation: Situation) -> Situation:
    """Return the situation with what conda's solver would change, where the stack becomes conda packages.

    Raises:
        RefusedError: there is no engine, or its solver finds no solution.
        FailedError: the engine failed, or said nothing of what it was asked.
    """
    facts, request = situation.facts, situation.request
    if facts.environment.kind is not EnvironmentKind.CONDA:
        return situation
    refuse_if_protected(facts)
    chosen = choose_conda_engine(situation)
    if facts.conda is None or chosen is CondaInstaller.PIP:
        return situation
    levels = find_microarchitectures(level.name for level in situation.recipe.levels)
    known = replace(situation, microarchitectures=levels)
    conda_request = make_conda_request(known)
    if conda_request is None:
        return known
    engine = make_engine(session, chosen, facts.conda.tool, offline=request.offline)
    session.emit(Started(stage="solve", message=f"asking {engine.description} what would change"))
    preview = engine.preview(conda_request)
    # An answer without the packages that were asked for is none, and not the news that nothing else changes.
    told = {package.dist for package in (*preview.linked, *facts.conda.packages)}
    untold = [package.dist for package in conda_request.ours if package.dist not in told]
    if untold:
        other = CondaInstaller.RATTLER if engine.name is CondaInstaller.CONDA else CondaInstaller.CONDA
        raise FailedError(
            f"{engine.description}: its answer does not mention {listing(untold)}",
            hint=f"use another engine: --engine {other}",
        )
    return replace(known, preview=preview)


def make_engine(session: Session, engine: CondaInstaller, tool: CondaTool | None, *, offline: bool) -> CondaEngine:
    """Open an engine that works by this session's variables and cache.

    Raises:
        RefusedError: it is not there.
    """
    means = CondaTools(
        variables=session.variables, cache=session.own_cache() / "conda", emit=session.emit, offline=offline
    )
    return open_engine(engine, tool, means)
