"""Time a few operations with the build and the official wheel in turn, to see whether the kernels are used at all.

This is no benchmark: the required speed is far below that of a correct build, and far above that of a build without
optimisation or without kernels.
"""

import time
from collections.abc import Collection

from fastinstall.core.events import ignore
from fastinstall.proof.cases import ProofCheck, skip_proof_check
from fastinstall.proof.runs import ProofStack
from fastinstall.proof.timing import MeasuredPil, TimingEffort, measure
from whole_proof.checks import finish_check

BOUND = 1.5
"""Minimum geometric mean of the speed-ups. Measured on 2026-11-24: 6.6 and 9.0 for x86-64-v2 and v3; 0.4 at -O0."""

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
"""Operations that have kernels: the name in the catalogue, and the name of a timed operation."""


def prove_speed(ours: ProofStack, reference: ProofStack, not_accelerated: Collection[str] = ()) -> ProofCheck:
    """Time operations that have kernels, on the build and on the official wheel.

    Args:
        ours: the build, with environment variables that select the CPU level to measure.
        reference: the official wheel of the same version.
        not_accelerated: operations, by their names in cases, whose kernels were left out of the build.

    Raises:
        FailedError: one of the stacks cannot be imported.
    """
    begun, name = time.monotonic(), f"speed {ours.label}"
    names = tuple(timed for operation, timed in _SERVED if operation not in not_accelerated)
    if not names:
        return skip_proof_check(name, "all timed kernels were left out")
    before, after = (MeasuredPil(label=each.label, python=each.python, stage=each.tree) for each in (reference, ours))
    table = measure(before, after, TimingEffort(operations=names), variables=ours.variables, emit=ignore)
    told = f"{table.geomean:.2f} times as fast as {reference.label} on {len(table.rows)} operations"
    slow = tuple(
        f"{row.operation}: {row.after_ms:.2f} ms, the official wheel {row.before_ms:.2f} ms"
        for row in table.rows
        if table.geomean < BOUND
    )
    return finish_check(name, told, slow, begun, failed=f"{told}, expected at least {BOUND:g}")
