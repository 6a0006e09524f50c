"""Time operations of one PIL on request; runs inside a target, on Python 3.8 or later.

    python -I _worker.py [--stage DIR]

The first line on stdout describes the imported PIL. Each line on stdin is a request in JSON,
`{"operation": NAME, "seconds": S}`. The response is one line, `{"operation": NAME, "ms": BEST}` or
`{"operation": NAME, "error": TEXT}`. The request `{"operation": ""}` ends the process.
"""

from __future__ import annotations

import importlib.util
import io
import json
import os
import random
import sys
import time
from typing import Any, Callable, Dict, Iterable

Calls = Dict[str, Callable[[], Any]]
FEWEST = 2
LARGE_BLOCK = 31 << 20
"""Size of a block that is allocated and freed once, so that glibc keeps and reuses the memory of freed pictures.

Every program that has run for a while has freed such a block. Otherwise the time to allocate some megabytes would
depend on the sizes of the blocks that each PIL has freed before (see `_values.py`).
"""


def main(arguments: list[str]) -> None:
    """Report the imported PIL, then answer each request on stdin."""
    if arguments[:1] == ["--stage"]:
        sys.path.insert(0, arguments[1])
    import PIL
    from PIL import Image

    print(json.dumps({"version": PIL.__version__, "location": PIL.__file__}), flush=True)
    bytes(LARGE_BLOCK)
    package = operations_package()
    bench = package.operations(photo(Image, (package.WIDTH, package.HEIGHT)))
    serve(Image, bench, sys.stdin)


def serve(Image: Any, bench: Calls, requests: Iterable[str]) -> None:  # noqa: N803 (a module's name)
    """Answer requests until one has an empty operation.

    Before each operation a JPEG is decoded, which clears the vector registers. Otherwise one operation could slow down
    the next: saving an AVIF leaves the upper halves of the registers in use, and then, on some CPUs, SSE code such as
    the official wheel's takes up to 3.4 times as long (findings/avif-slows-what-follows.sh).
    """
    file = io.BytesIO()
    Image.new("RGB", (64, 64)).save(file, "JPEG")
    for line in requests:
        request = json.loads(line)
        name = request["operation"]
        if not name:
            return
        Image.open(io.BytesIO(file.getvalue())).load()
        print(json.dumps(answer(name, bench, request["seconds"])), flush=True)


def answer(name: str, bench: Calls, seconds: float) -> dict[str, Any]:
    """Time an operation, and return its milliseconds or its error. For "?", return the names of all operations."""
    if name == "?":
        return {"operation": name, "names": sorted(bench)}
    if name not in bench:
        return {"operation": name, "error": "not there"}
    try:
        return {"operation": name, "ms": best(bench[name], seconds) * 1000}
    except Exception as error:  # noqa: BLE001 (any exception of an operation is reported)
        return {"operation": name, "error": "%s: %s" % (type(error).__name__, error)}


def best(call: Callable[[], Any], seconds: float) -> float:
    """Call a function repeatedly for `seconds`, and return the CPU time of the fastest call, in seconds.

    There are at least two calls, since the first may meet cold caches. Wall-clock time would be unfair on a busy
    machine: a long operation is interrupted in every call, a short one only in some. With ten processes on two CPU
    cores, a resize that is 8 times as fast seemed 24 times as fast.

    If `seconds` is 0, there is one call, to see whether the function works. On a virtual machine the clock may stand
    still for a while, so calls that seem to take no time do not count. If no call counts, the result is infinite.
    """
    shortest, calls, start = float("inf"), 0, time.perf_counter()
    while calls < (FEWEST if seconds else 1) or time.perf_counter() - start < seconds:
        before = time.process_time()
        call()
        spent = time.process_time() - before
        if spent > 0:
            shortest = min(shortest, spent)
        calls += 1
    return shortest


def photo(Image: Any, size: tuple[int, int]) -> Any:  # noqa: N803 (a module's name)
    """Return a picture with smooth colours and grain, like a photo, which is the same in every run."""
    numbers = random.Random(20)
    coarse = Image.frombytes("RGB", (32, 18), bytes(numbers.getrandbits(8) for _ in range(32 * 18 * 3)))
    grain = Image.frombytes("RGB", (480, 270), bytes(numbers.getrandbits(8) for _ in range(480 * 270 * 3)))
    return Image.blend(coarse.resize(size, 3), grain.resize(size, 2), 0.12)


def operations_package() -> Any:
    """Import the package `operations/` by its path, because `-I` keeps the directory of this file off `sys.path`."""
    name = "fastinstall_operations"
    place = os.path.join(os.path.dirname(os.path.abspath(__file__)), "operations")
    start = os.path.join(place, "__init__.py")
    spec = importlib.util.spec_from_file_location(name, start, submodule_search_locations=[place])
    made = importlib.util.module_from_spec(spec)  # type: ignore[arg-type]  # the file exists
    sys.modules[name] = made
    spec.loader.exec_module(made)  # type: ignore[union-attr]  # the spec has a loader
    return made


if __name__ == "__main__":
    main(sys.argv[1:])
