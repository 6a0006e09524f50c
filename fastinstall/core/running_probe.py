"""Run a probe in its own thread: probes wait for subprocesses, so several can run at the same time."""

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class RunningProbe(Generic[T]):
    """A probe that runs in its own thread, from its construction on.

    The thread is not a daemon thread, so that Python waits for the probe's subprocess even if the caller fails.
    """

    def __init__(self, probe: Callable[[], T]) -> None:
        self._probe = probe
        self._results: list[T] = []
        self._errors: list[BaseException] = []
        self._under_way = threading.Lock()  # unlike `Thread.join`, a wait for this can be interrupted safely
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
