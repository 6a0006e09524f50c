"""NVIDIA DALI as training uses it: a pipeline of whole batches, on threads of its own, on the CPU alone."""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, Optional

NAME = "dali"
TITLE = "NVIDIA DALI on the CPU, in batches"
MODULES = ("numpy", "nvidia.dali")
BRINGS = ("nvidia-dali-cuda120",)
BY_HAND = "DALI takes a gigabyte, and has one package for each major version of CUDA: nvidia-dali-cuda120, -cuda130"
BATCHED = True
FORMATS = ("JPEG", "PNG", "WEBP", "BMP", "TIFF")
CODE = 'fn.resize(fn.decoders.image(files, device="cpu"), resize_shorter=shorter, antialias=True)  # a batch'
LOADER = """
import os

import numpy
from nvidia.dali import fn, pipeline_def, types

DEVICE = None  # 0 for the first GPU
INTERPOLATIONS = {"bilinear": types.INTERP_LINEAR, "bicubic": types.INTERP_CUBIC, "lanczos": types.INTERP_LANCZOS3}


def batches(lists, threads=os.cpu_count(), size=32):
    \"\"\"The pictures of list after list of paths, in place of a DataLoader: DALI has its own threads.\"\"\"

    @pipeline_def(batch_size=size, num_threads=threads, device_id=DEVICE)
    def graph():
        source = ([numpy.fromfile(path, numpy.uint8) for path in paths] for paths in lists)
        files = fn.external_source(source=source, batch=True, dtype=types.UINT8, ndim=1)
        device = "cpu" if DEVICE is None else "mixed"
        images = fn.decoders.image(files, device=device, output_type=types.RGB, adjust_orientation=False)
        images = fn.resize(images, resize_shorter=SHORTER, interp_type=INTERPOLATIONS[FILTER], antialias=True)
        return fn.crop(images, crop=(CROP, CROP), rounding="truncate") if CROP else images

    pipeline = graph()
    pipeline.build()
    while True:
        try:
            (found,) = pipeline.run()
        except StopIteration:
            return
        yield [numpy.array(each) for each in found.as_cpu()]


def load(path):
    \"\"\"One picture, to look at: a pipeline for one is slow.\"\"\"
    return next(batches([[path]], threads=1, size=1))[0]
"""

INTERPOLATIONS = {"bilinear": "INTERP_LINEAR", "bicubic": "INTERP_CUBIC", "lanczos": "INTERP_LANCZOS3"}


def batches(wanted: Dict[str, Any], lists: Iterator[List[bytes]], threads: int, size: int) -> Iterator[List[Any]]:
    """Arrays of batch after batch."""
    return run(wanted, lists, threads, size)


def run(
    wanted: Dict[str, Any], lists: Iterator[List[bytes]], threads: int, size: int, device: Optional[int] = None
) -> Iterator[List[Any]]:
    """The same on the CPU (None) or on a GPU; with 0 threads on one, and nothing is loaded ahead."""
    import numpy as np
    from nvidia.dali import fn, pipeline_def, types

    number = getattr(types, INTERPOLATIONS[wanted["filter"]])

    def graph() -> Any:
        source = ([np.frombuffer(each, np.uint8) for each in batch] for batch in lists)
        files = fn.external_source(source=source, batch=True, dtype=types.UINT8, ndim=1)
        decoder = "cpu" if device is None else "mixed"
        images = fn.decoders.image(files, device=decoder, output_type=types.RGB, adjust_orientation=False)
        images = fn.resize(images, resize_shorter=wanted["shorter"], interp_type=number, antialias=True)
        side = wanted["crop"]
        return fn.crop(images, crop=(side, side), rounding="truncate") if side else images  # as Pillow's adapter does

    ahead = {} if threads else {"prefetch_queue_depth": 1, "exec_pipelined": False, "exec_async": False}
    pipeline = pipeline_def(graph, batch_size=size, num_threads=max(1, threads), device_id=device, **ahead)()
    pipeline.build()
    while True:
        try:
            (found,) = pipeline.run()
        except StopIteration:
            return
        yield [np.array(each) for each in found.as_cpu()]
