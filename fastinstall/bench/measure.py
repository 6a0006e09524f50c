"""Two stacks, operation by operation, in turn: A B A B, the best of each, as a table of ratios."""

import json
import math
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any

from fastinstall.errors import FailedError
from fastinstall.model.event import Emit, Progressed
from fastinstall.model.immutable import immutable
from fastinstall.model.receipt import SpeedRow, SpeedTable
from fastinstall.system import process

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
class Contender:
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
class Circumstances:
    """Where and when it is measured.

    Attributes:
        cpu: its name, for the table.
        measured_at: ISO 8601, for the table.
        variables: environment variables of the subprocesses.
        emit: listens to progress.
    """

    cpu: str
    measured_at: str
    variables: Mapping[str, str]
    emit: Emit


def measure(before: Contender, after: Contender, effort: TimingEffort, circumstances: Circumstances) -> SpeedTable:
    """Measure two stacks.

    Raises:
        FailedError: one of them cannot even be imported, or they share no operation.
    """
    with ExitStack() as stack:
        workers = [stack.enter_context(_open(contender, effort.photo, circumstances)) for contender in (before, after)]
        for worker, contender in zip(workers, (before, after), strict=True):
            _greet(worker, contender)
        names = effort.operations or _common_names(workers)
        timings = _take_turns(workers, names, effort, circumstances.emit)
    rows = tuple(row for name, rounds in timings.items() if (row := _row(name, rounds)) is not None)
    if not rows:
        raise FailedError(f"nothing could be measured: {before.label} and {after.label} share no operation that runs")
    return SpeedTable(
        baseline=before.label,
        candidate=after.label,
        cpu=circumstances.cpu,
        measured_at=circumstances.measured_at,
        geomean=round(geometric_mean([row.before_ms / row.after_ms for row in rows]), 3),
        rows=rows,
    )


def geometric_mean(ratios: Sequence[float]) -> float:
    """The geometric mean of positive numbers."""
    return math.exp(sum(math.log(ratio) for ratio in ratios) / len(ratios))


def _open(
    contender: Contender, photo: Path | None, circumstances: Circumstances
) -> AbstractContextManager[process.Conversation]:
    options: list[str | Path] = []
    if contender.stage is not None:
        options += ["--stage", contender.stage]
    if photo is not None:
        options += ["--photo", photo]
    variables = {**circumstances.variables, "FASTINSTALL_GUARD": "0"}
    return process.conversation((contender.python, "-I", "-B", _WORKER, *options), environment=variables)


def _greet(worker: process.Conversation, contender: Contender) -> None:
    try:
        worker.listen()
    except FailedError as error:
        raise FailedError(f"{contender.label} cannot be measured: {error.message}", details=error.details) from error


def _common_names(workers: Sequence[process.Conversation]) -> tuple[str, ...]:
    known = [_ask(worker, {"operation": "?", "seconds": 0})["names"] for worker in workers]
    return tuple(name for name in known[0] if name in known[1])


def _take_turns(
    workers: Sequence[process.Conversation], names: Sequence[str], effort: TimingEffort, emit: Emit
) -> dict[str, list[tuple[float, ...]]]:
    """Milliseconds of each operation: a row for each round, a column for each worker."""
    timings: dict[str, list[tuple[float, ...]]] = {}
    for number, name in enumerate(names, start=1):
        request = {"operation": name, "seconds": effort.seconds}
        timings[name] = [
            tuple(_ask(worker, request).get("ms", math.inf) for worker in workers) for _ in range(effort.rounds)
        ]
        emit(Progressed(stage="measure", done=number, total=len(names)))
    return timings


def _ask(worker: process.Conversation, request: dict[str, Any]) -> dict[str, Any]:
    answer = json.loads(worker.ask(json.dumps(request)))
    return answer if isinstance(answer, dict) else {}


def _row(name: str, rounds: Sequence[tuple[float, ...]]) -> SpeedRow | None:
    """Return one row of the table, or None if one of the two cannot do it."""
    before, after = (min(column) for column in zip(*rounds, strict=True))
    if not (math.isfinite(before) and math.isfinite(after)):
        return None
    ratios = sorted(first / second for first, second in rounds if math.isfinite(first + second))
    several = len(ratios) > 1
    return SpeedRow(
        operation=name,
        before_ms=round(before, 4),
        after_ms=round(after, 4),
        low=round(ratios[0], 3) if several else None,
        high=round(ratios[-1], 3) if several else None,
    )
