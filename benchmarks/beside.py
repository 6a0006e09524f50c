"""The stack beside other image libraries: the same work on one photograph, on one thread and by two at once, in turns.

    ENV/bin/python benchmarks/beside.py [--photo FILE] [--rounds N]

Runs in an environment that `fastinstall setup` has made, with numpy and whatever of these lies there as well: opencv,
pyvips, simplejpeg, kornia-rs, cykooz-resizer, torchvision. Milliseconds, the best of all rounds; by two threads, those
of the whole by the number of images. Results are not compared: a Lanczos filter of opencv reads 8 x 8 pixels however
much it reduces, where the others widen it, so opencv reduces by area here.
"""

import argparse
import importlib
import io
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

from PIL import Image, ImageFilter

os.environ["VIPS_CONCURRENCY"] = os.environ["RAYON_NUM_THREADS"] = "1"

WIDTH, HEIGHT, SMALL = 1920, 1080, (455, 256)
SPIN = (0.9, 0.1, 5.0, -0.1, 0.9, 9.0)
MIDDLE = (slice(16, 240), slice(115, 339))
SECONDS = 0.05
TOGETHER = ", by two threads"
TWICE = ("JPEG to array", "decode, to 256, crop 224")
Work = dict[str, Callable[[], object]]


def main() -> None:
    """Measure what is there, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--photo", type=Path, help="a picture; without it, a generated one")
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    data = read_photo(arguments.photo)
    work = {name: add_threads(made) for name, make in LIBRARIES.items() if (made := make_work(make, data))}
    rows = list(dict.fromkeys(row for made in work.values() for row in made))
    best = {(row, name): float("inf") for row in rows for name in work if row in work[name]}
    for _ in range(arguments.rounds):
        for (row, name), least in best.items():
            timed = measure_together if row.endswith(TOGETHER) else measure
            best[row, name] = min(least, timed(work[name][row]))
    print(f"{'ms, 1920x1080':42}", *(f"{name:>12}" for name in work))
    for row in rows:
        cells = (f"{best[row, name]:12.2f}" if (row, name) in best else f"{'':12}" for name in work)
        print(f"{row:42}", *cells)


def read_photo(file: Path | None) -> bytes:
    """A JPEG of 1920 x 1080."""
    picture = Image.open(file).convert("RGB") if file else Image.effect_noise((480, 270), 90).convert("RGB")
    target = io.BytesIO()
    picture.resize((WIDTH, HEIGHT), 3).save(target, "JPEG", quality=90)
    return target.getvalue()


def make_work(make: Callable[[bytes], Work], data: bytes) -> Work:
    """What a library is to do; nothing where it is not installed."""
    try:
        return make(data)
    except ImportError:
        return {}


def add_threads(work: Work) -> Work:
    """The same, and the rows that two threads do at once."""
    return work | {f"{row}{TOGETHER}": work[row] for row in TWICE if row in work}


def measure_together(call: Callable[[], object]) -> float:
    """The time of two threads by the number of calls, in ms."""
    counts = []

    def work() -> None:
        count, until = 0, time.perf_counter() + 2 * SECONDS
        while time.perf_counter() < until:
            call()
            count += 1
        counts.append(count)

    threads = [threading.Thread(target=work) for _ in range(2)]
    started = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return (time.perf_counter() - started) * 1000 / sum(counts)


def measure(call: Callable[[], object]) -> float:
    """The best time of a call within a few hundredths of a second, in ms."""
    best, end = float("inf"), time.perf_counter() + SECONDS
    while time.perf_counter() < end:
        started = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - started)
    return best * 1000


def work_of_pillow(data: bytes) -> Work:
    """Pillow, as it is in this environment."""

    def decode() -> Image.Image:
        picture = Image.open(io.BytesIO(data))
        picture.load()
        return picture

    rgb = decode()
    gray = rgb.convert("L")
    return {
        "decode": decode,
        **work_of_arrays(decode, rgb),
        "decode, to 256, crop 224": lambda: decode().resize(SMALL, 2).crop((115, 16, 339, 240)),
        "to 256, bilinear or area": lambda: rgb.resize(SMALL, 2),
        "to 256, Lanczos": lambda: rgb.resize(SMALL, 1),
        "to 256, Lanczos, one band": lambda: gray.resize(SMALL, 1),
        "Gaussian blur, sigma 2": lambda: rgb.filter(ImageFilter.GaussianBlur(2)),
        "median 5x5": lambda: rgb.filter(ImageFilter.MedianFilter(5)),
        "affine, bilinear": lambda: rgb.transform(rgb.size, 0, SPIN, 2),
        "turn by 90 degrees": lambda: rgb.transpose(2),
        "RGB to one band": lambda: rgb.convert("L"),
    }


def work_of_arrays(decode: Callable[[], Image.Image], rgb: Image.Image) -> Work:
    """Pillow's pictures as arrays; nothing without numpy."""
    try:
        numpy = importlib.import_module("numpy")
    except ImportError:
        return {}
    return {
        "JPEG to array": lambda: numpy.asarray(decode()),
        "picture to array": lambda: numpy.asarray(rgb),
    }


def work_of_opencv(data: bytes) -> Work:
    """By opencv, whose pictures are BGR."""
    cv2, numpy = importlib.import_module("cv2"), importlib.import_module("numpy")
    cv2.setNumThreads(1)
    encoded, spin = numpy.frombuffer(data, "u1"), numpy.array(SPIN).reshape(2, 3)
    rgb = cv2.imdecode(encoded, cv2.IMREAD_COLOR)
    spun = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
    return {
        "decode": lambda: cv2.imdecode(encoded, cv2.IMREAD_COLOR),
        "JPEG to array": lambda: cv2.imdecode(encoded, cv2.IMREAD_COLOR),
        "decode, to 256, crop 224": lambda: cv2.resize(
            cv2.imdecode(encoded, cv2.IMREAD_COLOR), SMALL, interpolation=cv2.INTER_AREA
        )[MIDDLE],
        "to 256, bilinear or area": lambda: cv2.resize(rgb, SMALL, interpolation=cv2.INTER_AREA),
        "Gaussian blur, sigma 2": lambda: cv2.GaussianBlur(rgb, (0, 0), 2),
        "median 5x5": lambda: cv2.medianBlur(rgb, 5),
        "affine, bilinear": lambda: cv2.warpAffine(rgb, spin, (WIDTH, HEIGHT), flags=spun),
        "turn by 90 degrees": lambda: cv2.rotate(rgb, cv2.ROTATE_90_COUNTERCLOCKWISE),
        "RGB to one band": lambda: cv2.cvtColor(rgb, cv2.COLOR_BGR2GRAY),
    }


def work_of_vips(data: bytes) -> Work:
    """By libvips, which computes when its result is asked for: each call ends in memory."""
    pyvips = importlib.import_module("pyvips")
    rgb = pyvips.Image.new_from_buffer(data, "").copy_memory()
    gray = rgb.colourspace("b-w").copy_memory()
    scale = SMALL[0] / WIDTH
    return {
        "decode": lambda: pyvips.Image.new_from_buffer(data, "").copy_memory(),
        "decode, to 256, crop 224": lambda: (
            pyvips.Image.new_from_buffer(data, "").resize(scale, kernel="linear").crop(115, 16, 224, 224).copy_memory()
        ),
        "to 256, bilinear or area": lambda: rgb.resize(scale, kernel="linear").copy_memory(),
        "to 256, Lanczos": lambda: rgb.resize(scale, kernel="lanczos3").copy_memory(),
        "to 256, Lanczos, one band": lambda: gray.resize(scale, kernel="lanczos3").copy_memory(),
        "Gaussian blur, sigma 2": lambda: rgb.gaussblur(2).copy_memory(),
        "median 5x5": lambda: rgb.median(5).copy_memory(),
        "affine, bilinear": lambda: rgb.affine([0.9, 0.1, -0.1, 0.9]).copy_memory(),
        "turn by 90 degrees": lambda: rgb.rot90().copy_memory(),
        "RGB to one band": lambda: rgb.colourspace("b-w").copy_memory(),
    }


def work_of_simplejpeg(data: bytes) -> Work:
    """By simplejpeg, which decodes into memory that is kept, or into an array of its own."""
    simplejpeg, numpy = importlib.import_module("simplejpeg"), importlib.import_module("numpy")
    kept = numpy.empty((HEIGHT, WIDTH, 3), "u1")
    return {
        "decode": lambda: simplejpeg.decode_jpeg(data, buffer=kept),
        "JPEG to array": lambda: simplejpeg.decode_jpeg(data),
    }


def work_of_kornia(data: bytes) -> Work:
    """By kornia-rs, on the CPU."""
    kornia = importlib.import_module("kornia_rs")
    rgb = kornia.io.decode_image_jpegturbo(data, "rgb")
    small = (SMALL[1], SMALL[0])
    return {
        "JPEG to array": lambda: kornia.io.decode_image_jpegturbo(data, "rgb"),
        "decode, to 256, crop 224": lambda: kornia.imgproc.resize(
            kornia.io.decode_image_jpegturbo(data, "rgb"), small, "bilinear"
        )[MIDDLE],
        "to 256, bilinear or area": lambda: kornia.imgproc.resize(rgb, small, "bilinear"),
        "to 256, Lanczos": lambda: kornia.imgproc.resize(rgb, small, "lanczos"),
        "Gaussian blur, sigma 2": lambda: kornia.imgproc.gaussian_blur(rgb, (13, 13), (2.0, 2.0)),
        "median 5x5": lambda: kornia.imgproc.median_blur(rgb, 5),
        "affine, bilinear": lambda: kornia.imgproc.warp_affine(rgb, list(SPIN), (HEIGHT, WIDTH), "bilinear"),
        "RGB to one band": lambda: kornia.imgproc.gray_from_rgb(rgb),
    }


def work_of_cykooz(data: bytes) -> Work:
    """By cykooz-resizer, which only resizes, into memory that is kept."""
    library = importlib.import_module("cykooz_resizer")
    picture = Image.open(io.BytesIO(data))
    resizer = library.Resizer()

    def resize(mode: str, kind: object, way: object) -> Callable[[], object]:
        source = library.ImageData(WIDTH, HEIGHT, kind, picture.convert(mode).tobytes())
        target = library.ImageData(*SMALL, kind)
        options = library.ResizeOptions(resize_alg=library.ResizeAlg.convolution(way), use_alpha=False)
        return lambda: resizer.resize(source, target, options)

    three, one = library.PixelType.U8x3, library.PixelType.U8
    return {
        "to 256, bilinear or area": resize("RGB", three, library.FilterType.bilinear),
        "to 256, Lanczos": resize("RGB", three, library.FilterType.lanczos3),
        "to 256, Lanczos, one band": resize("L", one, library.FilterType.lanczos3),
    }


def work_of_torchvision(data: bytes) -> Work:
    """By torchvision, on tensors of bytes, whose pictures have the channels first."""
    torch, io_, ops = map(importlib.import_module, ("torch", "torchvision.io", "torchvision.transforms.v2.functional"))
    torch.set_num_threads(1)
    encoded = torch.frombuffer(bytearray(data), dtype=torch.uint8)
    rgb = io_.decode_jpeg(encoded)
    small, bilinear = [SMALL[1], SMALL[0]], ops.InterpolationMode.BILINEAR
    return {
        "decode": lambda: io_.decode_jpeg(encoded),
        "JPEG to array": lambda: io_.decode_jpeg(encoded).permute(1, 2, 0).contiguous().numpy(),
        "decode, to 256, crop 224": lambda: ops.center_crop(
            ops.resize(io_.decode_jpeg(encoded), small, bilinear, antialias=True), [224, 224]
        ).contiguous(),
        "to 256, bilinear or area": lambda: ops.resize(rgb, small, bilinear, antialias=True),
        "Gaussian blur, sigma 2": lambda: ops.gaussian_blur(rgb, [13, 13], [2.0, 2.0]),
        "turn by 90 degrees": lambda: rgb.rot90(1, [1, 2]).contiguous(),
        "RGB to one band": lambda: ops.rgb_to_grayscale(rgb),
    }


LIBRARIES = {
    "pillow": work_of_pillow,
    "opencv": work_of_opencv,
    "pyvips": work_of_vips,
    "simplejpeg": work_of_simplejpeg,
    "kornia-rs": work_of_kornia,
    "cykooz": work_of_cykooz,
    "torchvision": work_of_torchvision,
}

if __name__ == "__main__":
    main()
