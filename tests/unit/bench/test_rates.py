"""The numbers of workers and threads that bench tries."""

import pytest

from fastinstall.bench.rates import choose_counts
from fastinstall.bench.report import BenchRequest
from fastinstall.model.machine import LoaderLimits


@pytest.mark.parametrize(
    ("cores", "quota", "workers", "threads"),
    [
        (1, None, (0, 1), (1,)),
        (4, None, (0, 1, 2, 4), (1, 4)),
        (6, None, (0, 1, 2, 4, 6), (1, 6)),
        (64, 12.0, (0, 1, 2, 4, 8, 12), (1, 12)),
        (8, 0.5, (0, 1), (1,)),
    ],
)
def test_powers_of_two_up_to_the_quota_are_tried(
    cores: int, quota: float | None, workers: tuple[int, ...], threads: tuple[int, ...]
) -> None:
    machine = LoaderLimits(cpu="", cores=cores, quota=quota)
    assert choose_counts(BenchRequest(), machine) == (workers, threads)
    assert choose_counts(BenchRequest(quick=True), machine) == ((0, workers[-1]), ())
    assert choose_counts(BenchRequest(workers=(3,), threads=(5,)), machine) == ((3,), (5,))
