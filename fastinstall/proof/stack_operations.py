"""Run real operations on two stacks: time them in turn, and compare their pixels and features.

Timing goes A B A A B A and takes the best of each, as a table of ratios. The second A is a process of its own: it tells
how much two measurements of the same differ on this machine now.

Pixels are compared within stated tolerances. SIMD kernels round differently: most results are identical, others differ
by one. Where a resize divides by a small alpha the difference grows, though nobody sees it; so colours are weighted by
their alpha before they are compared.
"""

import json
import math
import operator
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from fastinstall.core import files, process, sealed_trees, temporary_directories
from fastinstall.core.codec import digest
from fastinstall.core.errors import FailedError, RefusedError, UndeterminedError
from fastinstall.core.events import Emit, Progressed, Started
from fastinstall.core.running_probe import RunningProbe
from fastinstall.core.values import immutable
from fastinstall.index.execution import ExecutionContext
from fastinstall.model.artefact import Artefact
from fastinstall.model.facts import Runtime
from fastinstall.model.speed import SpeedRow, SpeedTable
from fastinstall.observe.runtime import observe_runtime

SHORT: tuple[str, ...] = (
    "decode-256-224 500 px",
    "decode-256-224 1080p",
    "jpeg decode 1080p",
    "resize 1080p-256 RGB bilinear",
    "resize 1080p-256 RGB bicubic",
    "resize 1080p-256 RGB lanczos",
    "resize 1080p-256 L lanczos",
    "reduce(4) RGB",
    "filter 3x3 RGB",
    "gaussian r5 RGB",
    "alpha_composite",
    "colour LUT 17",
    "convert RGB-L",
    "enhance Color",
    "chops add",
)
_WORKER = Path(__file__).with_name("_worker.py")


@immutable
class MeasuredPil:
    """One PIL to measure.

    Attributes:
        label: for the table ("pillow 13.0.0").
        python: the interpreter that runs it.
        stage: a directory that goes in front of its path; None for what is installed.
    """

    label: str
    python: Path
    stage: Path | None = None


@immutable
class TimingEffort:
    """How long to measure.

    Attributes:
        operations: names; empty for every one that there is.
        rounds: how often the two take turns.
        seconds: for each operation, contender and round.
        photo: a picture to work on; None for a generated one.
    """

    operations: tuple[str, ...] = SHORT
    rounds: int = 3
    seconds: float = 0.02
    photo: Path | None = None


@immutable
class MeasurementConditions:
    """Where and when it is measured.

    Attributes:
        cpu: its name, for the table.
        measured_at: ISO 8601, for the table.
        variables: environment variables of the subprocesses.
        emit: is called with each event of the progress.
    """

    cpu: str
    measured_at: str
    variables: Mapping[str, str]
    emit: Emit


def measure(
    before: MeasuredPil, after: MeasuredPil, effort: TimingEffort, circumstances: MeasurementConditions
) -> SpeedTable:
    """Measure two stacks in turn, and the first one against itself.

    Args:
        before: what is replaced.
        after: what replaces it.
        effort: which operations, for how many rounds and seconds.
        circumstances: what the table says of the machine, and who listens.

    Raises:
        FailedError: one of them cannot even be imported, or they share no operation.
    """
    with ExitStack() as stack:
        measured = (before, after, before)
        workers = [stack.enter_context(_open(each, effort.photo, circumstances)) for each in measured]
        for worker, contender in zip(workers, measured, strict=True):
            try:
                worker.listen()
            except FailedError as error:
                message = f"{contender.label} cannot be measured: {error.message}"
                raise FailedError(message, details=error.details) from error
        timed = tuple(_time_operations(workers, effort, circumstances.emit))
    rows = tuple(row for row, _ in timed)
    if not rows:
        raise FailedError(f"nothing could be measured: {before.label} and {after.label} share no operation that runs")
    geomean = math.prod(row.before_ms / row.after_ms for row in rows) ** (1 / len(rows))
    return SpeedTable(
        baseline=before.label,
        candidate=after.label,
        cpu=circumstances.cpu,
        measured_at=circumstances.measured_at,
        geomean=round(geomean, 3),
        rows=rows,
        noise=round(max(noise for _, noise in timed), 3),
    )


def _open(
    contender: MeasuredPil, photo: Path | None, circumstances: MeasurementConditions
) -> AbstractContextManager[process.Conversation]:
    options = {"--stage": contender.stage, "--photo": photo}
    words = (word for option, value in options.items() if value is not None for word in (option, value))
    variables = {**circumstances.variables, "FASTINSTALL_GUARD": "0"}
    return process.conversation((contender.python, "-I", "-B", _WORKER, *words), environment=variables)


def _time_operations(
    workers: Sequence[process.Conversation], effort: TimingEffort, emit: Emit
) -> Iterator[tuple[SpeedRow, float]]:
    """Yield a row for each operation that both can do, and by what share the first differs from itself."""
    names = effort.operations
    if not names:
        known, others, _ = (_ask(worker, "?", 0)["names"] for worker in workers)
        names = tuple(name for name in known if name in others)
    for number, name in enumerate(names, start=1):
        rounds = [
            tuple(_ask(worker, name, effort.seconds).get("ms", math.inf) for worker in workers)
            for _ in range(effort.rounds)
        ]
        emit(Progressed(stage="measure", done=number, total=len(names)))
        before, after, again = (min(column) for column in zip(*rounds, strict=True))
        if math.isfinite(before + after + again):
            ratios = [first / second for first, second, _ in rounds if math.isfinite(first + second)]
            row = SpeedRow(
                operation=name,
                before_ms=round(before, 4),
                after_ms=round(after, 4),
                low=round(min(ratios), 3) if len(ratios) > 1 else None,
                high=round(max(ratios), 3) if len(ratios) > 1 else None,
            )
            yield row, max(before / again, again / before) - 1


def _ask(worker: process.Conversation, operation: str, seconds: float) -> dict[str, Any]:
    answer = json.loads(worker.ask(json.dumps({"operation": operation, "seconds": seconds})))
    return answer if isinstance(answer, dict) else {}


_TOLERANCE = 1.0
_TOLERANCES = {
    **dict.fromkeys(("png-", "tiff-", "webp-", "split-", "rotate-", "median-"), 0.0),
    **dict.fromkeys(("resize-", "enlarge-"), 3.0),
    "jpeg-": 4.0,
}
_WITH_ALPHA = ("RGBA", "LA")


@immutable
class PixelDifference:
    """How far two stacks are apart in one operation.

    Attributes:
        operation: the name that `OperationResult` has for it.
        largest: the largest difference of one sample, 0 to 255, colours weighted by alpha.
        tolerance: what is allowed for this operation.
        problem: why nothing could be compared (only one stack has it, another size); empty if it could.
    """

    operation: str
    largest: float
    tolerance: float
    problem: str = ""

    @property
    def is_tolerable(self) -> bool:
        """Whether the results count as the same."""
        return not self.problem and self.largest <= self.tolerance

    @property
    def text(self) -> str:
        """One line for people."""
        return f"{self.operation}: {self.problem or f'differs by {self.largest:g}, allowed {self.tolerance:g}'}"


def compare_pixels(ours: Path, reference: Path) -> tuple[PixelDifference, ...]:
    """Compare two files that `observe_runtime` wrote, in the order of the reference.

    Operations that only ours has are left out; one that only the reference has is a problem.

    Raises:
        UndeterminedError: a file is missing or damaged.
    """
    mine, theirs = _read(ours), _read(reference)
    return tuple(_compare(name, mine.get(name), theirs[name]) for name in theirs)


def _read(path: Path) -> dict[str, tuple[str, bytes]]:
    """Read mode and samples by operation."""
    try:
        with zipfile.ZipFile(path) as archive:
            parts = ((name.partition("/"), archive.read(name)) for name in archive.namelist())
            return {name: (mode, samples) for (name, _, mode), samples in parts}
    except (OSError, zipfile.BadZipFile) as error:
        raise UndeterminedError(f"{path}: no pixels to compare: {error}") from error


def _compare(operation: str, ours: tuple[str, bytes] | None, reference: tuple[str, bytes]) -> PixelDifference:
    tolerance = next((allowed for prefix, allowed in _TOLERANCES.items() if operation.startswith(prefix)), _TOLERANCE)
    problem, largest = "", 0.0
    if ours is None:
        problem = "it failed or is missing"
    elif ours[0] != reference[0] or len(ours[1]) != len(reference[1]):
        problem = f"mode {ours[0]} with {len(ours[1])} samples, expected {reference[0]} with {len(reference[1])}"
    else:
        largest = _measure_largest_difference(ours[1], reference[1], reference[0])
    return PixelDifference(operation=operation, largest=largest, tolerance=tolerance, problem=problem)


def _measure_largest_difference(ours: bytes, reference: bytes, mode: str) -> float:
    """Return the largest difference of one sample, a colour weighted by the greater of the two alphas."""
    if ours == reference:
        return 0.0
    differences = [abs(one - other) for one, other in zip(ours, reference, strict=True)]
    if mode not in _WITH_ALPHA:
        return float(max(differences))
    bands = len(mode)
    alphas = list(map(max, ours[bands - 1 :: bands], reference[bands - 1 :: bands]))
    colours = (max(map(operator.mul, differences[band::bands], alphas)) / 255 for band in range(bands - 1))
    return float(max(*differences[bands - 1 :: bands], *colours))


_HEADERS_ONLY = {"zlib_ng"}
"""What `PIL.features` says of the header that was compiled against: the official wheels say it and load the
host's zlib all the same (measured on Pillow 13.0.0), so nothing is lost with it."""

_PARTS_OF_WEBP = {"transp_webp", "webp_anim", "webp_mux"}
"""Pillow 12 has no names of their own for them: since 11 they come with webp. Source: Pillow's deprecations page."""


@immutable
class ProvenStack:
    """What is proven; two equal ones need one proof.

    Attributes:
        wheel_sha256: of the built wheel, 64 hexadecimal digits.
        reference: the official wheel whose pixels are the standard; None: only that everything runs.
        python: version and ABI of the target's interpreter.
        cpu: name of the CPU, as kernels round differently on others.
        level: that the CPU shows, which a virtual machine may change.
    """

    wheel_sha256: str
    reference: Artefact | None
    python: str
    cpu: str
    level: str | None


def prove(stage: Path, subject: ProvenStack, python: Path, context: ExecutionContext) -> Runtime:
    """Import the staged PIL in the target's interpreter and use it.

    What was proven before on this machine, the same wheel with the same Python, is used once more
    but not compared again.

    Args:
        stage: a directory to search for PIL first.
        subject: what is proven, and against what.
        context: gives the cache, the index, the time and the environment variables.

    Returns:
        What happened, all of it well.

    Raises:
        FailedError: an operation failed, died, or gave other pixels than the reference.
    """
    context.emit(Started(stage="prove", message="running real operations on the staged build"))
    compared = subject.reference.sha256 if subject.reference is not None else ""
    is_repeatable = subject.reference is None or bool(compared)  # else the index tells no hash of what it gives
    note = context.cache / "proofs" / digest((replace(subject, reference=None), compared))
    if is_repeatable and note.is_file():
        runtime = observe_runtime(python, stage=stage, environment=context.variables, quick=True)
        _refuse_failures(runtime)
        return runtime
    runtime = _run_comparison(stage, subject.reference, python, context)
    if is_repeatable:
        files.write_text(note, f"{subject.wheel_sha256} proven at {context.now.isoformat(timespec='seconds')}\n")
    return runtime


def _run_comparison(stage: Path, reference: Artefact | None, python: Path, context: ExecutionContext) -> Runtime:
    observe = partial(observe_runtime, python, environment=context.variables)
    if reference is None:
        runtime = observe(stage=stage)
        _refuse_failures(runtime)
        return runtime
    with temporary_directories.temporary_directory("proof", within=context.cache / "tmp") as scratch:
        ours, theirs = scratch / "ours", scratch / "reference"
        beside = RunningProbe(partial(observe, stage=unpack_official_wheel(reference, context), pixels=theirs))
        runtime = observe(stage=stage, pixels=ours)
        beside.result()
        _refuse_failures(runtime)
        # An operation that did not run needs a feature that this build is without: that is judged as a feature.
        ran = {operation.name for operation in runtime.operations}
        compared = (each for each in compare_pixels(ours, theirs) if each.operation in ran)
        wrong = tuple(each.text for each in compared if not each.is_tolerable)
    if wrong:
        raise FailedError(
            f"{len(wrong)} operations give different pixels than {reference.filename}",
            hint="the build was not installed: please report it",
            details=wrong,
        )
    return runtime


def refuse_lost_features(before: Mapping[str, str], after: Mapping[str, str], *, allowed: bool) -> None:
    """Raise if a feature of the replaced Pillow is gone, unless that risk is allowed.

    Raises:
        RefusedError: names what would be lost.
    """
    lost = sorted(set(before) - set(after) - _HEADERS_ONLY - _PARTS_OF_WEBP)
    if lost and not allowed:
        raise RefusedError(
            f"the build lacks {', '.join(lost)}, which the installed Pillow has",
            hint="accept it with --allow feature-loss, or ask for the libraries with --require",
        )


def unpack_official_wheel(wheel: Artefact, context: ExecutionContext) -> Path:
    """Unpack an official wheel into a directory that can go on `sys.path`; kept in the cache."""
    if not wheel.sha256:  # of an index that tells none: what it gives now is another file than the one before, perhaps
        wheel = replace(wheel, sha256=files.sha256(context.index.fetch(wheel, context.cache, context.emit)))
    target = context.cache / "unpacked" / wheel.sha256
    if sealed_trees.is_intact(target, cache=context.cache):
        return target
    archive = context.index.fetch(wheel, context.cache, context.emit)
    with temporary_directories.temporary_directory("unpack", within=context.cache / "tmp") as scratch:
        from fastinstall.wheelbuild.wheel_files import unpack_wheel  # noqa: PLC0415 (only when a reference is needed)

        tree = scratch / "tree"
        unpack_wheel(archive, tree)
        sealed_trees.publish_sealed(tree, target, scratch / "aside", cache=context.cache)
    return target


def _refuse_failures(runtime: Runtime) -> None:
    if runtime.signal:
        raise FailedError(
            f"the build crashes with {runtime.signal} in {runtime.during or 'the import'}",
            hint="the CPU may lack what the level needs: try --level x86-64-v2",
        )
    if not runtime.imported:
        raise FailedError(f"the build cannot be imported: {runtime.error}")
    failed = [f"{operation.name}: {operation.error}" for operation in runtime.operations if not operation.ok]
    if failed:
        raise FailedError(f"{len(failed)} operations fail on the build", details=tuple(failed))
