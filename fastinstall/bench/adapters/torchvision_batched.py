"""torchvision's decoder of a list of JPEGs, on a GPU where there is one; else on as many threads as there are CPUs.

On the CPU torchvision decodes a list one after the other, so each thread gets a part of the batch; every call lets the
other threads run.
"""

from __future__ import annotations

from collections import deque
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Dict, Iterator, List

from . import _arrays, _gpu, torchvision_io

NAME = "torchvision-batched"
TITLE = "torchvision.io.decode_jpeg of a list"
MODULES = torchvision_io.MODULES
BRINGS = torchvision_io.BRINGS
BY_HAND = torchvision_io.BY_HAND
BATCHED = True
FORMATS = ("JPEG",)
CODE = 'torchvision.io.decode_jpeg([torchvision.io.read_file(path) for path in batch], mode="RGB", device=device)'
LOADER = """
import os
from concurrent.futures import ThreadPoolExecutor

import torch
from torchvision.io import ImageReadMode, decode_jpeg, read_file
from torchvision.transforms import InterpolationMode
from torchvision.transforms.v2 import functional

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
torch.set_num_threads(1)  # the threads below are enough


def batches(lists, threads=os.cpu_count()):
    \"\"\"The pictures of list after list of paths, in place of a DataLoader.\"\"\"
    threads = 1 if DEVICE == "cuda" else threads
    with ThreadPoolExecutor(threads) as pool:
        for paths in lists:
            parts = pool.map(load_batch, [paths[number::threads] for number in range(threads)])
            found = [None] * len(paths)
            for number, part in enumerate(parts):
                found[number::threads] = part
            yield found


def load_batch(paths):
    if not paths:
        return []
    images = decode_jpeg([read_file(str(path)) for path in paths], mode=ImageReadMode.RGB, device=DEVICE)
    return [finished(each).permute(1, 2, 0).contiguous().cpu().numpy() for each in images]


def finished(image):
    scale = SHORTER / min(image.shape[1:])
    size = [max(1, round(length * scale)) for length in image.shape[1:]]
    image = functional.resize(image, size, interpolation=InterpolationMode(FILTER), antialias=True)
    if CROP:
        top, left = (size[0] - CROP) // 2, (size[1] - CROP) // 2
        image = image[:, top : top + CROP, left : left + CROP]
    return image


def load(path):
    return load_batch([path])[0]
"""
AHEAD = 2
"""Batches that are begun before the first one is taken, as DALI and a DataLoader do."""


def trouble() -> str:
    """Why what is installed cannot be used."""
    return torchvision_io.trouble()


def batches(wanted: Dict[str, Any], lists: Iterator[List[bytes]], threads: int, _size: int) -> Iterator[List[Any]]:
    import torch

    torch.set_num_threads(1)
    device = "cpu" if _gpu.no_gpu() or not torch.cuda.is_available() else "cuda"
    function = partial(load, torchvision_io.stages(wanted)[1:], device)
    ahead = AHEAD if threads else 1
    begun: Any = deque()
    count = max(1, threads) if device == "cpu" else 1
    with ThreadPoolExecutor(count) as pool:
        for batch in lists:
            parts = [batch[number::count] for number in range(count)]
            begun.append((len(batch), [pool.submit(function, part) for part in parts if part]))
            if len(begun) >= ahead:
                yield collect(*begun.popleft())
        while begun:
            yield collect(*begun.popleft())


def load(finish: _arrays.Stages, device: str, files: List[bytes]) -> List[Any]:
    import torch
    from torchvision.io import ImageReadMode, decode_jpeg

    data = [torch.frombuffer(bytearray(each), dtype=torch.uint8) for each in files]
    found = []
    for decoded in decode_jpeg(data, mode=ImageReadMode.RGB, device=device):
        image = decoded
        for _, stage in finish[:-1]:
            image = stage(image)
        found.append(finish[-1][1](image.cpu()))
    return found


def collect(count: int, parts: List[Any]) -> List[Any]:
    """The pictures of a batch in their order: each part has every so-manieth of them."""
    found: List[Any] = [None] * count
    for number, part in enumerate(parts):
        found[number :: len(parts)] = part.result()
    return found
