"""Threads of one process, as a server that loads images has them. Standard library only, Python 3.8 or later.

Each thread has a pipeline of its own, because a decoder's object need not be thread-safe; every image ends in an array,
and a batch in memory of its own. The batches come in order, two a thread ahead.
"""

from __future__ import annotations

import itertools
import queue
import sys
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Deque, Dict, Iterator, List, Tuple

Batch = Tuple[int, Dict[int, str]]


def batches(pipeline: Any, request: Dict[str, Any], lists: Iterator[List[int]]) -> Iterator[Batch]:
    """Return how many images each batch contained, in order, and which ones failed."""
    threads = request["workers"]
    free: queue.SimpleQueue[Any] = queue.SimpleQueue()
    for _ in range(threads):
        free.put(until_array(pipeline.job))
    pool = ThreadPoolExecutor(threads)
    ahead = itertools.islice(lists, sys.modules["_pool_processes"].AHEAD * threads)
    pending: Deque[Future[Batch]] = deque(pool.submit(made, free, indexes) for indexes in ahead)
    try:
        while pending:
            batch = pending.popleft().result()
            pending.extend(pool.submit(made, free, indexes) for indexes in itertools.islice(lists, 1))
            yield batch
    finally:
        for each in pending:
            each.cancel()
        pool.shutdown()


def until_array(job: Dict[str, Any]) -> Any:
    """Return the pipeline of a job without a tensor at its end."""
    return sys.modules["_loading"].Pipeline({**job, "wanted": {**job["wanted"], "tensor": False}})


def made(free: queue.SimpleQueue[Any], indexes: List[int]) -> Batch:
    """Load and collate a batch with a pipeline that no other thread uses."""
    pipeline = free.get()
    try:
        return next(sys.modules["_pool_own"].alone(pipeline, iter([indexes])))  # type: ignore[no-any-return]
    finally:
        free.put(pipeline)
