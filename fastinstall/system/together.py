"""Several long works at the same time, ended together: a failure of one or an interruption stops the others."""

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from typing import TypeVar

from fastinstall.system.process import Leash

T = TypeVar("T")


def together(works: Sequence[Callable[[Leash], T]]) -> list[T]:
    """Do all works, each in a thread of its own.

    Args:
        works: each runs its commands on the leash that it is given.

    Returns:
        Their results, in the order of the works. The first exception of a work is raised once all have ended.
    """
    if len(works) == 1:
        return [works[0](Leash())]
    leash = Leash()
    with ThreadPoolExecutor(max_workers=max(1, len(works))) as pool:
        futures = [pool.submit(work, leash) for work in works]
        try:
            done, _ = wait(futures, return_when=FIRST_EXCEPTION)
            failed = [future for future in futures if future in done and future.exception() is not None]
        finally:
            leash.pull()
        if failed:
            failed[0].result()
    return [future.result() for future in futures]
