"""Runs inside a target, called by `_loading.py`: times a pipeline, stage by stage. Standard library only, Python 3.8.

As many passes over the images as fit into the given time are made, at least one. Each image counts with its median
pass (the lower of two), so that the stages add up to the total; the figures are means over the images. `least_ms`
counts each with its shortest pass: comparisons of two loaders use it, because other programs only make a pass longer.
The faster loader has more passes, so on a busy machine its shortest would be shorter for that reason alone. Therefore
it takes the shortest of as many as the other one had, repeatedly. A failed image is reported, and not counted.
"""

import contextlib
import ctypes
import gc
import mmap
import os
import random
from time import perf_counter
from typing import Any, Dict, List, Optional

from . import _loading

BLOCKS = 8


def measure(*, seconds: float, cold: bool, indexes: Optional[List[int]], group: int) -> Dict[str, Any]:
    """Measure the pipeline that has started; times are in milliseconds.

    Args:
        seconds: how long to repeat, at least one pass.
        cold: drop the files from the page cache before each pass; `was_cold` says whether that worked.
        indexes: of the images; None for all.
        group: passes of which the shortest counts; 0 for all of them.
    """
    (pipeline,) = _loading.RUNNING
    indexes = list(range(len(pipeline.source))) if indexes is None else indexes
    pipeline.warm_up(indexes)
    gc.collect()
    gc.freeze()
    times: Dict[int, List[List[float]]] = {}
    failed: Dict[str, str] = {}
    passes, was_cold, chance = 0, None, random.Random(0)
    with contextlib.suppress(OSError), open("/proc/self/clear_refs", "w") as stream:  # proc(5)
        stream.write("5")  # resets the peak, if the kernel allows it
    start = perf_counter()
    while passes < max(1, group) or (perf_counter() - start) * (passes + 1) / passes <= seconds:
        in_the_way = move_heap(chance)
        if cold:
            was_cold = False not in [was_cold, *map(drop_from_cache, pipeline.source.files())]
        for index, stages in pipeline.timed_pass(indexes, failed):
            times.setdefault(index, []).append(stages)
        times = {index: each for index, each in times.items() if str(index) not in failed}
        passes += 1
        del in_the_way
        if not times:
            break
    typical = [sorted(each, key=sum)[(len(each) - 1) // 2] for each in times.values()]
    columns = zip((name for name, _ in pipeline.stages), zip(*typical))
    stage_ms = {name: 1000 * sum(column) / len(typical) for name, column in columns}
    least = sum(shortest(list(map(sum, each)), group) for each in times.values())
    return {
        "ms": sum(stage_ms.values()),
        "least_ms": 1000 * least / (len(times) or 1),
        "stages": stage_ms,
        "images": len(typical),
        "passes": passes,
        "peak_bytes": memory_of("self").get("VmHWM", 0),
        "failed": failed,
        "was_cold": was_cold,
    }


def move_heap(chance: random.Random) -> List[bytearray]:
    """Return blocks that obstruct the next pass, so that its pictures get other addresses than in the last one.

    Memory layout alone makes one of two equal processes up to 10% faster for life (measured 2026-11-23, images of
    200 pixels). With many layouts, the shortest passes of both have a good layout.
    """
    return [bytearray(chance.randrange(64, 1 << 18, 64)) for _ in range(BLOCKS)]


def shortest(passes: List[float], group: int) -> float:
    """Return the mean of the shortest pass per group of this size; of all passes if it is 0."""
    size = min(group or len(passes), len(passes))
    minima = [min(passes[start : start + size]) for start in range(0, len(passes) - size + 1, size)]
    return sum(minima) / len(minima)


def memory_of(process: object, file: str = "status") -> Dict[str, int]:
    """Return the lines "NAME: N kB" about a process's memory, in bytes; none if the file cannot be read."""
    try:
        with open("/proc/%s/%s" % (process, file), encoding="utf-8", errors="replace") as stream:
            rows = [line.split() for line in stream]
    except OSError:
        return {}
    return {row[0][:-1]: int(row[1]) * 1024 for row in rows if row[2:] == ["kB"]}


def drop_from_cache(path: str) -> bool:
    """Drop a file from the page cache, so that reading it reads the disk; return whether no page of it is left.

    Pages stay if they are in memory only (tmpfs), or if a process has mapped them. Needs no privileges.
    """
    with contextlib.suppress(OSError, ValueError), open(path, "rb", buffering=0) as stream:
        for _ in range(2):  # recently read pages may wait in one CPU's list, which the first attempt empties
            with contextlib.suppress(OSError):  # on a read-only filesystem
                os.fdatasync(stream.fileno())  # a dirty page cannot be dropped
            os.posix_fadvise(stream.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            if not is_cached(stream.fileno(), os.fstat(stream.fileno()).st_size):
                return True
    return False


def is_cached(descriptor: int, size: int) -> bool:
    """Return whether a page of a file is in memory; true of another user's file, whose pages the kernel hides.

    Asks mincore(2), on a mapping of our own, which loads no page.
    """
    if not size:
        return False
    with mmap.mmap(descriptor, size, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_WRITE) as mapping:
        first = ctypes.c_char.from_buffer(mapping)  # takes a mapping that can be written; nothing is
        vector = (ctypes.c_ubyte * -(-size // mmap.PAGESIZE))()
        failed = ctypes.CDLL(None).mincore(ctypes.c_void_p(ctypes.addressof(first)), ctypes.c_size_t(size), vector)
        del first
    return bool(failed) or any(each & 1 for each in vector)
