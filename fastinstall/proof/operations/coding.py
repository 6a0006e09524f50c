"""Operations that decode and encode image files, to be timed."""

import io
from functools import lru_cache, partial
from typing import Any, Callable, Dict

from . import Calls, Pictures


def coding(big: Pictures, small: Pictures) -> Calls:
    """Return operations that encode and decode JPEG and PNG."""
    jpegs = {"500 px": encoded(small["RGB"], "JPEG", quality=90), "1080p": encoded(big["RGB"], "JPEG", quality=90)}
    png = encoded(small["RGB"], "PNG")
    found: Calls = {
        "png encode": lambda: encoded(small["RGB"], "PNG"),
        "png decode": partial(decode, png),
        "jpeg encode 1080p": lambda: encoded(big["RGB"], "JPEG", quality=90),
        "tobytes": big["RGB"].tobytes,
    }
    for name, data in jpegs.items():
        found["jpeg decode " + name] = partial(decode, data)
        found["decode-256-224 " + name] = partial(pipeline, data)
    return found


def other_codecs(big: Pictures, small: Pictures) -> Calls:
    """Return operations with other codecs and settings that web services use.

    An operation fails when it is called if this PIL lacks the codec.
    """
    rgb, rgba = small["RGB"], small["RGBA"]
    sources: Dict[str, Callable[[], bytes]] = {
        "jpeg progressive": lambda: encoded(rgb, "JPEG", quality=85, progressive=True, optimize=True),
        "jpeg L": lambda: encoded(small["L"], "JPEG", quality=90),
        "png RGBA": lambda: encoded(rgba, "PNG"),
        "png 1080p": lambda: encoded(big["RGB"], "PNG"),
        "png 1080p level 1": lambda: encoded(big["RGB"], "PNG", compress_level=1),
        "png optimize": lambda: encoded(rgb, "PNG", optimize=True),
        "png page": lambda: encoded(page(), "PNG"),
        "webp": lambda: encoded(rgb, "WEBP", quality=80),
        "avif": lambda: encoded(rgb, "AVIF", quality=70, speed=9),
        "gif": lambda: encoded(rgb.quantize(64), "GIF"),
        "tiff lzw": lambda: encoded(rgb, "TIFF", compression="tiff_lzw"),
        "bmp": lambda: encoded(rgb, "BMP"),
    }
    found: Calls = {}
    page = lru_cache(maxsize=None)(draw_page)
    for name, make in sources.items():
        kept = lru_cache(maxsize=None)(make)
        found[name + " encode"] = make
        found[name + " decode"] = partial(decode_made, kept)
    large = lru_cache(maxsize=None)(lambda: encoded(big["RGB"].resize((4000, 3000), 2), "JPEG", quality=90))
    found["thumbnail of 12 MP, draft"] = lambda: thumbnail(large())
    found["jpeg decode 12 MP, draft"] = lambda: drafted(large())
    return found


def draw_page() -> Any:
    """Draw a white page of 1920 x 1080 with lines of letters."""
    from PIL import Image, ImageDraw

    page = Image.new("RGB", (1920, 1080), "white")
    pen = ImageDraw.Draw(page)
    for line in range(75):
        letters = "".join(chr(32 + (line * line + 7 * place * place) % 90) for place in range(300))
        pen.text((40, 14 * line + 10), letters, fill=(line % 3 * 40, 0, 0))
    return page


def decode_made(make: Callable[[], bytes]) -> None:
    """Decode the file that `make` returns."""
    decode(make())


def drafted(data: bytes) -> None:
    """Decode a JPEG in draft mode, at the smallest size that draft mode offers for 500 x 375 or more."""
    from PIL import Image

    image = Image.open(io.BytesIO(data))
    image.draft("RGB", (500, 375))
    image.load()


def thumbnail(data: bytes) -> None:
    """Decode a file into a thumbnail of at most 256 x 256."""
    from PIL import Image

    Image.open(io.BytesIO(data)).thumbnail((256, 256))


def encoded(picture: Any, form: str, **options: Any) -> bytes:
    """Encode a picture, and return the bytes of the file."""
    target = io.BytesIO()
    picture.save(target, form, **options)
    return target.getvalue()


def decode(data: bytes) -> None:
    """Decode all pixels of a file."""
    from PIL import Image

    Image.open(io.BytesIO(data)).load()


def pipeline(data: bytes) -> Any:
    """Load an image as for a classifier: decode, resize the shorter side to 256, crop the central 224 x 224 pixels."""
    from PIL import Image

    picture = Image.open(io.BytesIO(data))
    scale = 256.0 / min(picture.size)
    picture = picture.resize((round(picture.width * scale), round(picture.height * scale)), 2)
    left, top = (picture.width - 224) // 2, (picture.height - 224) // 2
    return picture.crop((left, top, left + 224, top + 224))


PARTS = (coding, other_codecs)
