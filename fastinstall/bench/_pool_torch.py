"""torch's DataLoader, with the pipeline as its dataset."""

import multiprocessing
import os
import signal
import sys
from functools import partial
from typing import Any, Dict, Iterator, List, Tuple

Batch = Tuple[int, Dict[int, str]]
ROOM = "they need a /dev/shm that can be written and holds their batches (docker run --shm-size=1g)"


def batches(pipeline: Any, request: Dict[str, Any], lists: Iterator[List[int]]) -> Iterator[Batch]:
    """Return how many images each batch contained, in order, and which ones failed."""
    from torch.utils.data import DataLoader

    words = {"num_workers": request["workers"], "collate_fn": collate}
    if request["workers"]:
        words.update(multiprocessing_context="fork", prefetch_factor=processes().AHEAD)
        words.update(persistent_workers=True, worker_init_fn=partial(begin, os.getpid()))
    try:
        flow = iter(DataLoader(Images(pipeline.job, len(pipeline.source)), batch_sampler=lists, **words))
    except OSError as error:
        raise processes().Trouble("torch cannot start workers: %s: %s" % (error.strerror, ROOM)) from error
    workers = multiprocessing.active_children()
    try:
        for _, count, failed in flow:
            yield count, failed
    except RuntimeError as error:
        raise processes().Trouble(died(workers) or str(error)) from error


class Images:
    """A dataset; each worker creates its own pipeline at its first image."""

    def __init__(self, job: Dict[str, Any], count: int) -> None:
        self.job = job
        self.count = count
        self.pipeline: Any = None

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> Any:
        if self.pipeline is None:
            self.pipeline = sys.modules["_loading"].Pipeline(self.job)
        try:
            return self.pipeline.load(index)
        except Exception as error:  # noqa: BLE001 (an image that fails is counted and named)
            return Failed(index, "%s: %s" % (type(error).__name__, error))


class Failed:
    """An image that could not be loaded."""

    def __init__(self, index: int, reason: str) -> None:
        self.index = index
        self.reason = reason


def collate(items: List[Any]) -> Tuple[Any, int, Dict[int, str]]:
    """Return one tensor, or several of (image, label), as torch collates them; a list if their shapes differ."""
    values = [each for each in items if not isinstance(each, Failed)]
    failed = {each.index: each.reason for each in items if isinstance(each, Failed)}
    return together(values), len(values), failed


def together(values: List[Any]) -> Any:
    """Collate values by torch; return them as they are if their shapes differ or torch does not know them."""
    from torch.utils.data import default_collate

    if len({getattr(each, "shape", None) for each in values}) != 1:
        return values
    try:
        return default_collate(values)
    except (RuntimeError, TypeError):
        return values  # for differing shapes and unknown types


def begin(parent: int, _number: int) -> None:
    """Set up a worker when it starts."""
    processes().end_with(parent)


def died(workers: List[Any]) -> str:
    """Return which signal killed a worker; empty if none did."""
    codes = [worker.exitcode for worker in workers]
    code = next((each for each in codes if each), None)
    if code is None:
        return ""
    full = "; " + ROOM if code == -signal.SIGBUS else ""
    return "a worker %s%s" % (processes().ending(code), full)


def processes() -> Any:
    """Return what `_pool_main.py` has loaded under this name, also in every worker."""
    return sys.modules["_pool_processes"]
