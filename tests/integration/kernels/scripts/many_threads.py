"""Script for one PIL: runs kernels and array conversions in several threads, on shared and on private images."""

import io
import pickle
import sys
import threading
from collections.abc import Callable, Iterator

import numpy as np
from PIL import Image, ImageFilter

THREADS, ROUNDS, SIZE = 3, 3, (150, 110)
BANDS = {"L": 1, "LA": 2, "RGB": 3, "RGBA": 4, "RGBa": 4, "CMYK": 4, "I;16": 2, "F": 4}
LARGE = (1000, 720)  # so large that rows are decoded directly into the picture
Operation = Callable[[Image.Image], Image.Image]


def main() -> None:
    """Run all operations in every thread; fail if a result differs from that of one thread."""
    sys.setswitchinterval(1e-5)
    shared, file = make_images(), make_file()
    expected = list(work(shared, file))
    wrong: list[int] = []

    def run(number: int) -> None:
        for turn in range(ROUNDS):
            images = shared if turn else make_images()
            wrong.extend([number] * (list(work(images, file)) != expected))

    threads = [threading.Thread(target=run, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong, wrong


def make_images() -> dict[str, Image.Image]:
    """Return images of noise, the same each time."""
    noise, count = np.random.default_rng(1), SIZE[0] * SIZE[1]
    return {mode: Image.frombytes(mode, SIZE, noise.bytes(count * bands)) for mode, bands in BANDS.items()}


def make_file() -> bytes:
    """Return a large JPEG file."""
    file = io.BytesIO()
    Image.effect_noise(LARGE, 90).convert("RGB").save(file, "JPEG")
    return file.getvalue()


def work(images: dict[str, Image.Image], file: bytes) -> Iterator[bytes]:
    """Yield the bytes of all results."""
    large = Image.open(io.BytesIO(file))
    yield np.asarray(large).tobytes()
    saved = io.BytesIO()
    large.save(saved, "JPEG")
    yield saved.getvalue()
    for mode, image in images.items():
        yield image.tobytes()
        yield pickle.dumps(image)
        if mode not in ("RGBa", "CMYK"):
            yield Image.fromarray(np.asarray(image)).tobytes()
        for operation in OPERATIONS.get(mode, ()):
            yield operation(image).tobytes()


def each_band(image: Image.Image) -> Image.Image:
    """Split an image into bands, and merge them again."""
    return Image.merge(image.mode, image.split())


def composite(image: Image.Image) -> Image.Image:
    """Composite an image onto itself."""
    return Image.alpha_composite(image, image)


FILTERS: list[Operation] = [
    lambda image: image.resize((61, 47), Image.Resampling.LANCZOS),
    lambda image: image.resize((211, 140), Image.Resampling.BICUBIC),
    lambda image: image.reduce(3),
    lambda image: image.rotate(17, Image.Resampling.BILINEAR, expand=True),
    lambda image: image.transpose(Image.Transpose.ROTATE_90),
    lambda image: image.transpose(Image.Transpose.TRANSPOSE),
    lambda image: image.filter(ImageFilter.SHARPEN),
    lambda image: image.filter(ImageFilter.SMOOTH_MORE),
    lambda image: image.filter(ImageFilter.MedianFilter(5)),
    lambda image: image.filter(ImageFilter.UnsharpMask(2, 150, 3)),
]
OPERATIONS: dict[str, list[Operation]] = {
    "L": FILTERS,
    "LA": [each_band, composite],
    "RGB": [each_band, *FILTERS],
    "RGBA": [each_band, composite, *FILTERS, lambda image: image.convert("RGBa")],
    "RGBa": [lambda image: image.convert("RGBA")],
}


if __name__ == "__main__":
    main()
