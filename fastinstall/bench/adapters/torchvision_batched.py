"""torchvision decodes a list of JPEGs in one call, on a GPU if there is one, or else on one thread per CPU.

On the CPU torchvision decodes the images of a list one after the other, so each thread gets a part of the batch. The
calls release Python's lock, so the threads run in parallel.
"""

from . import torchvision_io

TITLE = "torchvision.io.decode_jpeg of a list"
MODULES = torchvision_io.MODULES
BRINGS = torchvision_io.BRINGS
BY_HAND = torchvision_io.BY_HAND
FORMATS = ("JPEG",)
CODE = 'torchvision.io.decode_jpeg([torchvision.io.read_file(path) for path in batch], mode="RGB", device=device)'
LOADER = f"""
import os
from collections import deque
from concurrent.futures import ThreadPoolExecutor

import torch
from torchvision.io import ImageReadMode, decode_jpeg, read_file
from torchvision.transforms import InterpolationMode
from torchvision.transforms.v2 import functional

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
torch.set_num_threads(1)  # the threads below are enough


def batches(lists, threads=os.cpu_count(), size=32, ahead=True):
    \"\"\"Yield the pictures of list after list of paths, instead of a DataLoader.\"\"\"
    threads = 1 if DEVICE == "cuda" else threads
    begun = deque()
    with ThreadPoolExecutor(threads) as pool:
        for paths in lists:
            parts = [pool.submit(load_batch, paths[number::threads]) for number in range(threads)]
            begun.append((len(paths), parts))
            if len(begun) > ahead:
                yield collected(*begun.popleft())
        while begun:
            yield collected(*begun.popleft())


def collected(count, parts):
    found = [None] * count
    for number, part in enumerate(parts):
        found[number :: len(parts)] = part.result()
    return found


def load_batch(paths):
    if not paths:
        return []
    images = decode_jpeg([read_file(str(path)) for path in paths], mode=ImageReadMode.RGB, device=DEVICE)
    return [finished(each) for each in images]


def load(path):
    return load_batch([path])[0]
{torchvision_io.FINISHED}"""

trouble = torchvision_io.trouble
