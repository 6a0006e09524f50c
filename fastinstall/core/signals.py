"""Ctrl-C, SIGTERM and SIGHUP: each of them ends a run with everything undone, is heard once, and splits nothing.

An exception may come between any two calls, and much of the standard library does not outlive that: a lock that
`threading` has taken is never released, or twice. So the exception is raised when such code has left, after a second at
the latest; what waits long should not do so in there (see `concurrency`). Code of ours takes what it has to give
back while signals are deferred.
"""

import _thread
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_ONE_REQUEST_SECONDS = 5.0
_AGAIN_SECONDS = 0.005
_PATIENCE_SECONDS = 1.0

_OURS = str(Path(__file__).parents[1]) + "/"
_LIBRARY = str(Path(threading.__file__).parent) + "/"
_NAMES = ("threading.py", "concurrent/", "contextlib.py", "tempfile.py", "weakref.py", "_weakrefset.py")
_DELICATE = (*(_LIBRARY + name for name in _NAMES), "<frozen importlib._bootstrap")


@contextmanager
def handle_interruptions() -> Iterator[None]:
    """Have the signals that ask for an end raise KeyboardInterrupt while the block runs.

    Those that follow within a few seconds are the same request: they must not cut short what the first has set going.
    A signal that the parent had ignored stays so: nohup(1), and a shell that starts a job in the background.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    interrupt = _Interrupter()
    before = {number: signal.getsignal(number) for number in _SIGNALS}
    with ExitStack() as restored:
        for ending, handler in before.items():
            if handler not in (signal.SIG_IGN, None):
                restored.callback(signal.signal, ending, handler)
                signal.signal(ending, interrupt)
        restored.callback(interrupt.forget)
        yield


@contextmanager
def defer_signals() -> Iterator[None]:
    """Hold SIGINT, SIGTERM and SIGHUP back until the block has ended; then let them act.

    For a stretch of work that must not be split; not for slow work, as a person waits meanwhile. Only the main thread
    hears signals; in any other this does nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    heard: list[int] = []

    def note(number: int, _frame: FrameType | None) -> None:
        heard.append(number)

    try:
        with ExitStack() as restored:
            for ending in _SIGNALS:
                restored.callback(signal.signal, ending, signal.getsignal(ending) or signal.SIG_DFL)
                signal.signal(ending, note)
            yield
    finally:
        _let_act(heard)


def _let_act(heard: list[int]) -> None:
    # A function of its own: in the frame of `defer_signals` an interruption would seem to split its block.
    for number in heard[:1]:
        signal.raise_signal(number)


class _Interrupter:
    def __init__(self) -> None:
        self._heard = -_ONE_REQUEST_SECONDS
        self._waits = False

    def __call__(self, number: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        if not self._waits:
            if now - self._heard < _ONE_REQUEST_SECONDS:
                return
            self._heard = now
        self._waits = now - self._heard < _PATIENCE_SECONDS and _is_delicate(frame)
        if not self._waits:
            raise KeyboardInterrupt
        # Not by `threading`, which may be what was interrupted.
        _thread.start_new_thread(self._remind, (number,))

    def forget(self) -> None:
        """Drop an interruption that has waited until everything was done: it comes too late."""
        self._waits = False

    def _remind(self, number: int) -> None:
        time.sleep(_AGAIN_SECONDS)
        if self._waits:
            signal.pthread_kill(threading.main_thread().ident or 0, number)


def _is_delicate(frame: FrameType | None) -> bool:
    """Return whether code runs that an exception would split: what our own has called, up to there."""
    while frame is not None and not frame.f_code.co_filename.startswith(_OURS):
        # What is raised where an object is taken away is lost.
        if frame.f_code.co_filename.startswith(_DELICATE) or frame.f_code.co_name == "__del__":
            return True
        frame = frame.f_back
    return frame is not None and frame.f_code.co_filename == __file__ and frame.f_code.co_name == defer_signals.__name__
