"""Runs inside a target: times operations of one PIL on request. Standard library only, Python 3.8 or later.

    python -I _worker.py [--stage DIR] [--photo FILE]

Reads lines of JSON from stdin, `{"operation": NAME, "seconds": S}`, and answers each with one line,
`{"operation": NAME, "ms": BEST}` or `{"operation": NAME, "error": TEXT}`. The first line it writes
tells which PIL it has. `{"operation": ""}` ends it.
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
"""Freed once, untouched, as by any program that has run for a while: from then on glibc keeps what pictures free.

Else what each of the two happened to free before decides how fast blocks of some megabytes are (see `_values.py`).
"""


def main(arguments: list[str]) -> None:
    """Tell which PIL is imported, then answer each request on stdin."""
    options = dict(zip(arguments[::2], arguments[1::2]))
    if "--stage" in options:
        sys.path.insert(0, options["--stage"])
    import PIL
    from PIL import Image

    print(json.dumps({"version": PIL.__version__, "location": PIL.__file__}), flush=True)
    bytes(LARGE_BLOCK)
    package = operations_package()
    bench = package.operations(photo(Image, options.get("--photo"), (package.WIDTH, package.HEIGHT)))
    serve(Image, bench, sys.stdin)


def serve(Image: Any, bench: Calls, requests: Iterable[str]) -> None:  # noqa: N803 (a module's name)
    """Answer requests until one has no name.

    Saving an AVIF leaves the upper halves of the vector registers in use. Code for SSE, as in the official wheel, then
    takes up to 3.4 times as long on some CPUs, so the operation before would decide how fast the next one seems
    (findings/avif-slows-what-follows.sh). Decoding a JPEG clears them.
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
    """Answer a request: milliseconds of an operation, or its error; for "?", the names of all."""
    if name == "?":
        return {"operation": name, "names": sorted(bench)}
    if name not in bench:
        return {"operation": name, "error": "not there"}
    try:
        return {"operation": name, "ms": best(bench[name], seconds) * 1000}
    except Exception as error:  # noqa: BLE001 (one operation's failure is an answer)
        return {"operation": name, "error": "%s: %s" % (type(error).__name__, error)}


def best(call: Callable[[], Any], seconds: float) -> float:
    """Return the shortest of the calls that fit into `seconds`, at least two: the first may meet cold caches.

    It is the CPU's time. On a busy machine a long operation is interrupted each time and a short one is not: by the
    clock on the wall a resize was 24 times as fast with ten processes on two cores, and 8 times as fast without.
    With no seconds at all there is one call, which tells whether it runs. A call that took no time does not count: on a
    virtual machine that clock may stand still for a while. It is infinite if there is no other.
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


def photo(Image: Any, path: str | None, size: tuple[int, int]) -> Any:  # noqa: N803 (a module's name)
    """Return a photograph, or what resembles one: smooth colour, edges and grain, the same on every run."""
    if path:
        return Image.open(path).convert("RGB").resize(size, 3)
    numbers = random.Random(20)
    coarse = Image.frombytes("RGB", (32, 18), bytes(numbers.getrandbits(8) for _ in range(32 * 18 * 3)))
    grain = Image.frombytes("RGB", (480, 270), bytes(numbers.getrandbits(8) for _ in range(480 * 270 * 3)))
    return Image.blend(coarse.resize(size, 3), grain.resize(size, 2), 0.12)


def operations_package() -> Any:
    """Import `operations/` beside this file: `-I` keeps its directory off the path."""
    name = "fastinstall_operations"
    place = os.path.join(os.path.dirname(os.path.abspath(__file__)), "operations")
    start = os.path.join(place, "__init__.py")
    spec = importlib.util.spec_from_file_location(name, start, submodule_search_locations=[place])
    made = importlib.util.module_from_spec(spec)  # type: ignore[arg-type]  # the file is there
    sys.modules[name] = made
    spec.loader.exec_module(made)  # type: ignore[union-attr]  # the spec has a loader
    return made


if __name__ == "__main__":
    main(sys.argv[1:])
