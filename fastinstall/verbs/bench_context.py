"""Observe the target and the machine that `bench` measures on."""

import time
from pathlib import Path

from fastinstall.bench.effort import FULL, QUICK, BenchContext
from fastinstall.bench.report import BenchRequest
from fastinstall.core.errors import UndeterminedError
from fastinstall.core.events import Noted
from fastinstall.index.execution import ExecutionContext
from fastinstall.model.facts import Environment
from fastinstall.model.request import Request
from fastinstall.observe.observation import ObservationRequest, facts_of
from fastinstall.observe.recipes import recipe_named
from fastinstall.observe.session import Session
from fastinstall.plan.make import defer_pip_settings, make_index


def observe_context(
    session: Session, environment: Environment, request: BenchRequest, space: Path, remarks: list[str]
) -> BenchContext:
    """Observe target and machine.

    Args:
        session: variables, directories, clock and event listener of this run.
        environment: where it is, what kind it is and its interpreter, as `find` returns it.
        request: what was asked for.
        space: a temporary directory for stores and photos.
        remarks: where lines for the reader are collected.

    Raises:
        UndeterminedError: there is no PIL to measure.
    """
    from fastinstall.observe.cpu import observe_machine  # noqa: PLC0415 (only bench looks at it)

    started = time.monotonic()
    facts = facts_of(session, environment, ObservationRequest(recipe=recipe_named(session, Request().recipe)))
    if facts.stack.core is None:
        raise UndeterminedError(f"{environment.prefix} has no PIL to measure", hint="fastinstall setup")

    def remark(line: str) -> None:
        if line not in remarks:
            remarks.append(line)
            session.emit(Noted(message=line))

    libc = facts.interpreter.libc_version if facts.interpreter.libc == "glibc" else ""
    machine = observe_machine(facts.cpu, libc, session.variables)
    return BenchContext(
        session=session,
        environment=environment,
        request=request,
        facts=facts,
        core=facts.stack.core,
        machine=machine,
        effort=QUICK if request.quick else FULL,
        space=space,
        remark=remark,
        elapsed=lambda: time.monotonic() - started,
    )


def make_bench_execution_context(context: BenchContext, *, offline: bool) -> ExecutionContext:
    """Return tools to fetch an official wheel with.

    Args:
        context: where it is measured.
        offline: from our cache alone.
    """
    request = Request(offline=offline)
    session = context.session
    return ExecutionContext(
        recipe=recipe_named(session, request.recipe),
        index=make_index(session, request, defer_pip_settings(session, context.python)),
        cache=session.own_cache(),
        variables=session.variables,
        emit=session.emit,
        now=session.now(),
        cpu=context.facts.cpu,
    )
