"""Measure images per second with workers or threads; called by `_loading.py` in a target, on Python 3.8 or later.

Four engines load batches: "torch" (torch's DataLoader, used if the pipeline makes tensors), "batched" (an adapter with
its own threads), "threads" (of one process), and "own" (worker processes like a DataLoader's). Each worker prepares up
to two batches ahead, and batches are consumed in order.

The process that serves requests imports the packages of the pipeline, like a training script, but never loads an image
itself. Loading an image starts threads in some libraries (OpenCV, libvips, OpenMP); after a fork, such a library may
block forever in the child. Each request is carried out in a new child, so all measurements start in the same state.
"""

from __future__ import annotations

import contextlib
import ctypes
import multiprocessing
import os
import pickle
import random
import signal
import threading
from collections import deque
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from time import perf_counter
from typing import Any, Deque, Dict, Iterator, List, Optional, Tuple

from . import _loading, _timing

Batch = Tuple[int, List[str]]  # number of loaded images; error texts of failed ones
PR_SET_PDEATHSIG = 1  # linux/prctl.h
FORK: Any = multiprocessing.get_context("fork")
AHEAD = 2
"""Number of batches that each worker prepares ahead, as in a DataLoader."""
ROOM = "workers need a /dev/shm that can be written and holds their batches (docker run --shm-size=1g)"
OWN = threading.local()
"""The job and the pipeline of this worker process or thread."""


def rate(limit: float, **request: Any) -> Dict[str, Any]:
    """Run `count` in a child process; return its result. Raise Refused if it fails, dies or exceeds `limit` seconds."""
    end_with(os.getppid())
    receiver, sender = FORK.Pipe(duplex=False)
    child = FORK.Process(target=_send_count, args=(os.getpid(), sender, request))
    child.start()
    sender.close()
    try:
        if not receiver.poll(limit):
            is_torch = _loading.RUNNING[0].makes_tensors and not request["threads"]
            raise refusal("no answer within %g s%s" % (limit, "; " + ROOM if is_torch else ""))
        answer = receiver.recv()
    except EOFError:
        child.join()
        raise refusal("the loading process %s" % ending(child.exitcode)) from None
    finally:
        child.kill()
        child.join()
    if "refused" in answer:
        raise _loading.Refused(*answer["refused"])
    counted: Dict[str, Any] = answer["answer"]
    return counted


def _send_count(parent: int, sender: Any, request: Dict[str, Any]) -> None:
    end_with(parent)
    sender.send(_loading.answer_to({"do": "_pool.count", "arguments": request}))
    os._exit(0)  # do not wait for batches that workers prepare ahead; the workers end with this process


def refusal(text: str) -> Exception:
    return _loading.Refused("failed", text)


def end_with(parent: int, _worker: int = 0) -> None:
    """Have the kernel kill this process when its parent dies. Source: prctl(2).

    If `parent` (a process ID) is no longer the parent, it has already died, and this process exits at once. `_worker`
    is ignored: torch calls this function with the number of the worker.
    """
    with contextlib.suppress(OSError, AttributeError):  # without prctl, workers end when their pipe closes
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)


def ending(exit_code: Optional[int]) -> str:
    """Return how a process ended, in words: "ended with exit code 3", "was killed by SIGSEGV"."""
    if exit_code is None or exit_code >= 0:
        return "ended with exit code %s" % exit_code
    return "was killed by %s" % signal.Signals(-exit_code).name


def count(workers: int, threads: bool, seconds: float, batch: int, images: List[int]) -> Dict[str, Any]:  # noqa: FBT001
    """Measure how fast batches arrive; return the engine, the rate, the time to the first batch and the peak memory.

    Args:
        workers: number of worker processes or threads; 0 for one process without workers.
        threads: whether to use threads of one process instead of worker processes; threads load arrays, not tensors.
        seconds: how long to measure.
        batch: number of images in a batch.
        images: indexes of the images; empty for all.

    Batches are counted in rounds of one batch from every worker, because the batches of a round arrive together. The
    first round and an incomplete last round do not count.
    """
    (pipeline,) = _loading.RUNNING
    lists = batches_of(images or list(range(len(pipeline.job["images"]))), batch)
    givers = 1 if pipeline.batches else max(1, workers)
    engine = "threads" if threads else "torch" if pipeline.makes_tensors else "own"
    if pipeline.batches:
        engine = "batched"
        flow: Any = ((len(pictures), []) for pictures in pipeline.flow(lists, max(1, workers), batch))
    elif engine == "torch":
        flow = torch_batches(pipeline, lists, workers)
    elif not workers:
        begin(pipeline.job)
        flow = map(make_batch, lists)
    else:
        flow = executor_batches(pipeline.job, lists, workers, threads=threads)
    start = perf_counter()
    first = begun = ended = 0.0
    loaded = arrived = 0
    failures: List[str] = []
    for number, (size, failed) in enumerate(flow, 1):
        now = perf_counter()
        failures += failed
        first = first or now - start
        arrived += size if number > givers else 0
        if number % givers == 0:
            begun, ended, loaded = begun or now, now, arrived
            if number > givers and now - begun >= seconds:
                break
    if not loaded:
        raise refusal(next(iter(failures), "too few images for so many workers"))
    return {
        "engine": engine,
        "images_per_second": loaded / (ended - begun),
        "first_batch_seconds": first,
        "peak_bytes": peak_bytes(),
    }


def batches_of(images: List[int], size: int) -> Iterator[List[int]]:
    """Yield lists of `size` indexes without end.

    Each pass over the images has a different random order, to spread large images over the workers. The orders are the
    same in every run.
    """
    order, chance = list(images), random.Random(0)
    batch: List[int] = []
    while True:
        chance.shuffle(order)
        for index in order:
            batch.append(index)
            if len(batch) == size:
                yield batch
                batch = []


def peak_bytes() -> int:
    """Estimate the peak memory of this process and its workers, in bytes.

    The estimate adds for each process: 1. its share of the current memory (PSS: a page that four processes share counts
    a quarter for each); 2. the excess of its peak memory over its current memory, which is assumed to be unshared. Call
    this after measuring: it takes milliseconds.
    """
    total = 0
    for process in [os.getpid(), *(child.pid for child in multiprocessing.active_children())]:
        status = _timing.memory_of(process)
        now = status.get("VmRSS", 0)
        share = _timing.memory_of(process, "smaps_rollup").get("Pss", now)
        total += share + max(0, status.get("VmHWM", now) - now)
    return int(total)


def executor_batches(
    job: Dict[str, Any], lists: Iterator[List[int]], workers: int, *, threads: bool
) -> Iterator[Batch]:
    """Yield batches in order, loaded by worker processes or by threads. Threads make arrays, not tensors."""
    pending: Deque[Future[Batch]] = deque()
    if threads:
        job = {**job, "wanted": {**job["wanted"], "tensor": False}}
        executor: Executor = ThreadPoolExecutor(workers, initializer=begin, initargs=(job,))
    else:
        try:
            executor = ProcessPoolExecutor(workers, FORK, begin, (job, os.getpid()))
        except (OSError, ImportError, NotImplementedError) as error:  # this system has no semaphores, see sem_open(3)
            raise refusal("cannot start workers: %s: %s" % (error, ROOM)) from error
    children: List[Any] = []
    try:
        for indexes in lists:
            pending.append(executor.submit(make_batch, indexes))
            if len(children) < workers:
                children = multiprocessing.active_children()
            if len(pending) > AHEAD * workers:
                yield pending.popleft().result()
    except BrokenProcessPool as error:
        executor.shutdown()  # ends the other workers
        raise refusal(death_of(children) or str(error)) from error


def begin(job: Dict[str, Any], parent: int = 0) -> None:
    """Initialise a worker. `parent` is the ID of the parent process if the worker is a process; 0 for a thread."""
    if parent:
        end_with(parent)
    OWN.job, OWN.pipeline = job, None


def make_batch(indexes: List[int]) -> Batch:
    """Load images and copy them into one block, as a DataLoader does.

    Returns:
        The number of loaded images, and the error texts of the others.
    """
    values, failed = load_batch(indexes)
    pickle.dumps(values, protocol=5)
    return len(values), failed


def load_batch(indexes: List[int]) -> Tuple[List[Any], List[str]]:
    """Return the loaded images, and the error texts of failed ones.

    Each worker creates its own pipeline, because decoder objects may not be thread-safe.
    """
    OWN.pipeline = OWN.pipeline or _loading.Pipeline(OWN.job)
    values, failed = [], []
    for index in indexes:
        try:
            values.append(OWN.pipeline.load(index))
        except Exception as error:  # noqa: BLE001 (an image that fails is counted and named)
            failed.append(_loading.text_of(error))
    return values, failed


def death_of(children: List[Any]) -> str:
    """Return how the first dead worker died; empty if none died. Exit code 0 and our own SIGTERM do not count."""
    codes = [child.exitcode for child in children if child.exitcode not in (None, 0, -signal.SIGTERM)]
    return "a worker %s%s" % (ending(codes[0]), "; " + ROOM if codes[0] == -signal.SIGBUS else "") if codes else ""


def torch_batches(pipeline: Any, lists: Iterator[List[int]], workers: int) -> Iterator[Batch]:
    """Yield batches that workers of torch's DataLoader load with the pipeline. Raise Refused if a worker fails."""
    from torch.utils.data import DataLoader

    begin(pipeline.job)  # forked workers inherit the job
    options: Dict[str, Any] = {}
    if workers:
        options.update(multiprocessing_context="fork", prefetch_factor=AHEAD, persistent_workers=True)
        options.update(worker_init_fn=partial(end_with, os.getpid()))
    children: List[Any] = []
    try:
        data = DataLoader(Batches(), batch_size=None, sampler=lists, num_workers=workers, **options)
        flow = iter(data)
        children = multiprocessing.active_children()
        for _, size, failed in flow:
            yield size, failed
    except OSError as error:
        raise refusal("torch cannot start workers: %s: %s" % (error.strerror, ROOM)) from error
    except RuntimeError as error:
        raise refusal(death_of(children) or str(error)) from error


class Batches:
    """A dataset whose items are complete batches."""

    def __getitem__(self, indexes: List[int]) -> Tuple[Any, int, List[str]]:
        from torch.utils.data import default_collate

        values, failed = load_batch(indexes)
        if len({getattr(each, "shape", None) for each in values}) == 1:
            with contextlib.suppress(RuntimeError, TypeError):  # torch cannot combine values of some types
                return default_collate(values), len(values), failed
        return values, len(values), failed
