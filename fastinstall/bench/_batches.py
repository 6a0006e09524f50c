"""Runs inside a target, for `_loading.py`: adapters that load whole batches on their own threads. 3.8 or later.

In one process they have one thread on one CPU, like the baseline; in a pool, as many threads as it has workers.
"""

import itertools
import os
import statistics
from time import perf_counter
from typing import Any, Callable, Dict, Iterator, List, Tuple

SIZE = 32
MOST_TEXT = 400
Batch = Tuple[int, Dict[int, str]]


class Batches:
    """The images of a job through an adapter's code, measured exactly as printed."""

    def __init__(self, load: Callable[..., Iterator[List[Any]]], source: Any, finish: Any) -> None:
        self.load = load
        self.source = source
        self.finish = finish  # converts a picture to a tensor, if the baseline does
        self.sound: Dict[Tuple[int, ...], Tuple[List[int], Dict[str, str]]] = {}
        self.running: Tuple[List[int], Any] = ([], None)

    def flow(self, lists: Iterator[List[int]], threads: int = 0, size: int = SIZE) -> Iterator[List[Any]]:
        """Return the pictures of batch after batch; by default on one thread, and without loading ahead."""
        paths = ([self.source.path(index) for index in indexes] for indexes in lists)
        for found in self.load(paths, max(1, threads), size, threads > 0):
            yield found if self.finish is None else [self.finish(each) for each in found]

    def pictures(self, indexes: List[int]) -> List[Any]:
        return list(itertools.chain.from_iterable(self.flow(parts(indexes))))

    def loadable(self, indexes: List[int]) -> Tuple[List[int], Dict[str, str]]:
        """Return those that can be loaded, and why the others cannot; if a batch fails, try each of its images."""
        key = tuple(indexes)
        if key not in self.sound:
            failed: Dict[str, str] = {}
            try:
                self.pictures(indexes)
            except Exception:  # noqa: BLE001 (whatever a library raises)
                failed = {str(each): reason for each in indexes for reason in self.trouble(each)}
            self.sound[key] = ([each for each in indexes if str(each) not in failed], failed)
        return self.sound[key]

    def trouble(self, index: int) -> Iterator[str]:
        try:
            self.pictures([index])
        except Exception as error:  # noqa: BLE001 (likewise)
            yield "%s: %s" % (type(error).__name__, str(error)[:MOST_TEXT])

    def endless(self, indexes: List[int]) -> Iterator[List[Any]]:
        """Run one pipeline from request to request, as in training; it has already started."""
        if self.running[0] != indexes:
            lists = itertools.cycle(list(parts(indexes)))
            self.running = (indexes, self.flow(lists))
            for _ in parts(indexes):
                next(self.running[1])
        flow: Iterator[List[Any]] = self.running[1]
        return flow


def parts(indexes: List[int]) -> Iterator[List[int]]:
    """Split indexes into batches of `SIZE`; the last may be shorter."""
    return (indexes[start : start + SIZE] for start in range(0, len(indexes), SIZE))


def measure(pipeline: Any, request: Dict[str, Any], timing: Any) -> Dict[str, Any]:
    """Answer as `_timing.py` does; everything done to an image counts as its decoding."""
    wanted = request.get("indexes")
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    good, failed = pipeline.batches.loadable(list(range(len(pipeline.source)) if wanted is None else wanted))
    flow = pipeline.batches.endless(good) if good else None
    timing.start_peak()
    passes: List[float] = []
    start = perf_counter()
    group = request.get("group") or 0
    while flow and (
        len(passes) < max(1, group) or (perf_counter() - start) * (len(passes) + 1) / len(passes) <= request["seconds"]
    ):
        begun = perf_counter()
        for _ in parts(good):
            next(flow)
        passes.append(1000 * (perf_counter() - begun) / len(good))
    ms = statistics.median_low(passes or [0.0])
    return {
        "ms": ms,
        "least_ms": timing.shortest(passes or [0.0], min(group, len(passes))),
        "stages": {"decode": ms},
        "images": len(good),
        "passes": len(passes),
        "peak_bytes": timing.peak_bytes(),
        "failed": failed,
        "was_cold": None,
    }


def batches(pipeline: Any, request: Dict[str, Any], lists: Iterator[List[int]]) -> Iterator[Batch]:
    """Return how many images each batch contained, with as many threads as a DataLoader would have workers."""
    for found in pipeline.batches.flow(lists, max(1, request["workers"]), request["batch"]):
        yield len(found), {}
