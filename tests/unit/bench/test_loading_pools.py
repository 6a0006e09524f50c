"""Which numbers of workers are tried, and how large their batches are."""

import pytest

from fastinstall.bench.loading import PoolWorkload, batch_size, choose_worker_counts
from fastinstall.model.machine import LoaderLimits


def _machine(cores: int, quota: float | None = None) -> LoaderLimits:
    return LoaderLimits(cpu="", cores=cores, quota=quota)


@pytest.mark.parametrize(
    ("cores", "quota", "numbers"),
    [
        (1, None, [0, 1]),
        (2, None, [0, 1, 2]),
        (4, None, [0, 1, 2, 4]),
        (6, None, [0, 1, 2, 4, 6]),
        (64, 12.0, [0, 1, 2, 4, 8, 12]),
        (8, 0.5, [0, 1]),
    ],
)
def test_in_full_powers_of_two_up_to_the_quota_are_tried(cores: int, quota: float | None, numbers: list[int]) -> None:
    assert choose_worker_counts(_machine(cores, quota), quick=False) == tuple(numbers)


def test_in_short_there_are_none_and_as_many_as_can_compute() -> None:
    assert choose_worker_counts(_machine(8, 4.0), quick=True) == (0, 4)


@pytest.mark.parametrize(
    ("seconds", "ms", "size"),
    [(2.0, None, 32), (2.0, 1.0, 32), (2.0, 60.0, 4), (0.4, 60.0, 1), (0.4, 2.0, 25), (2.0, 0.0, 32)],
)
def test_batches_are_small_enough_that_several_are_counted(seconds: float, ms: float | None, size: int) -> None:
    assert batch_size(PoolWorkload(seconds=seconds, ms=ms)) == size
