"""Runs inside a target, called by `_loading.py`: images a second from workers or threads. Standard library only, 3.8.

Four engines load batches: "torch" (its DataLoader, if tensors are made), "batched" (an adapter's own threads),
"threads" of one process, and "own": worker processes as a DataLoader has them. Each worker makes two batches ahead, in
memory that others can map; the parent takes the batches in order, and requests another one for each.

Like a training script, the process that serves requests imports what the pipeline needs and never loads an image
itself: libraries that have started threads by loading one (OpenCV, libvips, OpenMP) may block forever in its children.
A child answers each request, so that all start alike.
"""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import mmap
import multiprocessing
import os
import pickle
import random
import signal
import sys
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from time import perf_counter
from typing import Any, Callable, Deque, Dict, Iterator, List, Optional, Tuple

Batch = Tuple[int, Dict[int, str]]  # how many images it contains, and which failed
PR_SET_PDEATHSIG = 1  # linux/prctl.h
FORK: Any = multiprocessing.get_context("fork")
AHEAD = 2
"""Batches that each worker makes ahead, as in a DataLoader."""
ROOM = "torch's workers need a /dev/shm that can be written and holds their batches (docker run --shm-size=1g)"


def rate(limit: float, **request: Any) -> Dict[str, Any]:
    """Return what a child counts; its death, and its silence for `limit` seconds, are errors."""
    end_with(os.getppid())
    child = Child("the loading process", lambda _: iter([count(**request)]), daemon=False)
    try:
        if not child.connection.poll(limit):
            is_torch = loading().RUNNING[0].makes_tensors and not request["threads"]
            raise refusal("no answer within %g s%s" % (limit, "; " + ROOM if is_torch else ""))
        answer: Dict[str, Any] = child.take()
        child.process.join(5)
        return answer
    finally:
        child.process.kill()
        child.process.join()


class Child:
    """A forked process that sends what a function yields, as its parent has it; it ends with its parent."""

    def __init__(self, name: str, answers: Callable[[Any], Iterator[Any]], *, daemon: bool = True) -> None:
        self.name = name
        self.connection, theirs = FORK.Pipe()
        self.process = FORK.Process(target=_send_answers, args=(os.getpid(), theirs, answers), daemon=daemon)
        self.process.start()
        theirs.close()

    def request(self, indexes: List[int]) -> None:
        with contextlib.suppress(OSError):  # it died: taking its answer reports it
            self.connection.send(indexes)

    def take(self) -> Any:
        """Return the next answer. Raises Refused if there is none."""
        try:
            answer, trouble = self.connection.recv()
        except (EOFError, OSError):
            self.process.join()
            raise refusal("%s %s" % (self.name, ending(self.process.exitcode))) from None
        if trouble:
            raise refusal(trouble)
        return answer


def _send_answers(parent: int, connection: Any, answers: Callable[[Any], Iterator[Any]]) -> None:
    end_with(parent)
    with contextlib.suppress(EOFError):  # the parent is gone
        try:
            for answer in answers(connection):
                connection.send((answer, ""))
        except EOFError:
            raise
        except Exception as error:  # noqa: BLE001 (whatever a package raises is an answer)
            connection.send((None, getattr(error, "answer", {}).get("error") or loading().text_of(error)))


def loading() -> Any:
    return sys.modules["_loading"]


def refusal(text: str) -> Exception:
    error: Exception = loading().Refused(error=text)
    return error


def end_with(parent: int) -> None:
    """Let the kernel kill this process when its parent dies. Source: prctl(2)."""
    with contextlib.suppress(OSError, AttributeError):  # without this call, workers notice that nobody listens
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)


def ending(exit_code: Optional[int]) -> str:
    """Describe how a process ended: exit code or signal."""
    if exit_code is None or exit_code >= 0:
        return "ended with exit code %s" % exit_code
    return "was killed by %s" % signal.Signals(-exit_code).name


def count(workers: int, threads: bool, seconds: float, batch: int, images: List[int]) -> Dict[str, Any]:  # noqa: FBT001
    """Count complete rounds, with a batch from every worker, after the first one: batches come in bunches."""
    (pipeline,) = loading().RUNNING
    lists = batches_of(images or list(range(len(pipeline.source))), batch)
    givers = 1 if pipeline.batches else max(1, workers)
    engine = "threads" if threads else "torch" if pipeline.makes_tensors else "own"
    if pipeline.batches:
        engine = "batched"
        flow: Any = ((len(pictures), {}) for pictures in pipeline.flow(lists, max(1, workers), batch))
    elif engine == "torch":
        flow = torch_batches(pipeline, lists, workers)
    elif engine == "own" and not workers:
        flow = map(Collator(pipeline).make, lists)
    else:
        make = partial(make_batches, pipeline.job)
        flow = take_turns([Thread(pipeline.job) if threads else Child("a worker", make) for _ in range(workers)], lists)
    start = perf_counter()
    first = begun = ended = 0.0
    loaded = arrived = 0
    failed: Dict[int, str] = {}
    for number, (size, trouble) in enumerate(flow, 1):
        now = perf_counter()
        failed.update(trouble)
        first = first or now - start
        arrived += size if number > givers else 0
        if number % givers == 0:
            begun, ended, loaded = begun or now, now, arrived
            if number > givers and now - begun >= seconds:
                break
    if not loaded:
        raise refusal(next(iter(failed.values()), "too few images for so many workers"))
    return {
        "engine": engine,
        "images_per_second": loaded / (ended - begun),
        "images": loaded,
        "first_batch_seconds": first,
        "peak_bytes": peak_bytes(),
        "failed": {str(index): text for index, text in failed.items()},
    }


def batches_of(images: List[int], size: int) -> Iterator[List[int]]:
    """Yield the indexes of batch after batch, without end.

    Each pass has another order, to spread the large images over workers; the same in each run.
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
    """Return the peak memory of this process and its workers, in bytes.

    This adds each process's current share (PSS: a page shared by four counts a quarter for each) and what its peak
    had beyond its current memory, which was its own. Read once, after counting: it takes milliseconds.
    """
    memory_of, total = loading().sibling("_timing").memory_of, 0
    for process in [os.getpid(), *(child.pid for child in multiprocessing.active_children())]:
        status = memory_of(process)
        now = status.get("VmRSS", 0)
        total += memory_of(process, "smaps_rollup").get("Pss", now) + max(0, status.get("VmHWM", now) - now)
    return int(total)


def take_turns(workers: List[Any], lists: Iterator[List[int]]) -> Iterator[Batch]:
    """Yield batches in order, from each worker in turn, requesting the next one before using a batch."""
    pending: Deque[Any] = deque()
    turns = itertools.cycle(workers)
    for indexes in itertools.islice(lists, AHEAD * len(workers)):
        pending.append(next(turns))
        pending[-1].request(indexes)
    for indexes in lists:
        worker = pending.popleft()
        batch = worker.take()
        worker.request(indexes)
        pending.append(worker)
        yield batch


class Thread:
    """A thread of this process, as a server that loads images has them; every image ends in an array.

    It has a pipeline of its own, because a decoder's object need not be thread-safe.
    """

    def __init__(self, job: Dict[str, Any]) -> None:
        pipeline = loading().Pipeline({**job, "wanted": {**job["wanted"], "tensor": False}})
        self.make = Collator(pipeline).make
        self.executor = ThreadPoolExecutor(1)
        self.results: Deque[Future[Batch]] = deque()

    def request(self, indexes: List[int]) -> None:
        self.results.append(self.executor.submit(self.make, indexes))

    def take(self) -> Batch:
        return self.results.popleft().result()


def make_batches(job: Dict[str, Any], connection: Any) -> Iterator[Batch]:
    """Yield the batches that the parent of a worker requests."""
    collator = Collator(loading().Pipeline(job))
    while True:
        yield collator.make(connection.recv())


def load_batch(pipeline: Any, indexes: List[int]) -> Tuple[List[Any], Dict[int, str]]:
    """Return the results for some images, and why others have none."""
    values, failed = [], {}
    for index in indexes:
        try:
            values.append(pipeline.load(index))
        except Exception as error:  # noqa: BLE001 (an image that fails is counted and named)
            failed[index] = loading().text_of(error)
    return values, failed


class Collator:
    """Makes batches with a pipeline, in memory that another process can map."""

    def __init__(self, pipeline: Any) -> None:
        self.pipeline = pipeline
        self.memory = mmap.mmap(-1, 1)

    def make(self, indexes: List[int]) -> Batch:
        """Load images, and put them one after another; a failed one is reported and not counted."""
        values, failed = load_batch(self.pipeline, indexes)
        buffers = buffers_of(values)
        size = sum(each.nbytes for each in buffers)
        if len(self.memory) < size:
            self.memory = mmap.mmap(-1, size)
        room, start = memoryview(self.memory), 0
        for buffer in buffers:
            room[start : start + buffer.nbytes] = buffer
            start += buffer.nbytes
        return len(values), failed


def buffers_of(value: Any) -> List[memoryview]:
    """Return the bytes of what a loader returns: an image, (image, label), {"image": ...}."""
    value = list(value.values()) if isinstance(value, dict) else value
    if isinstance(value, (tuple, list)):
        return [buffer for each in value for buffer in buffers_of(each)]
    value = value.detach().numpy() if hasattr(value, "detach") else value
    view = memoryview(
        value if isinstance(value, (bytes, bytearray)) or hasattr(value, "nbytes") else pickle.dumps(value)
    )
    return [view.cast("B") if view.c_contiguous and view.nbytes else memoryview(view.tobytes())]


def torch_batches(pipeline: Any, lists: Iterator[List[int]], workers: int) -> Iterator[Batch]:
    """Yield batches of torch's DataLoader, with the pipeline as its dataset. Raises Refused if they end."""
    from torch.utils.data import DataLoader

    options: Dict[str, Any] = {}
    if workers:
        options.update(multiprocessing_context="fork", prefetch_factor=AHEAD, persistent_workers=True)
        options.update(worker_init_fn=partial(_begin_worker, os.getpid()))
    children: List[Any] = []
    try:
        data = DataLoader(Batches(pipeline.job), batch_size=None, sampler=lists, num_workers=workers, **options)
        flow = iter(data)
        children = multiprocessing.active_children()
        for _, size, failed in flow:
            yield size, failed
    except OSError as error:
        raise refusal("torch cannot start workers: %s: %s" % (error.strerror, ROOM)) from error
    except RuntimeError as error:
        code = next((child.exitcode for child in children if child.exitcode), None)
        full = "; " + ROOM if code == -signal.SIGBUS else ""
        raise refusal(str(error) if code is None else "a worker %s%s" % (ending(code), full)) from error


def _begin_worker(parent: int, _number: int) -> None:
    end_with(parent)


class Batches:
    """A dataset whose items are batches; each worker creates its own pipeline at its first batch."""

    def __init__(self, job: Dict[str, Any]) -> None:
        self.job = job
        self.pipeline: Any = None

    def __getitem__(self, indexes: List[int]) -> Tuple[Any, int, Dict[int, str]]:
        from torch.utils.data import default_collate

        self.pipeline = self.pipeline or loading().Pipeline(self.job)
        values, failed = load_batch(self.pipeline, indexes)
        if len({getattr(each, "shape", None) for each in values}) == 1:
            with contextlib.suppress(RuntimeError, TypeError):  # a type that torch does not know
                return default_collate(values), len(values), failed
        return values, len(values), failed
