"""Time real operations of two stacks in turn: A B A B, the best of each, as a table of ratios."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any

from fastinstall.core import process
from fastinstall.core.errors import FailedError
from fastinstall.core.events import Emit, Progressed
from fastinstall.core.values import immutable
from fastinstall.model.speed import SpeedRow, SpeedTable

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
    """Measure two stacks.

    Raises:
        FailedError: one of them cannot even be imported, or they share no operation.
    """
    with ExitStack() as stack:
        workers = [stack.enter_context(_open(contender, effort.photo, circumstances)) for contender in (before, after)]
        for worker, contender in zip(workers, (before, after), strict=True):
            try:
                worker.listen()
            except FailedError as error:
                message = f"{contender.label} cannot be measured: {error.message}"
                raise FailedError(message, details=error.details) from error
        rows = tuple(_time_operations(workers, effort, circumstances.emit))
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
    )


def _open(
    contender: MeasuredPil, photo: Path | None, circumstances: MeasurementConditions
) -> AbstractContextManager[process.Conversation]:
    options = {"--stage": contender.stage, "--photo": photo}
    words = (word for option, value in options.items() if value is not None for word in (option, value))
    variables = {**circumstances.variables, "FASTINSTALL_GUARD": "0"}
    return process.conversation((contender.python, "-I", "-B", _WORKER, *words), environment=variables)


def _time_operations(workers: Sequence[process.Conversation], effort: TimingEffort, emit: Emit) -> Iterator[SpeedRow]:
    """Yield a row for each operation that both can do."""
    names = effort.operations
    if not names:
        known, others = (_ask(worker, "?", 0)["names"] for worker in workers)
        names = tuple(name for name in known if name in others)
    for number, name in enumerate(names, start=1):
        rounds = [
            tuple(_ask(worker, name, effort.seconds).get("ms", math.inf) for worker in workers)
            for _ in range(effort.rounds)
        ]
        emit(Progressed(stage="measure", done=number, total=len(names)))
        before, after = (min(column) for column in zip(*rounds, strict=True))
        if math.isfinite(before + after):
            ratios = [first / second for first, second in rounds if math.isfinite(first + second)]
            yield SpeedRow(
                operation=name,
                before_ms=round(before, 4),
                after_ms=round(after, 4),
                low=round(min(ratios), 3) if len(ratios) > 1 else None,
                high=round(max(ratios), 3) if len(ratios) > 1 else None,
            )


def _ask(worker: process.Conversation, operation: str, seconds: float) -> dict[str, Any]:
    answer = json.loads(worker.ask(json.dumps({"operation": operation, "seconds": seconds})))
    return answer if isinstance(answer, dict) else {}
