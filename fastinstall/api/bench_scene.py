"""Where `bench` measures: target and machine, observed once, and the tools that fetch what they are compared with."""

import time
from pathlib import Path

from fastinstall.actions.workshop import Workshop
from fastinstall.api.bench_context import BenchContext
from fastinstall.api.observing import facts_of, receipt_if_readable, recipe_named
from fastinstall.api.planning import index_for, settings_of
from fastinstall.api.session import Session
from fastinstall.bench.effort import FULL, QUICK
from fastinstall.errors import UndeterminedError
from fastinstall.model.bench import BenchWish
from fastinstall.model.environment import Environment
from fastinstall.model.event import Noted
from fastinstall.model.wish import Wish
from fastinstall.probes.facts import ObservationRequest


def observe_context(
    session: Session, environment: Environment, wish: BenchWish, space: Path, remarks: list[str]
) -> BenchContext:
    """Observe target and machine.

    Args:
        session: the outside world.
        environment: the target.
        wish: what was asked for.
        space: a temporary directory.
        remarks: where lines for the reader are collected.

    Raises:
        UndeterminedError: there is no PIL to measure.
    """
    from fastinstall.probes.machine import observe_machine  # noqa: PLC0415 (only bench looks at it)

    started = time.monotonic()
    facts = facts_of(session, environment, ObservationRequest(recipe=recipe_named(session, Wish().recipe)))
    if facts.stack.core is None:
        raise UndeterminedError(f"{environment.prefix} has no PIL to measure", hint="fastinstall setup")

    def remark(line: str) -> None:
        if line not in remarks:
            remarks.append(line)
            session.emit(Noted(message=line))

    libc = facts.interpreter.libc_version if facts.interpreter.libc == "glibc" else ""
    return BenchContext(
        session=session,
        environment=environment,
        wish=wish,
        facts=facts,
        core=facts.stack.core,
        machine=observe_machine(facts.cpu, libc, session.variables),
        effort=QUICK if wish.quick else FULL,
        space=space,
        remark=remark,
        elapsed=lambda: time.monotonic() - started,
    )


def workshop_of(context: BenchContext, *, offline: bool) -> Workshop:
    """Tools to fetch an official wheel with.

    Args:
        context: where it is measured.
        offline: from our cache alone.
    """
    wish = Wish(offline=offline)
    session = context.session
    return Workshop(
        recipe=recipe_named(session, wish.recipe),
        index=index_for(session, wish, settings_of(session, context.python)),
        cache=session.own_cache(),
        variables=session.variables,
        emit=session.emit,
        now=session.now(),
        cpu=context.facts.cpu,
    )


def holds_our_build(context: BenchContext) -> bool:
    """Whether the PIL in place is a build of ours, by the receipt of its setup."""
    receipt = receipt_if_readable(context.environment)
    return receipt is not None and receipt.core.sha256 == context.core.sha256
