"""How many images a second worker processes bring, for several numbers of them and ways of starting them."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from fastinstall.bench.loading import START_SECONDS, Loading, NotLoadedError
from fastinstall.model.immutable import immutable
from fastinstall.model.loading import Engine, LoadingRate, Outcome, WorkerStart
from fastinstall.model.measured_machine import Machine

_ENGINES = {"own": Engine.OWN, "torch": Engine.TORCH}
_START = {WorkerStart.NONE: "none", WorkerStart.FORK: "fork", WorkerStart.SPAWN: "spawn"}
_LARGEST_BATCH = 32
_BATCHES = 8
"""Batches that one worker should give in the time that is counted."""


@immutable
class PoolRequest:
    """Workers to try.

    Attributes:
        workers: how many; 0 loads in the process itself.
        start: how they come to be.
        cold: whether the files are put out of the page cache first; then every image is loaded once.
    """

    workers: int
    start: WorkerStart = WorkerStart.FORK
    cold: bool = False


@immutable
class Load:
    """What they load, and for how long.

    Attributes:
        seconds: that are counted, for each pool.
        ms: milliseconds an image takes in one process, by which the batches are made small enough; None if unknown.
        images: indexes of the images; empty for all.
        pinned: whether batches are copied to pinned memory, by torch, where there is a GPU.
        patience: seconds for a rate beside those that are counted: packages are imported, in every worker where it is
            spawned, and a round of batches may take as long as what is counted.
    """

    seconds: float = 2.0
    ms: float | None = None
    images: tuple[int, ...] = ()
    pinned: bool = False
    patience: float = 60.0


def measure_rates(
    loading: Loading, pools: Sequence[PoolRequest], load: Load, remark: Callable[[str], None] | None = None
) -> tuple[LoadingRate, ...]:
    """Measure each pool; one that cannot be had here is left out.

    Args:
        loading: whose images; the workers start from a process of their own, whatever it has loaded.
        pools: in the order of the answer.
        load: what they load.
        remark: is told why a pool was left out, in a sentence.
    """
    return tuple(_rates(loading, pools, load, remark or _unheard))


def choose_pool_requests(machine: Machine, *, quick: bool, workers: Sequence[int] = ()) -> tuple[PoolRequest, ...]:
    """Which workers to try on a machine.

    In short, none and one for each usable CPU. In full, 1, 2, 4, ... of them as well; the most of them spawned too,
    which differs in the time until they are ready and in memory; and the most of them once with a cold page cache.

    Args:
        machine: its usable CPUs bound the number.
        quick: whether to try few.
        workers: the numbers to try instead.
    """
    numbers = tuple(dict.fromkeys(workers)) or _numbers(machine.usable_cpus, quick=quick)
    found = tuple(_pool_request(number) for number in numbers)
    most = max(numbers)
    if quick:
        return found
    spawned = (PoolRequest(workers=most, start=WorkerStart.SPAWN),) if most else ()
    return (*found, *spawned, _pool_request(most, cold=True))


def batch_size(load: Load) -> int:
    """As many images as one worker loads in an eighth of the time, at most 32: several batches are counted."""
    if not load.ms:
        return _LARGEST_BATCH
    return max(1, min(_LARGEST_BATCH, int(1000 * load.seconds / load.ms / _BATCHES)))


def _numbers(cpus: int, *, quick: bool) -> tuple[int, ...]:
    if quick:
        return (0, cpus)
    powers = [1 << exponent for exponent in range(cpus.bit_length()) if 1 << exponent < cpus]
    return (0, *powers, cpus)


def _pool_request(workers: int, *, cold: bool = False) -> PoolRequest:
    return PoolRequest(workers=workers, start=WorkerStart.FORK if workers else WorkerStart.NONE, cold=cold)


def _rates(
    loading: Loading, pools: Sequence[PoolRequest], load: Load, remark: Callable[[str], None]
) -> Iterator[LoadingRate]:
    for number, pool in enumerate(pools, 1):
        try:
            request = {**_request(pool, load), "last": number == len(pools)}
            answer = loading.ask(request, START_SECONDS + _limit(load))
        except NotLoadedError as error:
            remark(f"{_title(pool)}: not measured: {error.reason}")
            if error.outcome is not Outcome.FAILED:
                return  # there is nobody left to ask
            continue
        yield _rate(pool, answer)


def _request(pool: PoolRequest, load: Load) -> dict[str, Any]:
    return {
        "do": "pool",
        "workers": pool.workers,
        "start": _START[pool.start],
        "cold": pool.cold,
        "seconds": load.seconds,
        "batch": batch_size(load),
        "images": list(load.images),
        "pin_memory": load.pinned,
        "limit": _limit(load),
    }


def _limit(load: Load) -> float:
    """Seconds until a rate is given up."""
    return load.patience + 4 * load.seconds


def _rate(pool: PoolRequest, answer: dict[str, Any]) -> LoadingRate:
    return LoadingRate(
        workers=pool.workers,
        start=pool.start,
        engine=_ENGINES[answer["engine"]],
        cold=pool.cold,
        images_per_second=answer["images_per_second"],
        first_batch_seconds=answer["first_batch_seconds"],
        peak_bytes=answer["peak_bytes"],
    )


def _title(pool: PoolRequest) -> str:
    count = f"{pool.workers} workers by {pool.start.value}" if pool.workers else "no workers"
    return f"{count}, cold" if pool.cold else count


def _unheard(_sentence: str) -> None:
    """Nobody asked for remarks."""
