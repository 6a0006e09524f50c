"""The same work on many things, in as many processes as there are cores: threads would take turns on one.

The processes are forks of this one, so that the work may be any function and everything that is
loaded is shared. Only its results are copied, so they have to be values that `pickle` takes.
"""

import os
import pickle
import traceback
from collections.abc import Callable, Sequence
from typing import Any, NoReturn, TypeVar, cast

T = TypeVar("T")
R = TypeVar("R")


def in_processes(work: Callable[[T], R], items: Sequence[T], *, count: int) -> list[R]:
    """Do one work on every item.

    Args:
        work: what to do; it must not count on threads of this process, which its forks do not have.
        items: each of them goes to one process.
        count: how many processes; with 1 it is done in this one.

    Returns:
        The results, in the order of the items.

    Raises:
        RuntimeError: a process failed; says how.
    """
    if count < 2 or len(items) < 2:  # noqa: PLR2004 (a fork for one is none)
        return [work(item) for item in items]
    shares = [items[first::count] for first in range(min(count, len(items)))]
    forks = [_forked(work, share) for share in shares]
    outcomes = [_received(process, pipe) for process, pipe in forks]
    for _, problem in outcomes:
        if problem:
            raise RuntimeError(f"a worker process failed:\n{problem}")
    return [outcomes[index % len(shares)][0][index // len(shares)] for index in range(len(items))]


def _forked(work: Callable[[T], R], share: Sequence[T]) -> tuple[int, int]:
    """Start a process; its number, and where its results can be read."""
    reading, writing = os.pipe()
    process = os.fork()
    if process == 0:
        os.close(reading)
        _work(work, share, writing)
    os.close(writing)
    return process, reading


def _work(work: Callable[[T], R], share: Sequence[T], writing: int) -> NoReturn:
    """What the fork does instead of all that this process would have done."""
    code = 1
    try:
        with os.fdopen(writing, "wb") as pipe:
            pickle.dump(_outcome(work, share), pipe, protocol=pickle.HIGHEST_PROTOCOL)
        code = 0
    finally:
        os._exit(code)


def _outcome(work: Callable[[T], R], share: Sequence[T]) -> tuple[list[R], str]:
    """The results, and what went wrong; empty if nothing did."""
    try:
        return [work(item) for item in share], ""
    except BaseException:  # noqa: BLE001 (told to the process that waits, which raises)
        return [], traceback.format_exc()


def _received(process: int, reading: int) -> tuple[list[Any], str]:
    """What a fork found out, once it has ended."""
    with os.fdopen(reading, "rb") as pipe:
        content = pipe.read()
    _, status = os.waitpid(process, 0)
    if os.waitstatus_to_exitcode(status) != 0:
        return [], f"ended with {os.waitstatus_to_exitcode(status)}"
    return cast("tuple[list[Any], str]", pickle.loads(content))  # noqa: S301 (written by our own fork)
