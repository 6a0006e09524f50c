"""Ctrl-C, SIGTERM and SIGHUP: each of them ends a run with everything undone, and is heard once."""

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_ONE_WISH_SECONDS = 5.0


@contextmanager
def interruptible() -> Iterator[None]:
    """While the block runs, the signals that ask for an end raise KeyboardInterrupt.

    Those that follow within a few seconds are the same wish, and must not cut short what the first one has set going.
    A signal that the parent had ignored stays so: nohup(1), and a shell that starts a job in the background.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    interrupt = _Interrupter()
    before = {number: signal.getsignal(number) for number in _SIGNALS}
    heard = {number: handler for number, handler in before.items() if handler not in (signal.SIG_IGN, None)}
    for number in heard:
        signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number, handler in heard.items():
            signal.signal(number, handler)


class _Interrupter:
    def __init__(self) -> None:
        self._heard = -_ONE_WISH_SECONDS

    def __call__(self, _number: int, _frame: FrameType | None) -> None:
        now = time.monotonic()
        if now - self._heard < _ONE_WISH_SECONDS:
            return
        self._heard = now
        raise KeyboardInterrupt
