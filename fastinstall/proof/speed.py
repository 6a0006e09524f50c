"""Whether the kernels are in use at all: a few operations that they serve, timed in turn with the official wheel.

Not a benchmark: one bound, far below what a right build reaches and far above one without optimisation or
without kernels.
"""

import time
from collections.abc import Collection, Sequence

from fastinstall.bench.measure import Circumstances, Contender, TimingEffort, measure
from fastinstall.model.event import ignore
from fastinstall.model.proof import ProofCheck, ProofStatus
from fastinstall.model.receipt import SpeedRow
from fastinstall.proof.runs import Stack

BOUND = 1.5
"""Least geometric mean of the speed-ups. Measured on 2026-11-21: 9.5 and 14 for x86-64-v2 and v3, 0.4 at -O0."""

_SERVED = (
    ("resize", "resize 1080p-256 RGB lanczos"),
    ("resize", "resize 1080p-256 RGB bicubic"),
    ("resize", "resize 500-800 RGBA bilinear"),
    ("reduce", "reduce(4) RGB"),
    ("filter-3x3", "filter 3x3 RGB"),
    ("filter-5x5", "filter 5x5 RGB"),
    ("gaussian-blur", "gaussian r5 RGB"),
    ("colour-table", "colour LUT 17"),
    ("alpha-composite", "alpha_composite"),
)
"""Operations of the catalogue, and of the speed table, that have kernels."""


def prove_speed(ours: Stack, reference: Stack, not_accelerated: Collection[str] = ()) -> ProofCheck:
    """Time the operations on both stacks.

    Args:
        ours: the build; the level that is meant is the one that its variables let the loader take.
        reference: the official wheel of the same version.
        not_accelerated: operations of the catalogue whose kernels were left out.

    Raises:
        FailedError: one of them cannot be imported.
    """
    begun = time.monotonic()
    name = f"speed {ours.label}"
    names = tuple(timed for operation, timed in _SERVED if operation not in not_accelerated)
    if not names:
        return ProofCheck(name=name, status=ProofStatus.SKIPPED, summary="all kernels that are timed were left out")
    circumstances = Circumstances(cpu="", measured_at="", variables=ours.variables, emit=ignore)
    table = measure(_contender(reference), _contender(ours), TimingEffort(operations=names), circumstances)
    holds = table.geomean >= BOUND
    bound = "" if holds else f", at least {BOUND:g} is expected"
    return ProofCheck(
        name=name,
        status=ProofStatus.OK if holds else ProofStatus.FAILED,
        summary=f"{table.geomean:.2f} times as fast as {reference.label} on {len(table.rows)} operations{bound}",
        details=() if holds else tuple(_lines(table.rows)),
        seconds=round(time.monotonic() - begun, 2),
    )


def _contender(stack: Stack) -> Contender:
    return Contender(label=stack.label, python=stack.python, stage=stack.tree)


def _lines(rows: Sequence[SpeedRow]) -> list[str]:
    return [f"{row.operation}: {row.after_ms:.2f} ms, the official wheel {row.before_ms:.2f} ms" for row in rows]
