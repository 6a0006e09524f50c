"""Images decoded and resized as in a loader, on every CPU."""

import os
import signal
from collections import deque
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any, Callable, Deque, Dict, Iterator, List, Optional

from .preparing import Source

FILTERS = {"bilinear": 2, "bicubic": 3, "lanczos": 1}


def in_parallel(function: Callable[[Source], Any], images: List[Source], processes: Optional[int]) -> Iterator[Any]:
    """Yield a function's result for each image, in order, only slightly ahead of the consumer, to save memory.

    Where no semaphore can be made (a container without a /dev/shm to write to, sem_open(3)), one process does it all.
    """
    processes = processes or len(os.sched_getaffinity(0))
    ahead: Deque["Future[Any]"] = deque()
    deaf = (signal.SIGINT, signal.SIG_IGN)  # the parent handles an interruption
    try:
        made = ProcessPoolExecutor(processes, get_context("fork"), signal.signal, deaf)
    except (OSError, ImportError, NotImplementedError):
        yield from map(function, images)
        return
    with made as pool:
        for each in images:
            ahead.append(pool.submit(function, each))
            if len(ahead) > 2 * processes:
                yield ahead.popleft().result()
        while ahead:
            yield ahead.popleft().result()


def opened(path: str, *modes: str) -> Any:
    """Return an image, decoded and in RGB as in a loader, unless it is in one of these modes."""
    from PIL import Image

    with Image.open(path) as image:
        if image.mode.startswith(("I", "F")):
            raise ValueError("more than 8 bits per channel")
        image.load()
        return image if image.mode in modes else image.convert("RGB")


def resized(image: Any, wanted: Dict[str, Any]) -> Any:
    """Return the image with the requested shorter side."""
    scale = wanted["shorter"] / min(image.size)
    size = (max(1, round(image.width * scale)), max(1, round(image.height * scale)))
    return image.resize(size, FILTERS[wanted["filter"]])
