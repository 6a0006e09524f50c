"""Facts about a target, and the recipe that gives them meaning."""

from dataclasses import replace
from pathlib import Path

from fastinstall.api.cut_pins import pin_interruptions
from fastinstall.api.session import Session
from fastinstall.errors import DocumentError, UsageError
from fastinstall.guard.status import observe_guard
from fastinstall.journal.glance import past_of, unfinished_transaction
from fastinstall.journal.layout import RECEIPT
from fastinstall.journal.receipts import read_receipt
from fastinstall.model.core import Core
from fastinstall.model.environment import Environment
from fastinstall.model.facts import Facts, GuardState, Interpreter
from fastinstall.model.history import Past
from fastinstall.model.receipt import Receipt
from fastinstall.model.recipe import Recipe
from fastinstall.model.wish import Wish
from fastinstall.probes.facts import Binaries, ObservationRequest, observe
from fastinstall.probes.pins import observe_pins
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


def recorded_recipe(session: Session, environment: Environment, receipt: Receipt | None) -> Recipe:
    """The recipe that the receipt of an environment names; the usual one where there is no receipt.

    Raises:
        DocumentError: there is none of that name, and the receipt says so; or the recipe is malformed.
    """
    try:
        return recipe_named(session, Wish().recipe if receipt is None else receipt.recipe)
    except DocumentError:
        raise
    except UsageError as error:
        raise DocumentError(Path(environment.prefix) / RECEIPT, "recipe", error.message, hint=error.hint) from None


def receipt_of(environment: Environment) -> Receipt | None:
    """What an earlier setup left there."""
    return read_receipt(Path(environment.prefix))


def receipt_if_readable(environment: Environment) -> Receipt | None:
    """The same; None also where it cannot be read, which `Facts.past` tells."""
    try:
        return receipt_of(environment)
    except DocumentError:
        return None


def facts_of(session: Session, environment: Environment, request: ObservationRequest) -> Facts:
    """Observe a target; what is decoded of its code is kept in our cache."""
    kept = None if request.binaries is Binaries.CORE else session.directories.cache / SCANS
    past: list[Past] = []

    def interrupted(prefix: Path) -> str | None:
        past.append(_past(session, prefix, sized=request.thorough))
        return unfinished_transaction(past[-1])

    facts = observe(
        environment,
        replace(request, scans=kept),
        variables=session.variables,
        tool_prefix=session.tool_prefix,
        guard=_guard,
        interrupted=interrupted,
    )
    return replace(facts, past=past[-1])


def committed(session: Session, seen: Facts) -> Facts:
    """Facts that were observed in an open transaction, as they are once it is closed; only files are read for it."""
    prefix = Path(seen.environment.prefix)
    past = _past(session, prefix, sized=True)
    return replace(seen, past=past, interrupted=unfinished_transaction(past), pins=observe_pins(prefix, seen.conda))


def _past(session: Session, prefix: Path, *, sized: bool) -> Past:
    past = past_of(prefix, sized=sized)
    return replace(past, interruptions=(*past.interruptions, *pin_interruptions(session, prefix)))


def _guard(interpreter: Interpreter, core: Core | None) -> GuardState:
    return observe_guard(Path(interpreter.site_packages), core)
