"""NVIDIA DALI as in training, on the first GPU that CUDA_VISIBLE_DEVICES allows.

The pictures are copied back to be compared; training would leave them on the GPU.
"""

from __future__ import annotations

from . import _gpu, dali

NAME = "dali-gpu"
TITLE = "NVIDIA DALI on a GPU, in batches"
MODULES = dali.MODULES
BRINGS = dali.BRINGS
BY_HAND = _gpu.no_gpu() or dali.BY_HAND
BATCHED = True
FORMATS = dali.FORMATS
CODE = dali.CODE.replace("cpu", "mixed")
LOADER = dali.LOADER.replace("DEVICE = None  # 0 for the first GPU", "DEVICE = 0")

trouble = _gpu.no_gpu
