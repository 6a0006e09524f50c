"""Turn Ctrl-C, SIGTERM and SIGHUP into one KeyboardInterrupt, raised where it does no damage, so that a run is undone.

A signal handler may raise an exception between any two instructions. Much of the standard library is not safe against
that: a lock that `threading` has taken may never be released, or be released twice. So the exception is delayed until
such library code has returned, but for a second at most. Long waits must therefore happen outside such code (see
`concurrency`). Our own code defers signals while it acquires resources that it must release.
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

    Further signals within a few seconds count as the same request, so that they do not interrupt the undo. A signal
    that was ignored when this process started stays ignored, as under nohup(1) or in a background job of a shell.
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

    Use it for short code that must not be interrupted, not for slow code: after Ctrl-C, the user waits until the block
    ends. Only the main thread receives signals, so in other threads this function does nothing.
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
        # `_thread`, because the interrupted code may be that of `threading`.
        _thread.start_new_thread(self._remind, (number,))

    def forget(self) -> None:
        """Drop an interruption that is still delayed when the block of `handle_interruptions` ends."""
        self._waits = False

    def _remind(self, number: int) -> None:
        time.sleep(_AGAIN_SECONDS)
        if self._waits:
            signal.pthread_kill(threading.main_thread().ident or 0, number)


def _is_delicate(frame: FrameType | None) -> bool:
    """Return whether an exception at this point would damage library code that our code called.

    It also returns True inside a finalizer, or inside `defer_signals` itself.
    """
    while frame is not None and not frame.f_code.co_filename.startswith(_OURS):
        # Python discards exceptions that are raised in a finalizer.
        if frame.f_code.co_filename.startswith(_DELICATE) or frame.f_code.co_name == "__del__":
            return True
        frame = frame.f_back
    return frame is not None and frame.f_code.co_filename == __file__ and frame.f_code.co_name == defer_signals.__name__
