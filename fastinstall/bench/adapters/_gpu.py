"""What the adapters of NVIDIA's decoders share. No adapter."""

from __future__ import annotations

import os

DEVICE = "/dev/nvidia0"
WSL_DEVICE, WSL_DRIVER = "/dev/dxg", "/usr/lib/wsl/lib/libcuda.so.1"


def no_gpu() -> str:
    """Why no NVIDIA GPU can be used here; empty if one is there. Nothing is loaded for this.

    Device files decide: a container without them still sees the host's driver in /proc, and any GPU may stand behind
    Windows' device.
    """
    if os.path.exists(DEVICE) or (os.path.exists(WSL_DEVICE) and os.path.exists(WSL_DRIVER)):
        return ""
    return "no NVIDIA GPU"
