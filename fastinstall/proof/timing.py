"""Time real operations of two stacks in turn (A B A in each round), and compare the medians.

A is one stack in two processes. The difference between these two processes shows the noise of the machine.
"""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from statistics import median
from typing import Any

from fastinstall.core import process
from fastinstall.core.errors import FailedError
from fastinstall.core.events import Emit, Progressed
from fastinstall.core.values import immutable
from fastinstall.model.speed import HEADLINE, SpeedRow, SpeedTable

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
_FOR_THE_FIGURE = 4
"""Factor for the number of rounds of the headline operation, whose ratio several messages give for the whole build."""
_WORKER = Path(__file__).with_name("_worker.py")


@immutable
class MeasuredPil:
    """A PIL to measure.

    Attributes:
        label: the name in the table ("pillow 13.0.0").
        python: path of the interpreter that imports PIL.
        stage: the directory that contains PIL, for the front of `sys.path`; None for the installed PIL.
    """

    label: str
    python: Path
    stage: Path | None = None


@immutable
class TimingEffort:
    """Which operations to measure, and for how long.

    Attributes:
        operations: names of operations; empty for all.
        rounds: number of rounds in which the stacks take turns. The headline operation gets four times as many.
        seconds: how long each process repeats an operation in each round.
    """

    operations: tuple[str, ...] = SHORT
    rounds: int = 3
    seconds: float = 0.02


def measure(
    before: MeasuredPil,
    after: MeasuredPil,
    effort: TimingEffort,
    *,
    variables: Mapping[str, str],
    emit: Emit,
    cpu: str = "",
    measured_at: str = "",
) -> SpeedTable:
    """Measure two stacks in turn; the first one runs in two processes, whose difference is the noise.

    Args:
        before: the stack that is replaced.
        after: the stack that replaces it.
        effort: the operations, rounds and seconds.
        variables: the environment variables of the processes.
        emit: receives the progress events.
        cpu: name of the CPU, for the table.
        measured_at: date and time in ISO 8601, for the table.

    Raises:
        FailedError: one of the stacks cannot be imported, or no operation runs on both.
    """
    with ExitStack() as stack:
        measured = (before, after, before)
        workers = [stack.enter_context(_open(each, variables)) for each in measured]
        for worker, contender in zip(workers, measured, strict=True):
            try:
                worker.listen()
            except FailedError as error:
                message = f"{contender.label} cannot be measured: {error.message}"
                raise FailedError(message, details=error.details) from error
        timed = tuple(_time_operations(workers, effort, emit))
    rows = tuple(row for row, _ in timed)
    if not rows:
        raise FailedError(f"nothing could be measured: {before.label} and {after.label} share no operation that runs")
    geomean = math.prod(row.before_ms / row.after_ms for row in rows) ** (1 / len(rows))
    return SpeedTable(
        baseline=before.label,
        candidate=after.label,
        cpu=cpu,
        measured_at=measured_at,
        geomean=round(geomean, 3),
        rows=rows,
        noise=round(max(noise for _, noise in timed), 3),
    )


def summarize_rounds(operation: str, rounds: Sequence[tuple[float, float, float]]) -> tuple[SpeedRow, float] | None:
    """Summarise the rounds of one operation.

    Args:
        operation: name of the operation.
        rounds: for each round, the milliseconds of the old stack, of the new stack, and of the old stack's second
            process; infinite if the operation failed.

    Returns:
        The row of the table, and the fraction by which the medians of the old stack's two processes differ (0 if they
        are equal). None if the median of a process is infinite, because the operation failed too often.
    """
    # Medians are used, not minima: a minimum depends on the machine's best moment.
    before, after, again = (median(column) for column in zip(*rounds, strict=True))
    if not math.isfinite(before + after + again):
        return None
    ratios = [old / fast for first, fast, second in rounds for old in (first, second) if math.isfinite(old + fast)]
    has_range = len(rounds) > 1
    row = SpeedRow(
        operation=operation,
        before_ms=round(before, 4),
        after_ms=round(after, 4),
        low=round(min(ratios), 3) if has_range else None,
        high=round(max(ratios), 3) if has_range else None,
    )
    return row, max(before / again, again / before) - 1


def _open(contender: MeasuredPil, variables: Mapping[str, str]) -> AbstractContextManager[process.Conversation]:
    words = ("--stage", contender.stage) if contender.stage is not None else ()
    environment = {**variables, "FASTINSTALL_GUARD": "0"}
    return process.conversation((contender.python, "-I", "-B", _WORKER, *words), environment=environment)


def _time_operations(
    workers: Sequence[process.Conversation], effort: TimingEffort, emit: Emit
) -> Iterator[tuple[SpeedRow, float]]:
    """Yield, for each operation that both stacks run, its row and how far the first stack's two processes differ."""
    names = effort.operations
    if not names:
        known, others, _ = (_ask(worker, "?", 0)["names"] for worker in workers)
        names = tuple(name for name in known if name in others)
    for number, name in enumerate(names, start=1):
        number_of_rounds = effort.rounds * (_FOR_THE_FIGURE if name == HEADLINE else 1)
        rounds = [_time_round(workers, name, effort.seconds) for _ in range(number_of_rounds)]
        emit(Progressed(stage="measure", done=number, total=len(names)))
        summary = summarize_rounds(name, rounds)
        if summary is not None:
            yield summary


def _time_round(workers: Sequence[process.Conversation], name: str, seconds: float) -> tuple[float, float, float]:
    before, after, again = (_ask(worker, name, seconds).get("ms", math.inf) for worker in workers)
    return before, after, again


def _ask(worker: process.Conversation, operation: str, seconds: float) -> dict[str, Any]:
    answer = json.loads(worker.ask(json.dumps({"operation": operation, "seconds": seconds})))
    return answer if isinstance(answer, dict) else {}
