"""Worker processes as torch's DataLoader uses them, without torch, and threads. Standard library only, 3.8 or later.

Each worker has a pipe with the batches that it is to make, two ahead, collates each in shared memory, and says so; the
parent takes the batches in order, and requests another one for each.
"""

from __future__ import annotations

import contextlib
import itertools
import mmap
import multiprocessing
import os
import pickle
import queue
import sys
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Deque, Dict, Iterator, List, Tuple

Batch = Tuple[int, Dict[int, str]]


def batches(pipeline: Any, request: Dict[str, Any], lists: Iterator[List[int]]) -> Iterator[Batch]:
    """Return how many images each batch contained, in order, and which ones failed."""
    if not request["workers"]:
        yield from map(Collator(pipeline).make, lists)
        return
    context = multiprocessing.get_context("fork")
    workers = [Worker(context, pipeline.job) for _ in range(request["workers"])]
    turns = itertools.cycle(workers)
    pending: Deque[Worker] = deque()

    def request_batches(count: int) -> None:
        for indexes, worker in zip(itertools.islice(lists, count), turns):
            worker.request(indexes)
            pending.append(worker)

    try:
        request_batches(processes().AHEAD * len(workers))
        while pending:
            batch = pending.popleft().take()
            request_batches(1)  # before using the batch, like a DataLoader
            yield batch
    finally:
        for each in workers:
            each.process.kill()
        for each in workers:
            each.process.join()


def batches_of_threads(pipeline: Any, request: Dict[str, Any], lists: Iterator[List[int]]) -> Iterator[Batch]:
    """Do the same with threads of one process, as a server that loads images has them; every image ends in an array.

    Each thread has a pipeline of its own, because a decoder's object need not be thread-safe.
    """
    threads = request["workers"]
    job = {**pipeline.job, "wanted": {**pipeline.job["wanted"], "tensor": False}}
    free: queue.SimpleQueue[Collator] = queue.SimpleQueue()
    for _ in range(threads):
        free.put(Collator(sys.modules["_loading"].Pipeline(job)))

    def make(indexes: List[int]) -> Batch:
        """Make a batch with a pipeline that no other thread uses."""
        collator = free.get()
        try:
            return collator.make(indexes)
        finally:
            free.put(collator)

    with ThreadPoolExecutor(threads) as pool:
        ahead = itertools.islice(lists, processes().AHEAD * threads)
        pending: Deque[Future[Batch]] = deque(pool.submit(make, indexes) for indexes in ahead)
        while pending:
            batch = pending.popleft().result()
            pending.extend(pool.submit(make, indexes) for indexes in itertools.islice(lists, 1))
            yield batch


class Worker:
    """A worker, as its parent has it."""

    def __init__(self, context: Any, job: Dict[str, Any]) -> None:
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=work, args=(os.getpid(), job, theirs), daemon=True)
        self.process.start()
        theirs.close()

    def request(self, indexes: List[int]) -> None:
        with contextlib.suppress(OSError):  # it died: taking its batch reports it
            self.connection.send(indexes)

    def take(self) -> Batch:
        """Return the next batch. Raises Trouble if there is none."""
        try:
            batch, trouble = self.connection.recv()
        except (EOFError, OSError):
            self.process.join()
            raise processes().Trouble("a worker %s" % processes().ending(self.process.exitcode)) from None
        if trouble:
            raise processes().Trouble("in a worker: %s" % trouble)
        return batch  # type: ignore[no-any-return]


def work(parent: int, job: Dict[str, Any], connection: Any) -> None:
    """Make the batches that are requested, until the parent is gone."""
    processes().end_with(parent)
    try:
        collator = Collator(sys.modules["_loading"].Pipeline(job))
        while True:
            connection.send((collator.make(connection.recv()), ""))
    except EOFError:
        return
    except Exception as error:  # noqa: BLE001 (whatever a package raises is an answer)
        connection.send((None, "%s: %s" % (type(error).__name__, error)))


class Collator:
    """Makes batches with a pipeline, in memory that others can map, as a batch for another process lies in."""

    def __init__(self, pipeline: Any) -> None:
        self.pipeline = pipeline
        self.memory = mmap.mmap(-1, 1)

    def make(self, indexes: List[int]) -> Batch:
        """Load images, and put them one after another; a failed one is reported and not counted."""
        values, failed = [], {}
        for index in indexes:
            try:
                values.append(self.pipeline.load(index))
            except Exception as error:  # noqa: BLE001 (an image that fails is counted and named)
                failed[index] = "%s: %s" % (type(error).__name__, error)
        buffers = buffers_of(values)
        size = sum(each.nbytes for each in buffers)
        if len(self.memory) < size:
            self.memory = mmap.mmap(-1, size)
        room = memoryview(self.memory)
        start = 0
        for buffer in buffers:
            room[start : start + buffer.nbytes] = buffer
            start += buffer.nbytes
        return len(values), failed


def buffers_of(value: Any) -> List[memoryview]:
    """Return the bytes of what a loader returns: an image, (image, label), {"image": ...}."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (tuple, list)):
        return [buffer for each in value for buffer in buffers_of(each)]
    if hasattr(value, "detach"):
        value = value.detach().numpy()
    if not isinstance(value, (bytes, bytearray)) and not hasattr(value, "nbytes"):
        value = pickle.dumps(value)
    view = memoryview(value)
    return [view.cast("B") if view.c_contiguous and view.nbytes else memoryview(view.tobytes())]


def processes() -> Any:
    """Return what `_pool_main.py` has loaded under this name, also in every worker."""
    return sys.modules["_pool_processes"]
