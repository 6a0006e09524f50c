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
    threads, own = request["workers"], sys.modules["_pool_own"]
    job = {**pipeline.job, "wanted": {**pipeline.job["wanted"], "tensor": False}}
    free: queue.SimpleQueue[Any] = queue.SimpleQueue()
    for _ in range(threads):
        free.put(own.Collator(sys.modules["_loading"].Pipeline(job)))

    def make(indexes: List[int]) -> Batch:
        """Make a batch with a pipeline that no other thread uses."""
        collator = free.get()
        try:
            return collator.make(indexes)  # type: ignore[no-any-return]
        finally:
            free.put(collator)

    with ThreadPoolExecutor(threads) as pool:
        ahead = itertools.islice(lists, sys.modules["_pool_processes"].AHEAD * threads)
        pending: Deque[Future[Batch]] = deque(pool.submit(make, indexes) for indexes in ahead)
        while pending:
            batch = pending.popleft().result()
            pending.extend(pool.submit(make, indexes) for indexes in itertools.islice(lists, 1))
            yield batch
