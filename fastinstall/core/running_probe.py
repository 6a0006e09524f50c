"""A probe that waits for a subprocess, run beside others in a thread of its own."""

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class RunningProbe(Generic[T]):
    """A probe under way.

    Its thread is no daemon: whatever goes wrong meanwhile, its subprocess is waited for and never orphaned.
    """

    def __init__(self, probe: Callable[[], T]) -> None:
        self._probe = probe
        self._results: list[T] = []
        self._errors: list[BaseException] = []
        self._under_way = threading.Lock()  # an interruption splits `Thread.join`, but not a wait for this
        self._under_way.acquire()
        self._thread = threading.Thread(target=self._run_probe)
        self._thread.start()

    def result(self) -> T:
        """Return what the probe answered; its exception is raised here."""
        with self._under_way:
            self._thread.join()
        if self._errors:
            raise self._errors[0]
        return self._results[0]

    def _run_probe(self) -> None:
        try:
            self._results.append(self._probe())
        except BaseException as error:  # noqa: BLE001 (raised again where the result is asked for)
            self._errors.append(error)
        finally:
            self._under_way.release()
