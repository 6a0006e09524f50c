"""Time ways to load photos with a plain torch DataLoader, to check the results of `fastinstall bench`.

    python benchmarks/plain_loader.py DIR [--workers N] [--rounds N] [--seconds S] [--json]

This program is independent of `fastinstall bench`, and imports nothing of fastinstall. It runs in the environment to
measure, which needs torch and numpy; ways whose package is missing are skipped. All ways do the same work: scale the
shorter side to 256 pixels, crop the middle 224 x 224, and convert to a tensor with values from 0 to 1. They take turns,
and the result is the median of the rounds.
"""
# ruff: noqa: ANN401 (images of seven libraries, most of them without types)

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ["VIPS_CONCURRENCY"] = "1"  # one thread per worker; libvips reads this variable when it starts

import numpy as np
import torch
from torch.utils.data import DataLoader

SHORTER, CROP, BATCH = 256, 224, 8
SUFFIXES = {".jpg", ".jpeg"}


def main() -> None:
    """Measure each way, and print its images per second."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0, help="of each way and round")
    parser.add_argument("--json", action="store_true", help="one JSON document")
    arguments = parser.parse_args()
    files = sorted(str(path) for path in arguments.directory.rglob("*") if path.suffix.lower() in SUFFIXES)
    rates: dict[str, list[float]] = {name: [] for name in WAYS}
    for _ in range(arguments.rounds):
        for name in tuple(rates):
            try:
                rates[name].append(rate(files, WAYS[name], arguments.workers, arguments.seconds))
            except RuntimeError as error:
                del rates[name]
                print(f"{name}: left out: {str(error).strip().splitlines()[-1]}", file=sys.stderr)
    medians = {name: statistics.median(found) for name, found in rates.items()}
    if arguments.json:
        print(json.dumps({"workers": arguments.workers, "images": len(files), "rates": medians, "rounds": rates}))
        return
    for name, median in sorted(medians.items(), key=lambda item: -item[1]):
        print(f"{name:16} {median:8.1f} images/s   {min(rates[name]):8.1f} to {max(rates[name]):.1f}")


def rate(files: list[str], load: Callable[[str], Any], workers: int, seconds: float) -> float:
    """Return images per second, measured after every worker has delivered two batches."""
    loader = DataLoader(
        Photos(files, load),
        batch_size=BATCH,
        num_workers=workers,
        sampler=torch.utils.data.RandomSampler(files, replacement=True, num_samples=10**7),
        generator=torch.Generator().manual_seed(1),
    )
    start, images = 0.0, 0
    for number, batch in enumerate(loader):
        if number < 2 * max(1, workers):
            start = time.perf_counter()
            continue
        images += len(batch)
        if time.perf_counter() - start >= seconds:
            break
    return images / (time.perf_counter() - start)


class Photos:
    """A dataset of image files, with the function that loads one."""

    def __init__(self, files: list[str], load: Callable[[str], Any]) -> None:
        self.files = files
        self.load = load

    def __len__(self) -> int:
        """Return the number of files."""
        return len(self.files)

    def __getitem__(self, index: int) -> torch.Tensor:
        """Load a file as a tensor."""
        array = np.ascontiguousarray(self.load(self.files[index]).transpose(2, 0, 1))
        return torch.tensor(array, dtype=torch.float32).div_(255)


def pillow(path: str) -> Any:
    from PIL import Image

    return finished(Image.open(path).convert("RGB"))


def pillow_draft(path: str) -> Any:
    from PIL import Image

    image = Image.open(path)
    image.draft("RGB", (SHORTER, SHORTER))
    return finished(image.convert("RGB"))


def simplejpeg_pillow(path: str) -> Any:
    import simplejpeg
    from PIL import Image

    return finished(Image.fromarray(simplejpeg.decode_jpeg(Path(path).read_bytes())))


def opencv_area(path: str) -> Any:
    import cv2

    return opencv(path, cv2.INTER_AREA)


def opencv_linear(path: str) -> Any:
    import cv2

    return opencv(path, cv2.INTER_LINEAR)


def opencv(path: str, interpolation: int) -> Any:
    import cv2

    cv2.setNumThreads(0)
    image = cv2.imread(path)
    width, height = size_of(image.shape[1], image.shape[0])
    image = cv2.resize(image, (width, height), interpolation=interpolation)
    left, top = (width - CROP) // 2, (height - CROP) // 2
    return cv2.cvtColor(image[top : top + CROP, left : left + CROP], cv2.COLOR_BGR2RGB)


def vips(path: str) -> Any:
    import pyvips

    pyvips.cache_set_max(0)
    header = pyvips.Image.new_from_file(path)
    width, height = size_of(header.width, header.height)
    image = pyvips.Image.thumbnail(path, width, height=height, size="force", no_rotate=True)
    return image.crop((width - CROP) // 2, (height - CROP) // 2, CROP, CROP).numpy()


def finished(image: Any) -> Any:
    """Resize and crop an image with Pillow, and return its array."""
    from PIL import Image

    image = image.resize(size_of(*image.size), Image.Resampling.BILINEAR)
    left, top = (image.width - CROP) // 2, (image.height - CROP) // 2
    return np.asarray(image.crop((left, top, left + CROP, top + CROP)))


def size_of(width: int, height: int) -> tuple[int, int]:
    scale = SHORTER / min(width, height)
    return round(width * scale), round(height * scale)


WAYS: dict[str, Callable[[str], Any]] = {
    "pillow": pillow,
    "pillow-draft": pillow_draft,
    "opencv-area": opencv_area,
    "opencv-linear": opencv_linear,
    "simplejpeg": simplejpeg_pillow,
    "pyvips": vips,
}
"""The ways, by their names in `fastinstall bench`."""

if __name__ == "__main__":
    main()
