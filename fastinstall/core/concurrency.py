"""Run work in threads or processes, and wait for it so that an interruption takes effect at once.

`Future.result`, `wait` and `Thread.join` wait inside code that an interruption splits (see `signals`); the functions
here wait outside of it.

The same work on many things runs in as many processes as there are cores, since threads would take turns on one. The
processes are forks of this one, so the work may be any function, and everything loaded is shared. Items and results are
copied, so they have to be values that `pickle` takes.
"""

import contextlib
import math
import signal
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from fastinstall.core.process import ProcessGroup

T = TypeVar("T")

_POLL_SECONDS = 0.2  # seconds: a signal that comes just before a wait is seen after it


def run_together(works: Sequence[Callable[[ProcessGroup], T]]) -> list[T]:
    """Do all works, each in a thread of its own; a failure of one or an interruption stops the others.

    Args:
        works: each runs its commands on the process_group that it is given.

    Returns:
        Their results, in the order of the works. The first exception of a work is raised once all have ended.
    """
    if len(works) == 1:
        return [works[0](ProcessGroup())]
    process_group = ProcessGroup()
    with ThreadPoolExecutor(max_workers=max(1, len(works))) as pool:
        try:
            futures = [pool.submit(work, process_group) for work in works]
            failed = [
                future for future in wait_for_futures(futures, to_first_failure=True) if future.exception() is not None
            ]
        finally:
            process_group.pull()
    return [future.result() for future in failed or futures]


def await_future(future: "Future[T]") -> T:
    """Return the result of a future; its exception is raised."""
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

_PR_SET_PDEATHSIG = 1  # prctl(2)


def run_in_processes(work: Callable[[T], R], items: Sequence[T], *, count: int) -> list[R]:
    """Do one work on every item.

    Args:
        work: what to do; it must not count on threads of this process, which its forks do not have.
        items: each of them goes to one process.
        count: how many processes; with 1 it is done in this one.

    Returns:
        The results, in the order of the items.

    Raises:
        concurrent.futures.BrokenExecutor: a process ended by itself; what a work raises comes as it is.
    """
    if count < 2 or len(items) < 2:  # noqa: PLR2004 (a fork for one is none)
        return [work(item) for item in items]
    import multiprocessing  # noqa: PLC0415 (only where processes are started)
    from concurrent.futures import ProcessPoolExecutor  # noqa: PLC0415 (likewise)

    forking = multiprocessing.get_context("fork")
    pool = ProcessPoolExecutor(min(count, len(items)), forking, initializer=_set_work, initargs=(work,))
    try:
        futures = [pool.submit(_do_work, item) for item in items]
        wait_for_futures(futures)
    finally:
        pool.shutdown(cancel_futures=True)
    return [future.result() for future in futures]


_works: list[Callable[[Any], Any]] = []
"""Of a fork, which inherits it: a function that is handed over later would have to be pickled."""


def _set_work(work: Callable[[Any], Any]) -> None:
    """Begin a fork: it dies with the process that waits, which alone hears what a terminal sends to all of them."""
    import ctypes  # noqa: PLC0415 (only in forks)

    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)  # a pool's worker would wait for work for ever
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    _works[:] = [work]


def _do_work(item: object) -> Any:  # noqa: ANN401 (what the work gives)
    return _works[0](item)
