"""NVIDIA DALI: decoded, resized and cut by the GPU, one picture at a time as a Dataset asks for them.

In training it would do whole batches and leave them on the GPU, without a DataLoader's workers; what is measured here
is less than it can do then. `device_id=0` is the first GPU that CUDA_VISIBLE_DEVICES leaves.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Dict

from . import _arrays, _gpu

NAME = "dali"
TITLE = "NVIDIA DALI, one image at a time"
MODULES = ("numpy", "nvidia.dali")
BRINGS = ("nvidia-dali-cuda120",)
BY_HAND = _gpu.no_gpu() or "DALI takes gigabytes, and has one package for each major version of CUDA"
FORMATS = ("JPEG", "PNG", "WEBP", "BMP", "TIFF")
CODE = 'fn.resize(fn.decoders.image(files, device="mixed"), resize_shorter=shorter, antialias=True)'
LOADER = """
import numpy
from nvidia.dali import fn, pipeline_def, types

INTERPOLATIONS = {"bilinear": types.INTERP_LINEAR, "bicubic": types.INTERP_CUBIC, "lanczos": types.INTERP_LANCZOS3}
RUNNING = []


@pipeline_def(batch_size=1, num_threads=1, device_id=0, prefetch_queue_depth=1, exec_pipelined=False, exec_async=False)
def graph():
    files = fn.external_source(name="files", dtype=types.UINT8, ndim=1)
    images = fn.decoders.image(files, device="mixed", output_type=types.RGB, adjust_orientation=False)
    images = fn.resize(images, resize_shorter=SHORTER, interp_type=INTERPOLATIONS[FILTER], antialias=True)
    return fn.crop(images, crop=(CROP, CROP)) if CROP else images


def load(path):
    if not RUNNING:  # not before a worker is started: CUDA does not survive a fork
        RUNNING.append(graph())
        RUNNING[0].build()
    RUNNING[0].feed_input("files", [numpy.fromfile(path, numpy.uint8)])
    return numpy.array(RUNNING[0].run()[0].as_cpu().at(0))
"""

INTERPOLATIONS = {"bilinear": "INTERP_LINEAR", "bicubic": "INTERP_CUBIC", "lanczos": "INTERP_LANCZOS3"}

trouble = _gpu.no_gpu


def stages(wanted: Dict[str, Any]) -> _arrays.Stages:
    return [("decode", partial(load, Running(wanted)))]


class Running:
    """The pipeline, made when the first picture comes."""

    def __init__(self, wanted: Dict[str, Any]) -> None:
        self.wanted = wanted
        self.pipeline: Any = None

    def of(self, array: Any) -> Any:
        """The batch of one that comes of the bytes of a file."""
        if self.pipeline is None:
            self.pipeline = pipeline(self.wanted)
        self.pipeline.feed_input("files", [array])
        return self.pipeline.run()[0]


def load(running: Running, data: bytes) -> Any:
    import numpy as np

    return np.array(running.of(np.frombuffer(data, np.uint8)).as_cpu().at(0))


def pipeline(wanted: Dict[str, Any]) -> Any:
    from nvidia.dali import fn, pipeline_def, types

    number = getattr(types, INTERPOLATIONS[wanted["filter"]])

    def graph() -> Any:
        files = fn.external_source(name="files", dtype=types.UINT8, ndim=1)
        images = fn.decoders.image(files, device="mixed", output_type=types.RGB, adjust_orientation=False)
        images = fn.resize(images, resize_shorter=wanted["shorter"], interp_type=number, antialias=True)
        return fn.crop(images, crop=(wanted["crop"], wanted["crop"])) if wanted["crop"] else images

    one = {"batch_size": 1, "num_threads": 1, "device_id": 0, "prefetch_queue_depth": 1}
    made = pipeline_def(graph, **one, exec_pipelined=False, exec_async=False)()
    made.build()
    return made
