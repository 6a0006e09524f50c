"""Run functions in threads, and wait for them in a way that an interruption can end at once.

`Future.result`, `wait` and `Thread.join` wait inside library code that an exception must not interrupt (see `signals`).
The functions of this module wait outside such code.
"""

import contextlib
import math
import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Generic, TypeVar

from fastinstall.core.process import ProcessGroup

if TYPE_CHECKING:
    from concurrent.futures import Future

T = TypeVar("T")

_POLL_SECONDS = 0.2  # short, because a signal that arrives just before a wait is handled only after the wait


def run_together(works: Sequence[Callable[[ProcessGroup], T]]) -> list[T]:
    """Call all functions, each in its own thread; if one fails or the run is interrupted, kill the others' commands.

    Args:
        works: the functions; each runs its commands in the process group that it receives.

    Returns:
        The results of the functions, in the order of `works`. If one fails, its exception is raised once all have
        ended.
    """
    if len(works) == 1:
        return [works[0](ProcessGroup())]
    from concurrent.futures import ThreadPoolExecutor  # slow to import; doctor needs no pool

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
    """Wait for a future, and return its result or raise its exception."""
    wait_for_futures((future,))
    return future.result()


def wait_for_futures(
    futures: "Sequence[Future[T]]", seconds: float = math.inf, *, to_first_failure: bool = False
) -> "list[Future[T]]":
    """Wait for futures, and return those that have ended, in the order in which they ended.

    Args:
        futures: the futures to wait for.
        seconds: the maximum time to wait.
        to_first_failure: whether to return as soon as a future has failed.
    """
    from queue import Empty, SimpleQueue  # slow to import, and doctor, which waits for no futures, needs neither

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


class RunningProbe(Generic[T]):
    """A probe that starts in its own thread when this object is made, and runs beside the caller's other probes.

    The thread is not a daemon thread, so that Python waits for the probe's subprocess even if the caller fails.
    """

    def __init__(self, probe: Callable[[], T]) -> None:
        self._probe = probe
        self._results: list[T] = []
        self._errors: list[BaseException] = []
        self._under_way = threading.Lock()  # a wait for it can be interrupted safely, unlike `Thread.join`
        self._under_way.acquire()
        self._thread = threading.Thread(target=self._run_probe)
        self._thread.start()

    def result(self) -> T:
        """Wait for the probe; return its result or raise its exception."""
        with self._under_way:
            self._thread.join()
        if self._errors:
            raise self._errors[0]
        return self._results[0]

    def _run_probe(self) -> None:
        try:
            self._results.append(self._probe())
        except BaseException as error:  # noqa: BLE001 (raised again by `result`)
            self._errors.append(error)
        finally:
            self._under_way.release()
