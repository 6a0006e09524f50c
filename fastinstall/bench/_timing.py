"""Time a pipeline stage by stage; called by `_loading.py` in a target, on Python 3.8 or later.

Each pass loads all images once; passes are repeated for a given time. For each image, only the pass with the median
total time counts; if the number of passes is even, it is the shorter of the two middle passes. The times of its stages
therefore add up to the total. The results are averaged over the images.

`least_ms` uses the shortest pass of each image instead. Comparisons of two loaders use `least_ms`, because other
programs can only lengthen a pass. In the same time, the faster loader makes more passes, so it has more chances of an
undisturbed one. Therefore its passes are split into groups as large as the other loader's number of passes, and the
shortest passes of the groups are averaged. Failed images are reported, and not counted.
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
    """Measure the pipeline of this process; the results are in milliseconds.

    Args:
        seconds: how long to repeat; at least one pass is made, and at least `group` passes.
        cold: whether to drop the files from the page cache before each pass; `was_cold` in the result says whether that
            worked.
        indexes: indexes of the images to load; None for all.
        group: number of passes per group; the shortest pass of each group counts for `least_ms`. 0 for one group of all
            passes.
    """
    (pipeline,) = _loading.RUNNING
    indexes = list(range(len(pipeline.job["images"]))) if indexes is None else indexes
    pipeline.warm_up(indexes)
    gc.collect()
    gc.freeze()
    times: Dict[int, List[List[float]]] = {}
    failed: Dict[str, str] = {}
    passes, was_cold, chance = 0, None, random.Random(0)
    with contextlib.suppress(OSError), open("/proc/self/clear_refs", "w") as stream:  # proc(5)
        stream.write("5")  # resets the peak memory (VmHWM), if the kernel allows it
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
    """Allocate blocks of random sizes, so that the next pass puts its pictures at different addresses.

    Memory layout alone can make one of two equal processes up to 10% faster during its whole life (measured 2026-11-23,
    images of 200 pixels). If each pass has a different layout, both processes have passes with a good layout, and
    these are their shortest passes.
    """
    return [bytearray(chance.randrange(64, 1 << 18, 64)) for _ in range(BLOCKS)]


def shortest(passes: List[float], group: int) -> float:
    """Split passes into groups, and return the mean of the groups' shortest passes.

    Args:
        passes: times of the passes, in order.
        group: number of passes in a group; 0 for a single group.
    """
    size = min(group or len(passes), len(passes))
    minima = [min(passes[start : start + size]) for start in range(0, len(passes) - size + 1, size)]
    return sum(minima) / len(minima)


def memory_of(process: object, file: str = "status") -> Dict[str, int]:
    """Read the values that a process's file in /proc gives in kB; return them in bytes, by name.

    `process` is a process ID or "self". The result is empty if the file cannot be read.
    """
    try:
        with open("/proc/%s/%s" % (process, file), encoding="utf-8", errors="replace") as stream:
            rows = [line.split() for line in stream]
    except OSError:
        return {}
    return {row[0][:-1]: int(row[1]) * 1024 for row in rows if row[2:] == ["kB"]}


def drop_from_cache(path: str) -> bool:
    """Drop a file from the page cache, so that it is read from disk; return whether all its pages are gone.

    Pages remain if the file is in memory only (tmpfs), or if a process has mapped them. No privileges are needed.
    """
    with contextlib.suppress(OSError, ValueError), open(path, "rb", buffering=0) as stream:
        for _ in range(2):  # recently read pages may be in a per-CPU list, which the first attempt empties
            with contextlib.suppress(OSError):  # syncing may fail on a read-only filesystem
                os.fdatasync(stream.fileno())  # a dirty page cannot be dropped
            os.posix_fadvise(stream.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            if not is_cached(stream.fileno(), os.fstat(stream.fileno()).st_size):
                return True
    return False


def is_cached(descriptor: int, size: int) -> bool:
    """Return whether any page of a file is in memory, by mincore(2) on a new mapping, which loads no page.

    For another user's file the result is always True, because the kernel hides the state of its pages.
    """
    if not size:
        return False
    with mmap.mmap(descriptor, size, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_WRITE) as mapping:
        first = ctypes.c_char.from_buffer(mapping)  # requires a writable mapping; nothing is written
        vector = (ctypes.c_ubyte * -(-size // mmap.PAGESIZE))()
        failed = ctypes.CDLL(None).mincore(ctypes.c_void_p(ctypes.addressof(first)), ctypes.c_size_t(size), vector)
        del first
    return bool(failed) or any(each & 1 for each in vector)
