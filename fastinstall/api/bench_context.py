"""What every part of `bench` works with: the target, the machine, the time that is left, and a place to put things."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from fastinstall.api.session import Session
from fastinstall.bench.effort import Effort
from fastinstall.model.bench import BenchWish
from fastinstall.model.core import Core
from fastinstall.model.environment import Environment
from fastinstall.model.facts import Facts
from fastinstall.model.immutable import immutable
from fastinstall.model.measured_machine import Machine


@immutable
class BenchContext:
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
    def label(self) -> str:
        """The PIL in place, for tables."""
        return f"pillow {self.facts.stack.version} (in place)"

    def left(self) -> float:
        """Seconds that are left of what was promised, the table of operations aside."""
        kept = self.effort.operations_seconds if self.wish.operations else 0.0
        return self.effort.seconds - kept - self.elapsed()

    def from_now(self) -> "BenchContext":
        """The same with the whole time left, as builds and downloads are not part of it; in quick mode all is."""
        if self.wish.quick:
            return self
        return replace(self, effort=replace(self.effort, seconds=self.effort.seconds + self.elapsed()))

    def with_time_for(self, workloads: int) -> "BenchContext":
        """The same with as much time for each of several workloads; in quick mode they share what there is."""
        if self.wish.quick:
            return self
        more = self.effort.seconds * (workloads - 1)
        return replace(self, effort=replace(self.effort, seconds=self.effort.seconds + more))
