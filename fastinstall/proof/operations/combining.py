"""Two pictures made one, and pixels moved."""

from functools import partial

from . import SMALL, Calls, Pictures


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


PARTS = (combining, moving)
