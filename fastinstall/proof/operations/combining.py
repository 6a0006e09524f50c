"""Operations that combine pictures, move pixels, draw, or exchange memory with other libraries, to be timed."""

from functools import partial

from . import HEIGHT, SMALL, WIDTH, Calls, Pictures


def combining(big: Pictures, _small: Pictures) -> Calls:
    """Return operations that combine pictures and bands."""
    from PIL import Image, ImageChops

    rgb, rgba, other = big["RGB"], big["RGBA"], big["RGBA"].transpose(0)
    shifted, mask = rgb.transpose(0), rgba.getchannel("A")
    bands = rgb.split()
    found: Calls = {
        "alpha_composite": lambda: Image.alpha_composite(rgba, other),
        "blend": lambda: Image.blend(rgb, shifted, 0.4),
        "composite": lambda: Image.composite(rgb, shifted, mask),
        "paste with mask": lambda: rgb.copy().paste(shifted, (0, 0), mask),
        "paste RGBA by its alpha": lambda: rgb.copy().paste(rgba, (0, 0), rgba),
        "fill with mask": lambda: rgb.copy().paste((255, 120, 9), None, mask),
        "split": rgb.split,
        "merge": lambda: Image.merge("RGB", bands),
        "getchannel": lambda: rgb.getchannel("G"),
        "putalpha": lambda: rgba.copy().putalpha(mask),
    }
    for name in ("add", "subtract", "multiply", "screen", "lighter", "difference"):
        found["chops " + name] = partial(getattr(ImageChops, name), rgb, shifted)
    return found


def moving(big: Pictures, small: Pictures) -> Calls:
    """Return operations that flip, rotate, transform, crop and copy."""
    rgb = big["RGB"]
    return {
        "flip": lambda: rgb.transpose(0),
        "flip upside down": lambda: rgb.transpose(1),
        "rotate 90": lambda: rgb.transpose(2),
        "transpose": lambda: rgb.transpose(5),
        "rotate 10 bicubic": lambda: small["RGB"].rotate(10, 3),
        "affine bilinear": lambda: small["RGB"].transform(SMALL, 0, (0.9, 0.1, 5, -0.1, 0.9, 9), 2),
        "perspective bilinear": lambda: small["RGB"].transform(
            SMALL, 2, (0.9, 0.1, 5, -0.05, 0.95, 4, 0.0001, 0.0002), 2
        ),
        "rotate 10 nearest": lambda: small["RGB"].rotate(10),
        "crop": lambda: rgb.crop((100, 100, 1500, 900)),
        "copy": rgb.copy,
    }


def drawing(big: Pictures, small: Pictures) -> Calls:
    """Return operations that draw labels, boxes and frames."""
    from PIL import Image, ImageDraw, ImageOps

    def labelled() -> None:
        canvas = small["RGB"].copy()
        pen = ImageDraw.Draw(canvas)
        pen.rectangle((40, 30, 300, 200), outline=(255, 0, 0), width=3)
        pen.ellipse((320, 40, 460, 200), fill=(0, 120, 255))
        pen.text((50, 210), "a label, and another one", fill=(255, 255, 255))

    return {
        "draw boxes and text": labelled,
        "new": lambda: Image.new("RGB", (WIDTH, HEIGHT), (10, 20, 30)),
        "expand by a frame": lambda: ImageOps.expand(small["RGB"], 16),
        "pad to a square": lambda: ImageOps.pad(small["RGB"], (512, 512)),
        "fit 224": lambda: ImageOps.fit(big["RGB"], (224, 224)),
    }


def crossing(big: Pictures, small: Pictures) -> Calls:
    """Return operations that make pictures from bytes and buffers, and convert from and to arrays if numpy exists."""
    from PIL import Image

    data, size = small["RGB"].tobytes(), small["RGB"].size
    found: Calls = {
        "frombytes": lambda: Image.frombytes("RGB", size, data),
        "frombuffer": lambda: Image.frombuffer("RGB", size, data, "raw", "RGB", 0, 1),
    }
    try:
        import numpy as np
    except ImportError:
        return found
    made = np.asarray(small["RGB"])
    found["numpy asarray 1080p"] = lambda: np.asarray(big["RGB"])
    found["numpy fromarray"] = lambda: Image.fromarray(made)
    return found


PARTS = (combining, moving, drawing, crossing)
