"""A situation as conda has it: what its packages ask of the version, and which libraries are its own. Pure."""

from dataclasses import replace

from fastinstall.model.conda import Engine
from fastinstall.model.wish import LinkMode
from fastinstall.rules.conda_dependants import all_dependants, conda_dependants
from fastinstall.rules.conda_engine import is_conda, planned_engine
from fastinstall.rules.conda_libraries import missing_packages, refuse_foreign_jpeg, with_environment_libraries
from fastinstall.rules.conda_names import providers
from fastinstall.rules.situation import Situation


def as_conda_has_it(situation: Situation) -> Situation:
    """The situation with conda's dependants among the others, and the libraries of the environment where they count.

    Raises:
        RefusedError: no engine is there, or the environment's libjpeg is not libjpeg-turbo's and would be linked.
    """
    facts, recipe, wish = situation.facts, situation.recipe, situation.wish
    if not is_conda(facts) or facts.conda is None:
        return situation
    engine = planned_engine(situation)
    asking = all_dependants(facts.stack.dependants, conda_dependants(facts.conda, providers(recipe)))
    seen = replace(facts, stack=replace(facts.stack, dependants=asking))
    if wish.link is LinkMode.ENV:
        refuse_foreign_jpeg(seen)
        seen = with_environment_libraries(seen, recipe, _coming(situation, engine))
    return replace(situation, facts=seen)


def _coming(situation: Situation, engine: Engine) -> tuple[str, ...]:
    """What an engine brings; our own way with a wheel brings nothing."""
    if engine is Engine.PIP:
        return ()
    return missing_packages(situation.facts, situation.recipe, situation.wish)
