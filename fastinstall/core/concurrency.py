"""Run work in threads or processes, and wait for it so that an interruption takes effect at once.

`Future.result`, `wait` and `Thread.join` wait inside code that an interruption splits (see `signals`); the functions
here wait outside of it.

The same work on many things runs in as many processes as there are cores, since threads would take turns on one. The
processes are forks of this one, so the work may be any function, and everything loaded is shared. Only results are
copied, so they have to be values that `pickle` takes.
"""

import contextlib
import math
import os
import pickle
import time
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from queue import Empty, SimpleQueue
from typing import Any, NoReturn, TypeVar, cast

from fastinstall.core.process import ProcessGroup

T = TypeVar("T")

_POLL_SECONDS = 0.2  # seconds: a signal that comes just before a wait is seen after it


def run_together(works: Sequence[Callable[[ProcessGroup], T]]) -> list[T]:
    """Do all works, each in a thread of its own; a failure of one or an interruption stops the others.

    Args:
        works: each runs its commands on the leash that it is given.

    Returns:
        Their results, in the order of the works. The first exception of a work is raised once all have ended.
    """
    if len(works) == 1:
        return [works[0](ProcessGroup())]
    leash = ProcessGroup()
    with ThreadPoolExecutor(max_workers=max(1, len(works))) as pool:
        try:
            futures = [pool.submit(work, leash) for work in works]
            failed = [
                future for future in wait_for_futures(futures, to_first_failure=True) if future.exception() is not None
            ]
        finally:
            leash.pull()
    return [future.result() for future in failed or futures]


def await_future(future: "Future[T]") -> T:
    """The result of a future; its exception is raised."""
    wait_for_futures((future,))
    return future.result()


def wait_for_futures(
    futures: "Sequence[Future[T]]", seconds: float = math.inf, *, to_first_failure: bool = False
) -> "list[Future[T]]":
    """Wait for futures, for so many seconds at most; those that have ended, in the order in which they did."""
    done: SimpleQueue[Future[T]] = SimpleQueue()
    deadline = time.monotonic() + seconds
    for future in futures:
        future.add_done_callback(done.put)
    found: list[Future[T]] = []
    while len(found) < len(futures) and time.monotonic() <= deadline:
        with contextlib.suppress(Empty):
            found.append(done.get(timeout=_POLL_SECONDS))
            if to_first_failure and found[-1].exception() is not None:
                break
    return found


R = TypeVar("R")


def run_in_processes(work: Callable[[T], R], items: Sequence[T], *, count: int) -> list[R]:
    """Do one work on every item.

    Args:
        work: what to do; it must not count on threads of this process, which its forks do not have.
        items: each of them goes to one process.
        count: how many processes; with 1 it is done in this one.

    Returns:
        The results, in the order of the items.

    Raises:
        RuntimeError: a process failed; says how.
    """
    if count < 2 or len(items) < 2:  # noqa: PLR2004 (a fork for one is none)
        return [work(item) for item in items]
    shares = [items[first::count] for first in range(min(count, len(items)))]
    forks = [_fork_worker(work, share) for share in shares]
    outcomes = [_receive_results(process, pipe) for process, pipe in forks]
    for _, problem in outcomes:
        if problem:
            raise RuntimeError(f"a worker process failed:\n{problem}")
    return [outcomes[index % len(shares)][0][index // len(shares)] for index in range(len(items))]


def _fork_worker(work: Callable[[T], R], share: Sequence[T]) -> tuple[int, int]:
    """Start a process; its number, and where its results can be read."""
    reading, writing = os.pipe()
    process = os.fork()
    if process == 0:
        os.close(reading)
        _run_worker(work, share, writing)
    os.close(writing)
    return process, reading


def _run_worker(work: Callable[[T], R], share: Sequence[T], writing: int) -> NoReturn:
    """What the fork does instead of all that this process would have done."""
    code = 1
    try:
        with os.fdopen(writing, "wb") as pipe:
            pickle.dump(_compute_outcome(work, share), pipe, protocol=pickle.HIGHEST_PROTOCOL)
        code = 0
    finally:
        os._exit(code)


def _compute_outcome(work: Callable[[T], R], share: Sequence[T]) -> tuple[list[R], str]:
    """The results, and what went wrong; empty if nothing did."""
    try:
        return [work(item) for item in share], ""
    except BaseException:  # noqa: BLE001 (told to the process that waits, which raises)
        return [], traceback.format_exc()


def _receive_results(process: int, reading: int) -> tuple[list[Any], str]:
    """What a fork found out, once it has ended."""
    with os.fdopen(reading, "rb") as pipe:
        content = pipe.read()
    _, status = os.waitpid(process, 0)
    if os.waitstatus_to_exitcode(status) != 0:
        return [], f"ended with {os.waitstatus_to_exitcode(status)}"
    return cast("tuple[list[Any], str]", pickle.loads(content))  # noqa: S301 (written by our own fork)
