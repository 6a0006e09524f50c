"""Worker processes as torch's DataLoader uses them, without torch.

Each worker has a queue of batches to make, two ahead. It collates a batch directly into shared memory and reports its
place; the parent takes the batches in order and requests another one for each. The shared memory is an unnamed file
that both have mapped, reused for later batches.
"""

from __future__ import annotations

import contextlib
import mmap
import multiprocessing
import os
import pickle
import sys
import tempfile
from multiprocessing.connection import wait
from typing import Any, Dict, Iterator, List, Optional, Tuple

LOOK_SECONDS = 5.0
"""How often an idle worker checks whether its parent lives."""
Batch = Tuple[int, Dict[int, str]]


def batches(pipeline: Any, request: Dict[str, Any], lists: Iterator[List[int]]) -> Iterator[Batch]:
    """Return how many images each batch contained, in order, and which ones failed."""
    if not request["workers"]:
        yield from alone(pipeline, lists)
        return
    team = Team(pipeline.job, request)
    try:
        yield from team.in_order(lists)
    finally:
        team.end()


def alone(pipeline: Any, lists: Iterator[List[int]]) -> Iterator[Batch]:
    """Run in this process: collate too, into private memory."""
    for indexes in lists:
        values, failed = loaded(pipeline, indexes)
        buffers = buffers_of(values)
        collate(memoryview(bytearray(sum(map(size_of, buffers)))), buffers)
        yield len(values), failed


class Team:
    """Workers, and their requests."""

    def __init__(self, job: Dict[str, Any], request: Dict[str, Any]) -> None:
        context = multiprocessing.get_context(request["start"])
        self.processes: List[Any] = []
        self.connections: List[Any] = []
        self.mapped: Dict[Tuple[int, int], mmap.mmap] = {}
        self.given = 0
        for _ in range(request["workers"]):
            ours, theirs = context.Pipe()
            words = (os.getpid(), job, theirs, processes().AHEAD + 1)
            process = context.Process(target=work, args=words, daemon=True)
            process.start()
            theirs.close()
            self.processes.append(process)
            self.connections.append(ours)

    def in_order(self, lists: Iterator[List[int]]) -> Iterator[Batch]:
        for _ in range(processes().AHEAD * len(self.processes)):
            self.give(lists)
        arrived: Dict[int, Any] = {}
        taken = 0
        while taken < self.given:
            while taken not in arrived:
                arrived.update(self.received())
            count, failed, place = arrived.pop(taken)
            taken += 1
            self.give(lists)  # before using the batch, like a DataLoader
            self.seen(*place)
            yield count, failed

    def give(self, lists: Iterator[List[int]]) -> None:
        indexes = next(lists, None)
        if indexes is not None:
            with contextlib.suppress(OSError):  # it died: waiting for its batch reports it
                self.connections[self.given % len(self.connections)].send((self.given, indexes))
            self.given += 1

    def received(self) -> Dict[int, Any]:
        ready = wait([*self.connections, *[each.sentinel for each in self.processes]])
        found = {}
        for connection, process in zip(self.connections, self.processes):
            if connection in ready or process.sentinel in ready:
                number, batch = self.message(connection, process)
                found[number] = batch
        return found

    def message(self, connection: Any, process: Any) -> Tuple[int, Any]:
        try:
            number, batch, trouble = connection.recv()
        except (EOFError, OSError):
            process.join()
            raise processes().Trouble("a worker %s" % processes().ending(process.exitcode)) from None
        if trouble:
            raise processes().Trouble("in a worker: %s" % trouble)
        return number, batch

    def seen(self, pid: int, descriptor: int, size: int) -> memoryview:
        """Return the bytes of a batch, in the memory of its worker."""
        known = self.mapped.get((pid, descriptor))
        if known is None or len(known) < size:
            opened = os.open("/proc/%d/fd/%d" % (pid, descriptor), os.O_RDONLY)
            known = self.mapped[pid, descriptor] = mmap.mmap(opened, 0, access=mmap.ACCESS_READ)
            os.close(opened)
        return memoryview(known)[:size]

    def end(self) -> None:
        for process in self.processes:
            process.kill()
        for process in self.processes:
            process.join()


def work(parent: int, job: Dict[str, Any], connection: Any, slots: int) -> None:
    """Work until the parent is gone."""
    processes().end_with(parent)
    try:
        pipeline = sys.modules["_loading"].Pipeline(job)
        shelf = [Slot() for _ in range(slots)]
        while awaited(connection, parent):
            number, indexes = connection.recv()
            shelf.append(shelf.pop(0))
            connection.send((number, made(pipeline, indexes, shelf[0]), ""))
    except EOFError:
        return
    except Exception as error:  # noqa: BLE001 (whatever a package raises is an answer)
        connection.send((-1, None, "%s: %s" % (type(error).__name__, error)))


def awaited(connection: Any, parent: int) -> bool:
    """Wait for something to read; return False if the parent is gone."""
    while not connection.poll(LOOK_SECONDS):
        if os.getppid() != parent:
            return False
    return True


def made(pipeline: Any, indexes: List[int], slot: Slot) -> Tuple[int, Dict[int, str], Tuple[int, int, int]]:
    """Collate a batch into shared memory; return image count, failures, and (process ID, descriptor, bytes)."""
    values, failed = loaded(pipeline, indexes)
    buffers = buffers_of(values)
    size = sum(map(size_of, buffers))
    collate(slot.room(size), buffers)
    return len(values), failed, (os.getpid(), slot.descriptor, size)


def loaded(pipeline: Any, indexes: List[int]) -> Tuple[List[Any], Dict[int, str]]:
    """Return the images of a batch; a failed one is reported and not counted."""
    values, failed = [], {}
    for index in indexes:
        try:
            values.append(pipeline.load(index))
        except Exception as error:  # noqa: BLE001 (an image that fails is counted and named)
            failed[index] = "%s: %s" % (type(error).__name__, error)
    return values, failed


class Slot:
    """Shared memory for a batch; it grows to the largest one."""

    def __init__(self) -> None:
        self.descriptor = unnamed_file()
        self.mapped: Optional[mmap.mmap] = None

    def room(self, size: int) -> memoryview:
        if self.mapped is None or len(self.mapped) < size:
            os.ftruncate(self.descriptor, max(1, size))
            self.mapped = mmap.mmap(self.descriptor, max(1, size))
        return memoryview(self.mapped)[:size]


def unnamed_file() -> int:
    """Return a file in memory. `os.memfd_create` is missing if Python was built with a glibc before 2.27."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("fastinstall")
    place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # noqa: S108 (unnamed: nobody can create it first)
    with tempfile.TemporaryFile(dir=place) as stream:
        return os.dup(stream.fileno())


def collate(room: memoryview, buffers: List[Any]) -> None:
    """Put arrays one after another, which is a batch if they have one shape."""
    start = 0
    for buffer in buffers:
        end = start + size_of(buffer)
        copy_into(room[start:end], buffer)
        start = end


def buffers_of(value: Any) -> List[Any]:
    """Return bytes and arrays in a loader's result: an image, (image, label), {"image": ...}."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (tuple, list)):
        return [buffer for each in value for buffer in buffers_of(each)]
    if hasattr(value, "detach"):
        return [value.detach().numpy()]
    return [value if isinstance(value, (bytes, bytearray)) or hasattr(value, "nbytes") else pickle.dumps(value)]


def copy_into(room: memoryview, buffer: Any) -> None:
    """Copy bytes or an array into memory of exactly its size."""
    if isinstance(buffer, (bytes, bytearray)):
        room[:] = buffer
        return
    import numpy as np

    np.copyto(np.frombuffer(room, buffer.dtype).reshape(buffer.shape), buffer)


def size_of(buffer: Any) -> int:
    """Return the size of bytes or of an array, in bytes."""
    return len(buffer) if isinstance(buffer, (bytes, bytearray)) else int(buffer.nbytes)


def processes() -> Any:
    """Return what `_pool_main.py` has loaded under this name, also in every worker."""
    return sys.modules["_pool_processes"]
