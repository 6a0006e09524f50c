"""Measures images per second from worker processes. Runs in the target: standard library only, Python 3.8 or later.

    python -I -B _pool_main.py

Lines of JSON in, a line of JSON out for each, as of `_loading.py`: the job, then requests:

    {"do": "pool", "workers": N (0: in the process itself), "threads": whether they are threads of one process,
     "seconds": to count, "batch": images per batch, "limit": seconds before giving up, "images": indexes; default all}

Answer: `images_per_second` after every worker's first batch, `images` that were counted,
`first_batch_seconds`, `peak_bytes` of all processes, `engine` ("torch": its DataLoader, if tensors are made;
"batched": an adapter's own threads; "threads": of one process; else "own") and `failed` (index of an image to its
problem); or `error`.

Like a training script, this process imports what the pipeline needs and never loads an image itself: libraries that
have started threads by loading one (OpenCV, libvips, OpenMP) may block forever in its children. A child answers each
request, so that all start alike.
"""

import importlib.util
import multiprocessing
import os
import random
import sys
from time import perf_counter
from typing import Any, Dict, Iterator, List

HERE = os.path.dirname(os.path.abspath(__file__))
JOIN_SECONDS = 5.0

spec: Any = importlib.util.spec_from_file_location("_loading", os.path.join(HERE, "_loading.py"))
loading: Any = importlib.util.module_from_spec(spec)  # `-I` keeps its directory off the path
sys.modules["_loading"] = loading
spec.loader.exec_module(loading)
processes = loading.sibling("_pool_processes")
own = loading.sibling("_pool_own")
ENGINES = {"own": own.batches, "threads": own.batches_of_threads, "torch": loading.sibling("_pool_torch").batches}
ENGINES["batched"] = loading.sibling("_batches").batches


def answer(pipeline: Any, request: Dict[str, Any]) -> Dict[str, Any]:
    """Return a child's result; its death and its silence are results too."""
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    child = context.Process(target=reply, args=(os.getpid(), pipeline, request, theirs))
    child.start()
    theirs.close()
    try:
        if ours.poll(request["limit"]):
            found: Dict[str, Any] = ours.recv()
            child.join(JOIN_SECONDS)
            return found
    except EOFError:
        child.join()
        return {"error": "the loading process %s" % processes.ending(child.exitcode)}
    finally:
        child.kill()
        child.join()
    return {"error": "no answer within %g s%s" % (request["limit"], processes.stuck())}


def reply(parent: int, pipeline: Any, request: Dict[str, Any], connection: Any) -> None:
    """Answer one request in a child, which ends with its parent."""
    processes.end_with(parent)
    try:
        connection.send(counted(pipeline, request))
    except processes.Trouble as trouble:
        connection.send({"error": str(trouble)})
    except Exception as error:  # noqa: BLE001 (whatever a package raises is an answer)
        connection.send({"error": loading.text_of(error)})


def counted(pipeline: Any, request: Dict[str, Any]) -> Dict[str, Any]:
    """Count images for the seconds of a request. Raises Trouble if there is no rate."""
    images = request.get("images") or list(range(len(pipeline.source)))
    usual = "threads" if request["threads"] else "torch" if pipeline.torch else "own"
    engine = "batched" if pipeline.batches else usual
    lists = batches_of(images, request["batch"])
    givers = 1 if pipeline.batches else max(1, request["workers"])
    found = count(ENGINES[engine](pipeline, request, lists), givers, request["seconds"])
    return {**found, "engine": engine}


def batches_of(images: List[int], size: int) -> Iterator[List[int]]:
    """Yield the indexes of batch after batch, without end.

    Each pass has another order, to spread the large images over workers; the same in each run.
    """
    order, chance = list(images), random.Random(0)
    batch: List[int] = []
    while True:
        chance.shuffle(order)
        for index in order:
            batch.append(index)
            if len(batch) == size:
                yield batch
                batch = []


def count(flow: Any, workers: int, seconds: float) -> Dict[str, Any]:
    """Count complete rounds, with a batch from every worker, after the first one: batches come in bunches."""
    start = perf_counter()
    first = begun = ended = 0.0
    images = arrived = 0
    failed: Dict[int, str] = {}
    for number, (loaded, trouble) in enumerate(flow, 1):
        now = perf_counter()
        failed.update(trouble)
        first = first or now - start
        arrived += loaded if number > workers else 0
        if number % workers:
            continue
        begun = begun or now
        images, ended = arrived, now
        if number > workers and now - begun >= seconds:
            break
    peak = processes.peak_bytes()
    flow.close()
    if not images:
        raise processes.Trouble(next(iter(failed.values()), "too few images for so many workers"))
    found = {"images_per_second": images / (ended - begun), "images": images, "first_batch_seconds": first}
    return {**found, "peak_bytes": peak, "failed": {str(index): text for index, text in failed.items()}}


if __name__ == "__main__":
    processes.end_with(os.getppid())
    loading.serve({"pool": answer})
