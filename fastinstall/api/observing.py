"""Facts about a target, and the recipe that gives them meaning."""

from pathlib import Path

from fastinstall.api.session import Session
from fastinstall.guard.status import observe_guard
from fastinstall.journal.store import Store
from fastinstall.model.core import Core
from fastinstall.model.environment import Environment
from fastinstall.model.facts import Facts, GuardState, Interpreter, Runtime
from fastinstall.model.receipt import Receipt
from fastinstall.model.recipe import Recipe
from fastinstall.probes.concurrently import Running
from fastinstall.probes.facts import ObservationRequest, observe
from fastinstall.probes.recipes import load_recipe


def recipe_named(session: Session, name: str) -> Recipe:
    """The recipe of that name.

    Raises:
        UsageError: there is none.
        DocumentError: it is malformed.
    """
    return load_recipe(name, session.recipe_directories)


def receipt_of(environment: Environment) -> Receipt | None:
    """What an earlier setup left there."""
    return Store(Path(environment.prefix)).read_receipt()


def facts_of(
    session: Session,
    environment: Environment,
    recipe: Recipe,
    *,
    runtime: bool | Running[Runtime] = False,
    toolchain: bool = False,
) -> Facts:
    """Observe a target.

    Args:
        session: the outside world.
        environment: the target.
        recipe: which names, symbols and libraries to look for.
        runtime: also import and use PIL there, in a subprocess, which may be under way already.
        toolchain: also look for a compiler and libraries.
    """
    started = runtime if isinstance(runtime, Running) else None
    request = ObservationRequest(recipe=recipe, runtime=bool(runtime), started=started, toolchain=toolchain)
    return observe(
        environment,
        request,
        variables=session.variables,
        tool_prefix=session.tool_prefix,
        guard=_guard,
        interrupted=_interrupted,
    )


def _guard(interpreter: Interpreter, core: Core | None) -> GuardState:
    return observe_guard(Path(interpreter.site_packages), core)


def _interrupted(prefix: Path) -> str | None:
    unfinished = Store(prefix).unfinished()
    return unfinished.id if unfinished else None
