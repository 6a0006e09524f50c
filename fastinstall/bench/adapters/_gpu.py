"""Shared by the adapters of NVIDIA's decoders. Not an adapter."""

from __future__ import annotations

import os

DEVICE = "/dev/nvidia0"
WSL_DEVICE, WSL_DRIVER = "/dev/dxg", "/usr/lib/wsl/lib/libcuda.so.1"


def no_gpu() -> str:
    """Return why no NVIDIA GPU can be used here; empty if there is one. Nothing is loaded.

    Device files decide: a container without them still sees the host's driver in /proc, and Windows' device may be
    any GPU.
    """
    if os.path.exists(DEVICE) or (os.path.exists(WSL_DEVICE) and os.path.exists(WSL_DRIVER)):
        return ""
    return "no NVIDIA GPU"
