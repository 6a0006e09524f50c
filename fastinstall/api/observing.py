"""Facts about a target, and the recipe that gives them meaning."""

from dataclasses import replace
from pathlib import Path

from fastinstall.api.session import Session
from fastinstall.guard.status import observe_guard
from fastinstall.journal.glance import read_receipt, unfinished_transaction
from fastinstall.model.core import Core
from fastinstall.model.environment import Environment
from fastinstall.model.facts import Facts, GuardState, Interpreter
from fastinstall.model.receipt import Receipt
from fastinstall.model.recipe import Recipe
from fastinstall.probes.facts import Binaries, ObservationRequest, observe
from fastinstall.probes.recipes import load_recipe

SCANS = "isa"
"""Where in the cache it is kept what code asks of a CPU."""


def recipe_named(session: Session, name: str) -> Recipe:
    """The recipe of that name.

    Raises:
        UsageError: there is none.
        DocumentError: it is malformed.
    """
    return load_recipe(name, session.recipe_directories)


def receipt_of(environment: Environment) -> Receipt | None:
    """What an earlier setup left there."""
    return read_receipt(Path(environment.prefix))


def facts_of(session: Session, environment: Environment, request: ObservationRequest) -> Facts:
    """Observe a target; what is decoded of its code is kept in our cache."""
    kept = None if request.binaries is Binaries.CORE else session.directories.cache / SCANS
    return observe(
        environment,
        replace(request, scans=kept),
        variables=session.variables,
        tool_prefix=session.tool_prefix,
        guard=_guard,
        interrupted=unfinished_transaction,
    )


def _guard(interpreter: Interpreter, core: Core | None) -> GuardState:
    return observe_guard(Path(interpreter.site_packages), core)
