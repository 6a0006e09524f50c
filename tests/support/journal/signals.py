"""Signals at every moment of a function at which the interpreter may handle them.

CPython handles signals at the start of a Python function and after the call of a C function, and calls profilers at the
same moments.
"""

import inspect
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType

from fastinstall.core.signals import handle_interruptions

_PATIENCE = 30.0


def outcomes(scene: Callable[[], object], *, every: int = 1) -> Iterator[tuple[int, BaseException | None]]:
    """Run a function repeatedly until it ends uninterrupted: SIGTERM comes one moment later in each run.

    Args:
        scene: the function.
        every: use only every n-th moment.

    Yields:
        The moment, and the exception that the function raised; None if it did not notice the signal.
    """
    moment = 1
    while True:
        profiler = _Profiler(moment)
        error = _interrupted(profiler, scene)
        if not profiler.has_struck:
            assert error is None
            return
        yield moment, error
        moment += every


def _interrupted(profiler: "_Profiler", scene: Callable[[], object]) -> BaseException | None:
    try:
        with handle_interruptions():
            sys.setprofile(profiler)
            try:
                scene()
            finally:
                sys.setprofile(None)
            deadline = time.monotonic() + _PATIENCE
            while profiler.has_struck and time.monotonic() < deadline:
                time.sleep(0.001)
    except BaseException as error:  # noqa: BLE001 (returned)
        return error
    return None


class _Profiler:
    def __init__(self, moment: int) -> None:
        self.has_struck = False
        self._left = moment

    def __call__(self, frame: FrameType, event: str, _argument: object) -> None:
        if event not in {"call", "c_return"} or self.has_struck or frame.f_code is _interrupted.__code__:
            return
        if event == "call" and _is_entered_again(frame):
            return
        self._left -= 1
        if self._left == 0:
            self.has_struck = True
            signal.raise_signal(signal.SIGTERM)


def _is_entered_again(frame: FrameType) -> bool:
    """Return True if a generator is resumed: if an exception is thrown into it, CPython handles no signal first."""
    code = frame.f_code
    is_generator = bool(code.co_flags & inspect.CO_GENERATOR)
    return is_generator and (frame.f_lineno != code.co_firstlineno or code.co_name == "<genexpr>")


def all_ended(before: int) -> bool:
    """Wait until at most `before` threads run, as threads take a moment to end; return False after a timeout."""
    deadline = time.monotonic() + _PATIENCE
    while threading.active_count() > before and time.monotonic() < deadline:
        time.sleep(0.001)
    return threading.active_count() <= before
