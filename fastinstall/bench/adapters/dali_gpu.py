"""NVIDIA DALI as used in training, on the first GPU that CUDA_VISIBLE_DEVICES allows.

The pictures are copied back to main memory, so that they can be compared; training would leave them on the GPU.
"""

import os

from . import dali


def trouble() -> str:
    """Return why no NVIDIA GPU can be used; empty if one can. No library is loaded.

    The function looks for device files, not for the driver, because a container without these files still shows the
    host's driver in /proc. On WSL, /dev/dxg may be a GPU of any maker, so NVIDIA's library has to exist too.
    """
    of_windows = os.path.exists("/dev/dxg") and os.path.exists("/usr/lib/wsl/lib/libcuda.so.1")
    return "" if os.path.exists("/dev/nvidia0") or of_windows else "no NVIDIA GPU"


TITLE = "NVIDIA DALI on a GPU, in batches"
MODULES = dali.MODULES
BRINGS = dali.BRINGS
BY_HAND = trouble() or dali.BY_HAND
FORMATS = dali.FORMATS
CODE = dali.CODE.replace("cpu", "mixed")
LOADER = dali.LOADER.replace("DEVICE = None  # 0 for the first GPU", "DEVICE = 0")
