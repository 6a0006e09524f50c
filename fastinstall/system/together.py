"""Several works at the same time: how they are waited for, and long ones that are ended together.

`Future.result`, `wait` and `Thread.join` wait inside of code that an interruption splits (see `signals`); what is here
waits outside of it, and is interrupted at once.
"""

import contextlib
import math
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from queue import Empty, SimpleQueue
from typing import TypeVar

from fastinstall.system.process import Leash

T = TypeVar("T")

_GLANCE = 0.2  # seconds: a signal that comes just before a wait is seen after it


def together(works: Sequence[Callable[[Leash], T]]) -> list[T]:
    """Do all works, each in a thread of its own; a failure of one or an interruption stops the others.

    Args:
        works: each runs its commands on the leash that it is given.

    Returns:
        Their results, in the order of the works. The first exception of a work is raised once all have ended.
    """
    if len(works) == 1:
        return [works[0](Leash())]
    leash = Leash()
    with ThreadPoolExecutor(max_workers=max(1, len(works))) as pool:
        try:
            futures = [pool.submit(work, leash) for work in works]
            failed = [future for future in ended(futures, to_first_failure=True) if future.exception() is not None]
        finally:
            leash.pull()
    return [future.result() for future in failed or futures]


def awaited(future: "Future[T]") -> T:
    """The result of a future; its exception is raised."""
    ended((future,))
    return future.result()


def ended(
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
            found.append(done.get(timeout=_GLANCE))
            if to_first_failure and found[-1].exception() is not None:
                break
    return found
