"""What every part of `bench` works with: the target, the machine, the time that is left, and a place to put things."""

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from fastinstall.actions.workshop import Workshop
from fastinstall.api.observing import facts_of, receipt_if_readable, recipe_named
from fastinstall.api.planning import index_for, settings_of
from fastinstall.api.session import Session
from fastinstall.bench.effort import FULL, QUICK, Effort
from fastinstall.errors import UndeterminedError
from fastinstall.model.bench import BenchWish
from fastinstall.model.core import Core
from fastinstall.model.environment import Environment
from fastinstall.model.event import Noted
from fastinstall.model.facts import Facts
from fastinstall.model.images import Machine
from fastinstall.model.immutable import immutable
from fastinstall.model.wish import Wish
from fastinstall.probes.facts import ObservationRequest


@immutable
class Scene:
    """Where and for what it is measured.

    Attributes:
        session: the outside world.
        environment: the target.
        wish: what was asked for.
        facts: of the target.
        core: of the PIL in place.
        machine: what bounds a loader here.
        effort: what is spent.
        space: a temporary directory, which goes away with the run.
        remark: takes a line for the reader of the report.
        elapsed: seconds since the run began.
    """

    session: Session
    environment: Environment
    wish: BenchWish
    facts: Facts
    core: Core
    machine: Machine
    effort: Effort
    space: Path
    remark: Callable[[str], None]
    elapsed: Callable[[], float]

    @property
    def python(self) -> Path:
        """The target's interpreter."""
        return Path(self.facts.interpreter.executable)

    @property
    def is_ours(self) -> bool:
        """Whether the PIL in place is a build of ours, by the receipt of its setup."""
        receipt = receipt_if_readable(self.environment)
        return receipt is not None and receipt.core.sha256 == self.core.sha256

    @property
    def label(self) -> str:
        """The PIL in place, for tables."""
        return f"pillow {self.facts.stack.version} (in place)"

    def left(self) -> float:
        """Seconds that are left of what was promised, the table of operations aside."""
        kept = self.effort.operations_seconds if self.wish.operations else 0.0
        return self.effort.seconds - kept - self.elapsed()

    def from_now(self) -> "Scene":
        """The same with the whole time left, as builds and downloads are not part of it; in quick mode all is."""
        if self.wish.quick:
            return self
        return replace(self, effort=replace(self.effort, seconds=self.effort.seconds + self.elapsed()))

    def with_time_for(self, workloads: int) -> "Scene":
        """The same with as much time for each of several workloads; in quick mode they share what there is."""
        if self.wish.quick:
            return self
        more = self.effort.seconds * (workloads - 1)
        return replace(self, effort=replace(self.effort, seconds=self.effort.seconds + more))

    def workshop(self, *, offline: bool) -> Workshop:
        """Tools to fetch an official wheel with.

        Args:
            offline: from our cache alone.
        """
        wish = Wish(offline=offline)
        return Workshop(
            recipe=recipe_named(self.session, wish.recipe),
            index=index_for(self.session, wish, settings_of(self.session, self.python)),
            cache=self.session.own_cache(),
            variables=self.session.variables,
            emit=self.session.emit,
            now=self.session.now(),
            cpu=self.facts.cpu,
        )


def look_around(session: Session, environment: Environment, wish: BenchWish, space: Path, remarks: list[str]) -> Scene:
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
    return Scene(
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
