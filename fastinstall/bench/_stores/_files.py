"""Write images to separate files, named after their originals, on all CPUs in parallel."""

import os
import signal
from collections import deque
from concurrent.futures import Future, ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from typing import Any, Callable, Deque, Dict, Iterator, List

from ._preparing import Outcome, Source, leave_room, trouble_of, write_file


def make_files(images: List[Source], out: str, wanted: Dict[str, Any], named: Any, encode: Any) -> Iterator[Outcome]:
    """Write a file for each image; `named` makes the file's name from the image's name, `encode` encodes the image."""
    return in_parallel(partial(make_file, out, wanted, named, encode), images)


def make_file(out: str, wanted: Dict[str, Any], named: Any, encode: Any, source: Source) -> Outcome:
    name, path = source
    target = os.path.join(out, named(name))
    if os.path.exists(target):
        return name, os.path.getsize(target), ""
    try:
        content = encode(path, wanted)
    except ImportError:
        raise
    except Exception as error:  # noqa: BLE001 (any problem of an image is reported)
        return name, 0, trouble_of(error)
    leave_room(out, len(content), wanted)
    write_file(target, content)
    return name, len(content), ""


def in_parallel(function: Callable[[Source], Any], images: List[Source]) -> Iterator[Any]:
    """Call a function for each image in parallel, and yield the results in order.

    To save memory, only a few images are processed ahead. If semaphores are unavailable (sem_open(3), as in a container
    without a writable /dev/shm), this process does all the work.
    """
    processes = len(os.sched_getaffinity(0))
    ahead: Deque["Future[Any]"] = deque()
    deaf = (signal.SIGINT, signal.SIG_IGN)  # workers ignore Ctrl-C, because the parent handles it
    try:
        pool = ProcessPoolExecutor(processes, get_context("fork"), signal.signal, deaf)
    except (OSError, ImportError, NotImplementedError):
        yield from map(function, images)
        return
    with pool:
        for each in images:
            ahead.append(pool.submit(function, each))
            if len(ahead) > 2 * processes:
                yield ahead.popleft().result()
        while ahead:
            yield ahead.popleft().result()


def opened(path: str, *modes: str) -> Any:
    """Decode an image; convert it to RGB, as a loader does, unless its mode is one of `modes`."""
    from PIL import Image

    with Image.open(path) as image:
        if image.mode.startswith(("I", "F")):
            raise ValueError("more than 8 bits per channel")
        image.load()
        return image if image.mode in modes else image.convert("RGB")


class FileReader:
    """Reads the images below a directory, sorted by name."""

    def __init__(self, path: str) -> None:
        self.root = path
        paths = (os.path.join(directory, each) for directory, _, files in os.walk(path) for each in files)
        self.paths = sorted(each for each in paths if not each.endswith((".json", ".partial")))

    def __len__(self) -> int:
        return len(self.paths)

    def path(self, index: int) -> str:
        return self.paths[index]

    def name(self, index: int) -> str:
        return os.path.relpath(self.paths[index], self.root)

    def read(self, index: int) -> bytes:
        with open(self.paths[index], "rb", buffering=0) as stream:
            return stream.read()

    def close(self) -> None:
        """Do nothing, because no file is kept open."""
