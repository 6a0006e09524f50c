"""Measurements for tests of verdicts and advice: a baseline, candidates, and the machine."""

from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any

from support.values.builders import environment

from fastinstall.bench.advice import AdviceContext, advice_for
from fastinstall.bench.bottleneck import verdict_of
from fastinstall.bench.report import (
    BottleneckVerdict,
    Candidate,
    CandidateKind,
    Difference,
    Gain,
    LoadingEngine,
    LoadingRate,
    SpeedAdvice,
    Workload,
)
from fastinstall.model.machine import Filesystem, LoaderLimits

USUAL = {"read": 0.1, "decode": 1.0, "convert": 0.1, "resize": 0.5, "crop": 0.1, "array": 0.2}
"""Milliseconds per stage: 2 ms in total, or 500 images/s."""

MACHINE = LoaderLimits(cpu="a CPU", cores=2, memory_bytes=16_000_000_000, huge_pages="madvise", libc_version="2.36")
DISK = Filesystem(mount=PurePosixPath("/data"), type="ext4", free_bytes=100_000_000_000)
WORKLOAD = Workload(
    name="images of /data/train",
    directory=PurePosixPath("/data/train"),
    files=10_000,
    images=8,
    formats={"JPEG": 8},
    mean_bytes=100_000,
    megapixels=0.2,
    width=500,
    height=400,
    filesystem=DISK,
)


def rate(workers: int, images_per_second: float, **fields: Any) -> LoadingRate:
    """Return the rate of a loader with this number of workers."""
    usual = LoadingRate(
        workers=workers,
        engine=LoadingEngine.OWN,
        images_per_second=images_per_second,
        first_batch_seconds=0.1,
    )
    return replace(usual, **fields)


def baseline(
    *rates: LoadingRate,
    stages: dict[str, float] = USUAL,
    cold_read_ms: float | None = None,
    adapter: str = "pillow",
) -> Candidate:
    """Return the unchanged environment as baseline."""
    return Candidate(
        name="baseline",
        title="pillow 13.0.0",
        kind=CandidateKind.BASELINE,
        adapter=adapter,
        stages=stages,
        cold_read_ms=cold_read_ms,
        images_per_second=1000 / sum(stages.values()),
        rates=rates,
    )


def result(name: str, ratio: float, /, **fields: Any) -> Candidate:
    """Return a measured candidate; `fields` are its attributes."""
    gain = Gain(ratio=ratio, low=ratio - 0.01, high=ratio + 0.01, rounds=5)
    usual = Candidate(name=name, title=name.capitalize(), kind=CandidateKind.DECODER, gain=gain)
    return replace(usual, **fields)


def unlike(mean: float) -> Difference:
    """Return a difference from the baseline's pictures with this mean."""
    return Difference(mean=mean, highest=90, images=8)


def verdict(
    base: Candidate, target: float | None = None, workload: Workload = WORKLOAD, machine: LoaderLimits = MACHINE
) -> BottleneckVerdict:
    """Return the verdict on what limits the loading of images in this baseline."""
    return verdict_of(base, workload, machine, target)


def context(base: Candidate, workload: Workload = WORKLOAD, **fields: Any) -> AdviceContext:
    """Return the context of the usual environment; `fields` are its attributes."""
    return AdviceContext(**{"baseline": base, "workload": workload, "environment": environment(), **fields})


def advice(
    base: Candidate,
    *candidates: Candidate,
    target: float | None = None,
    workload: Workload = WORKLOAD,
    **fields: Any,
) -> tuple[SpeedAdvice, ...]:
    """Return the advice for the usual machine; `fields` are attributes of the context."""
    return advice_for(candidates, verdict(base, target, workload), context(base, workload, **fields))
