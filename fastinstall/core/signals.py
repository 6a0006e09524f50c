"""Turn Ctrl-C, SIGTERM and SIGHUP into one KeyboardInterrupt, raised where it does no damage, so that a run is undone.

An exception from a signal handler may be raised between any two calls. Much of the standard library is not safe against
that: a lock that `threading` has taken is never released, or released twice. So the exception is delayed until such
code has returned, but for a second at most; long waits must therefore happen outside it (see `concurrency`). Our own
code defers signals while it acquires resources that it must release.
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
    """Let SIGINT, SIGTERM and SIGHUP raise KeyboardInterrupt while the block runs.

    Further signals within a few seconds count as the same request, so that they do not interrupt the undoing. A signal
    that the parent process ignores stays ignored, as under nohup(1), or in a background job of a shell.
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
    """Defer SIGINT, SIGTERM and SIGHUP until the block has ended.

    For short code that must not be interrupted; not for slow code, as the user waits meanwhile. Only the main thread
    receives signals, so this does nothing in other threads.
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
    # A separate function, because `_is_delicate` treats the frame of `defer_signals` as code not to interrupt.
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
        # Without `threading`, which may be the code that was interrupted.
        _thread.start_new_thread(self._remind, (number,))

    def forget(self) -> None:
        """Drop an interruption that is still waiting when the block has ended."""
        self._waits = False

    def _remind(self, number: int) -> None:
        time.sleep(_AGAIN_SECONDS)
        if self._waits:
            signal.pthread_kill(threading.main_thread().ident or 0, number)


def _is_delicate(frame: FrameType | None) -> bool:
    """Return whether an exception would damage library code called by our code, or interrupt `defer_signals`."""
    while frame is not None and not frame.f_code.co_filename.startswith(_OURS):
        # Python discards exceptions that are raised in a finalizer.
        if frame.f_code.co_filename.startswith(_DELICATE) or frame.f_code.co_name == "__del__":
            return True
        frame = frame.f_back
    return frame is not None and frame.f_code.co_filename == __file__ and frame.f_code.co_name == defer_signals.__name__
