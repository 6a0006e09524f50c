"""Use the staged stack beside the target: run real operations on it, compare their pixels, and time it.

The staged build is timed against what it replaces, once for the same two builds on the same CPU.
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
from fastinstall.proof.timing import MeasuredPil, MeasurementConditions, TimingEffort, measure
from fastinstall.setup.steps.step import SetupStep
from fastinstall.wheelbuild.build_inputs import BuildResult


@immutable
class Prove(SetupStep):
    """Stage the wheel beside the target, run real operations on it, compare and time it.

    Attributes:
        reference: the official wheel whose pixels are the standard; None: no comparison possible.
        baseline: the official wheel that speed is compared with; None: with the stack in place.
        timed: whether speed is measured; a repair puts back what has been measured before, and an emulator's is none.
        reason: why the plan has this step, for a person.
    """

    reference: Artefact | None
    baseline: Artefact | None = None
    timed: bool = True
    reason: str

    def describe(self) -> str:
        """Return what is done, as a line of a plan."""
        check = "compare its pixels with the official wheel's" if self.reference else "run real operations on it"
        return f"{check}, and measure its speed" if self.timed else check

    def list_details(self) -> Iterable[str]:
        """Yield what it is compared with."""
        if self.reference is not None:
            yield f"pixels: {self.reference.filename}"
        if self.timed:
            yield f"speed: {self.baseline.filename if self.baseline else 'what is installed'}"

    def list_artefacts(self) -> tuple[Artefact, ...]:
        """List the official wheels that it is compared with."""
        return tuple(each for each in (self.reference, self.baseline) if each is not None)

    def run_operations(self, stage: Path, built: BuildResult, before: Facts, run: Run) -> Runtime:
        """Run real operations on the staged stack, and compare their pixels with the official wheel's.

        Raises:
            FailedError: it does not work, or computes something else than it should.
        """
        interpreter = before.interpreter
        subject = ProvenStack(
            wheel_sha256=built.sha256,
            reference=self.reference,
            python=f"{interpreter.version} {interpreter.abi}",
            cpu=before.cpu.name,
            level=before.cpu.level,
        )
        return prove(stage, subject, Path(interpreter.executable), run)

    def find_known_speed(self, build: WheelOrder, cpu: str, cache: Path) -> SpeedTable | None:
        """Find what an earlier setup measured of these two builds on such a CPU; None if nothing is on record."""
        wheel = build.prebuilt.sha256 if build.prebuilt is not None else build.cached
        if not self.timed or not wheel or self.baseline is None or not self.baseline.sha256:
            return None
        labels = (_label_official(self.baseline), f"{build.distribution} {build.version}")
        kept = _locate_speed_table(cache, f"{self.baseline.sha256} {wheel}", cpu, labels)
        return foreign.read_kept(SpeedTable, "speed", kept)

    def time(self, after: MeasuredPil, built: BuildResult, before: Facts, run: Run) -> SpeedTable | None:
        """Time the staged stack against what it replaces; None if that is not requested or cannot be."""
        if not self.timed:
            return None
        if self.baseline is not None:
            tree = unpack_official_wheel(self.baseline, run)  # named by the hash, which the index may not tell
            official = MeasuredPil(label=_label_official(self.baseline), python=after.python, stage=tree)
            return measure_speed(official, after, f"{tree.name} {built.sha256}", before, run)
        core = before.stack.core
        if core is None or core.sha256 == "":
            return None
        in_place = MeasuredPil(label=f"pillow {before.stack.version} (in place)", python=after.python)
        return measure_speed(in_place, after, f"{core.sha256} {built.sha256}", before, run)


def measure_speed(before: MeasuredPil, after: MeasuredPil, identity: str, facts: Facts, run: Run) -> SpeedTable | None:
    """Return a speed table of two stacks.

    Args:
        before: the PIL that is replaced.
        after: the PIL that takes its place.
        identity: what tells these two builds from all others.
        facts: of the environment that it is measured for.
        run: cache, clock and listeners.

    Returns:
        None if "before" cannot be measured, which is no reason not to replace it.
    """
    cpu = facts.cpu.name
    kept = _locate_speed_table(run.cache, identity, cpu, (before.label, after.label))
    known = foreign.read_kept(SpeedTable, "speed", kept)
    if known is not None:
        return replace(known, reused=True)
    run.emit(Started(stage="measure", message=f"timing {after.label} against {before.label}"))
    measured_at = run.session.now().isoformat(timespec="seconds")
    circumstances = MeasurementConditions(cpu=cpu, measured_at=measured_at, variables=run.variables, emit=run.emit)
    try:
        table = measure(before, after, TimingEffort(), circumstances)
    except FailedError as error:
        run.emit(Noted(message=f"not timed: {error.message}", warning=True))
        return None
    table = replace(table, python=facts.interpreter.version, prefix=str(facts.environment.prefix))
    files.write_text(kept, dump(document("speed", table)))
    return table


def _label_official(wheel: Artefact) -> str:
    return f"pillow {wheel.version} (wheel)"


_CLOCK = "CPU time"
"""What is timed; a table by another clock is not comparable."""


def _locate_speed_table(cache: Path, identity: str, cpu: str, labels: tuple[str, str]) -> Path:
    name = hashlib.sha256(" ".join((identity, cpu, *labels, _CLOCK)).encode()).hexdigest()
    return cache / "speed" / f"{name}.json"
