"""NVIDIA DALI as used in training: a pipeline that loads whole batches on its own threads, on the CPU only."""

TITLE = "NVIDIA DALI on the CPU, in batches"
MODULES = ("numpy", "nvidia.dali")
BRINGS = ("nvidia-dali-cuda120",)
BY_HAND = "DALI takes 1 GB, and has one package per major version of CUDA: nvidia-dali-cuda120, -cuda130"
FORMATS = ("JPEG", "PNG", "WEBP", "BMP", "TIFF")
CODE = 'fn.resize(fn.decoders.image(files, device="cpu"), resize_shorter=shorter, antialias=True)  # a batch'
LOADER = """
import os

import numpy
from nvidia.dali import fn, pipeline_def, types

DEVICE = None  # 0 for the first GPU
INTERPOLATIONS = {"bilinear": types.INTERP_LINEAR, "bicubic": types.INTERP_CUBIC, "lanczos": types.INTERP_LANCZOS3}
AT_ONCE = {"prefetch_queue_depth": 1, "exec_pipelined": False, "exec_async": False}


def batches(lists, threads=os.cpu_count(), size=32, ahead=True):
    \"\"\"Yield the pictures of list after list of paths, instead of a DataLoader.\"\"\"

    @pipeline_def(batch_size=size, num_threads=threads, device_id=DEVICE, **({} if ahead else AT_ONCE))
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
    return next(batches([[path]], threads=1, size=1))[0]
"""
