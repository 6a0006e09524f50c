"""nvImageCodec: decoded by the GPU, one picture at a time, and copied back; Pillow does the rest."""

from __future__ import annotations

from . import _gpu, pillow

NAME = "nvimagecodec"
TITLE = "nvImageCodec, one image at a time, resized by Pillow"
MODULES = ("numpy", "nvidia.nvimgcodec", "PIL")
BRINGS = ("nvidia-nvimgcodec-cu12[all]",)
BY_HAND = _gpu.no_gpu() or "it has one package per major version of CUDA, and includes CUDA libraries"
FORMATS = ("JPEG", "PNG", "WEBP", "BMP", "TIFF")
CODE = "Image.fromarray(numpy.asarray(nvimgcodec.Decoder().read(path).cpu()))"
LOADER = (
    """
from pathlib import Path

import numpy
from nvidia import nvimgcodec
from PIL import Image

RUNNING = []


def load(path):
    if not RUNNING:  # only after a worker has started: CUDA does not survive a fork
        RUNNING.append(nvimgcodec.Decoder(max_num_cpu_threads=1))
    as_it_lies = nvimgcodec.DecodeParams(apply_exif_orientation=False)
    found = RUNNING[0].decode(nvimgcodec.CodeStream(Path(path).read_bytes()), params=as_it_lies)
    if found is None:
        raise ValueError(f"nvImageCodec cannot decode {path}")
    return numpy.asarray(finished(Image.fromarray(numpy.asarray(found.cpu()))))
"""
    + pillow.FINISHED
)

trouble = _gpu.no_gpu
