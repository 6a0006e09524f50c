"""Test the stack: before the swap by real operations and timings (`Prove`), after it by doctor's checks (`Verify`).

The stack is timed against the one that it replaces or, if none is installed, against an official wheel. The timings
are cached for these two builds and this CPU.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from fastinstall.core import files, foreign
from fastinstall.core.codec import document, dump
from fastinstall.core.errors import FailedError
from fastinstall.core.events import Noted, Started
from fastinstall.core.values import immutable
from fastinstall.index.run import Run
from fastinstall.model.artefact import Artefact, WheelOrder
from fastinstall.model.facts import Facts, Runtime
from fastinstall.model.speed import SpeedTable
from fastinstall.proof.stack_operations import ProvenStack, prove, unpack_official_wheel
from fastinstall.proof.timing import MeasuredPil, TimingEffort, measure
from fastinstall.setup.steps import SetupStep
from fastinstall.wheelbuild.build_inputs import BuildResult


@immutable
class Prove(SetupStep):
    """Run real operations with the staged stack, compare the pixels with the official wheel's, and time the stack.

    Attributes:
        reference: the official wheel whose pixels are the standard; None if no official wheel exists.
        baseline: the official wheel that the build is timed against; None to time it against the installed stack.
        timed: whether speed is measured. False on an emulated CPU, and in a repair, whose build was measured before.
        reason: why the plan has this step, for the user.
    """

    reference: Artefact | None
    baseline: Artefact | None = None
    timed: bool = True
    reason: str

    def describe(self) -> str:
        """Return what the step does, as a line of a plan."""
        check = "compare its pixels with the official wheel's" if self.reference else "run real operations on it"
        return f"{check}, and measure its speed" if self.timed else check

    def list_details(self) -> Iterable[str]:
        """Yield the wheel that pixels are compared with, and the wheel or stack that speed is compared with."""
        if self.reference is not None:
            yield f"pixels: {self.reference.filename}"
        if self.timed:
            yield f"speed: {self.baseline.filename if self.baseline else 'what is installed'}"

    def list_artefacts(self) -> tuple[Artefact, ...]:
        """List the official wheels that the build is compared with."""
        return tuple(each for each in (self.reference, self.baseline) if each is not None)

    def run_operations(self, stage: Path, built: BuildResult, before: Facts, run: Run) -> Runtime:
        """Run real operations with the staged stack, and compare their pixels with the official wheel's.

        Raises:
            FailedError: the staged stack does not work, or computes wrong results.
        """
        interpreter = before.interpreter
        subject = ProvenStack(
            wheel_sha256=built.sha256,
            reference=self.reference,
            python=f"{interpreter.version} {interpreter.abi}",
            cpu=before.cpu.name,
            level=before.cpu.level,
        )
        return prove(stage, subject, interpreter.executable, run)

    def find_known_speed(self, build: WheelOrder, cpu: str, cache: Path) -> SpeedTable | None:
        """Return the speed table that an earlier setup measured for the same builds and CPU; None if there is none.

        Args:
            build: the build that is set up; a table can be found only if the build's wheel is ready-made or cached.
            cpu: name of the CPU.
            cache: root of our cache.
        """
        wheel = build.prebuilt.sha256 if build.prebuilt is not None else build.cached
        if not self.timed or not wheel or self.baseline is None or not self.baseline.sha256:
            return None
        labels = (_label_official(self.baseline), f"{build.distribution} {build.version}")
        kept = _locate_speed_table(cache, f"{self.baseline.sha256} {wheel}", cpu, labels)
        return foreign.read_kept(SpeedTable, "speed", kept)

    def time(self, after: MeasuredPil, built: BuildResult, before: Facts, run: Run) -> SpeedTable | None:
        """Time the staged stack against the baseline or installed stack; return None if not planned or possible."""
        if not self.timed:
            return None
        if self.baseline is not None:
            tree = unpack_official_wheel(self.baseline, run)  # the directory's name is the wheel's hash
            official = MeasuredPil(label=_label_official(self.baseline), python=after.python, stage=tree)
            return measure_speed(official, after, f"{tree.name} {built.sha256}", before, run)
        core = before.stack.core
        if core is None or core.sha256 == "":
            return None
        in_place = MeasuredPil(label=f"pillow {before.stack.version} (in place)", python=after.python)
        return measure_speed(in_place, after, f"{core.sha256} {built.sha256}", before, run)


@immutable
class Verify(SetupStep):
    """Observe the environment again and run doctor's checks; an error undoes the swap.

    Attributes:
        checks: names of the checks that must not report an error.
        reason: why the plan has this step, for the user.
    """

    checks: tuple[str, ...]
    reason: str

    def describe(self) -> str:
        """Return what the step does, as a line of a plan."""
        return f"check: {', '.join(self.checks)}"

    def outline(self) -> Iterable[str]:
        """Return no lines: a short text need not mention that a setup is checked."""
        return ()


def measure_speed(before: MeasuredPil, after: MeasuredPil, identity: str, facts: Facts, run: Run) -> SpeedTable | None:
    """Return a speed table of two stacks, measured now or taken from the cache.

    Args:
        before: the PIL that is replaced, or an official one.
        after: the PIL that replaces it.
        identity: hashes of both builds, as a part of the cache's key.
        facts: facts of the environment that is set up.
        run: cache, clock and receiver of events.

    Returns:
        The table; None if the measurement fails, which does not stop a setup.
    """
    cpu = facts.cpu.name
    kept = _locate_speed_table(run.cache, identity, cpu, (before.label, after.label))
    known = foreign.read_kept(SpeedTable, "speed", kept)
    if known is not None:
        return replace(known, reused=True)
    run.emit(Started(stage="measure", message=f"timing {after.label} against {before.label}"))
    measured_at = run.session.now().isoformat(timespec="seconds")
    try:
        table = measure(
            before, after, TimingEffort(), variables=run.variables, emit=run.emit, cpu=cpu, measured_at=measured_at
        )
    except FailedError as error:
        run.emit(Noted(message=f"not timed: {error.message}", warning=True))
        return None
    table = replace(table, python=facts.interpreter.version, prefix=str(facts.environment.prefix))
    files.write_text(kept, dump(document("speed", table)))
    return table


def _label_official(wheel: Artefact) -> str:
    return f"pillow {wheel.version} (wheel)"


_CLOCK = "CPU time"
"""The measured quantity, as a part of the cache's key: tables of different quantities are not comparable."""


def _locate_speed_table(cache: Path, identity: str, cpu: str, labels: tuple[str, str]) -> Path:
    name = hashlib.sha256(" ".join((identity, cpu, *labels, _CLOCK)).encode()).hexdigest()
    return cache / "speed" / f"{name}.json"
