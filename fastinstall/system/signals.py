"""Let a stretch of work end before an interruption is heard. Not for slow work: a person waits meanwhile."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

_DEFERRED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def deferred() -> Iterator[None]:
    """Hold SIGINT, SIGTERM and SIGHUP back until the block has ended; then let them act.

    Only the main thread hears signals; in any other this does nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    heard: list[int] = []

    def note(number: int, _frame: FrameType | None) -> None:
        heard.append(number)

    handlers: dict[signal.Signals, Any] = {}
    try:
        for deferred_signal in _DEFERRED:
            handlers[deferred_signal] = signal.signal(deferred_signal, note)
        yield
    finally:
        for deferred_signal, handler in handlers.items():
            signal.signal(deferred_signal, handler if handler is not None else signal.SIG_DFL)
        for number in heard[:1]:
            signal.raise_signal(number)
