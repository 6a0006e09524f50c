"""Runs inside a target, for `_loading.py`: times a pipeline, stage by stage. Standard library only, Python 3.8.

As many passes over the images as fit into the given time are made, at least one. Each image counts with its median
pass (the lower of two), so that the stages add up to the total; the figures are means over the images. `least_ms`
counts each with its shortest pass: comparisons of two loaders use it, because other programs only make a pass longer.
The faster loader has more passes, so on a busy machine its shortest would be shorter for that reason alone. Therefore
it takes the shortest of as many as the other one had, repeatedly. A failed image is reported, and not counted. What
happens once, such as imports of plugins, happens before, with an untimed image of each kind.
"""

import gc
import random
import resource
from contextlib import suppress
from time import perf_counter
from typing import Any, Callable, Dict, Iterable, List

Times = Dict[int, List[List[float]]]
BLOCKS = 8


def measure(pipeline: Any, request: Dict[str, Any], drop: Callable[[Any], bool]) -> Dict[str, Any]:
    """Answer a request.

    Args:
        pipeline: a pipeline as `_loading.py` builds it.
        request: `seconds`, `indexes` (null for all images), `cold`, `group` (the shortest of so many passes counts).
        drop: drops the files of a source from the page cache, and returns whether it worked.
    """
    wanted = request.get("indexes")
    indexes = list(range(len(pipeline.source)) if wanted is None else wanted)
    warm_up(pipeline, indexes)
    start_peak()
    times: Times = {}
    failed: Dict[str, str] = {}
    passes, was_cold, start = 0, None, perf_counter()
    chance = random.Random(0)
    group = request.get("group") or 0
    while passes < max(1, group) or (perf_counter() - start) * (passes + 1) / passes <= request["seconds"]:
        in_the_way = move_heap(chance)
        if request.get("cold"):
            was_cold = drop(pipeline.source) and was_cold is not False
        load_all(pipeline, indexes, times, failed)
        passes += 1
        del in_the_way
        if not times:
            break
    return {
        **means(pipeline, times, group),
        "passes": passes,
        "peak_bytes": peak_bytes(),
        "failed": failed,
        "was_cold": was_cold,
    }


def move_heap(chance: random.Random) -> List[bytearray]:
    """Return blocks that obstruct the next pass, so that its pictures get other addresses than in the last one.

    Memory layout alone makes one of two equal processes up to 10% faster for life (measured 2026-11-23, images of
    200 pixels). With many layouts, the shortest passes of both have a good layout.
    """
    return [bytearray(chance.randrange(64, 1 << 18, 64)) for _ in range(BLOCKS)]


def warm_up(pipeline: Any, indexes: Iterable[int]) -> None:
    """Load an image of each kind, and exempt existing objects from garbage collection."""
    for index in pipeline.strangers(indexes):
        with suppress(Exception):  # it fails again in its turn, and is reported then
            pipeline.load(index)
    gc.collect()
    gc.freeze()


def load_all(pipeline: Any, indexes: Iterable[int], times: Times, failed: Dict[str, str]) -> None:
    """Load every image once."""
    for index in indexes:
        if str(index) in failed:
            continue
        try:
            times.setdefault(index, []).append(pipeline.timed(index))
        except Exception as error:  # noqa: BLE001 (an image that fails is counted and named)
            failed[str(index)] = pipeline.text_of(error)
            times.pop(index, None)


def means(pipeline: Any, times: Times, group: int) -> Dict[str, Any]:
    """Return the mean time per image in milliseconds: in total, at the least, and of each stage."""
    typical = [sorted(passes, key=sum)[(len(passes) - 1) // 2] for passes in times.values()]
    names = [name for name, _ in pipeline.stages]
    stages = {name: 1000 * sum(column) / len(typical) for name, column in zip(names, zip(*typical))}
    least = sum(shortest(list(map(sum, passes)), group) for passes in times.values())
    return {
        "ms": sum(stages.values()),
        "least_ms": 1000 * least / (len(times) or 1),
        "stages": stages,
        "images": len(typical),
    }


def shortest(passes: List[float], group: int) -> float:
    """Return the mean of the shortest pass per group of this size; of all passes if it is 0."""
    size = group or len(passes)
    found = [min(passes[start : start + size]) for start in range(0, len(passes) - size + 1, size)]
    return sum(found) / len(found)


def start_peak() -> None:
    """Reset the peak memory, if the kernel allows it. Source: proc(5), clear_refs."""
    try:
        with open("/proc/self/clear_refs", "w") as stream:
            stream.write("5")
    except OSError:
        pass  # then the peak counts from the start of the process


def peak_bytes() -> int:
    """Return the peak resident memory. getrusage() would include the parent process."""
    try:
        with open("/proc/self/status") as stream:
            line = next(line for line in stream if line.startswith("VmHWM:"))
        return int(line.split()[1]) * 1024
    except (OSError, StopIteration):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
