"""Labels and frames, and memory shared with other libraries."""

from . import HEIGHT, WIDTH, Calls, Pictures


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
    """Return conversions from and to other libraries' memory; numpy's only if it is installed."""
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


PARTS = (drawing, crossing)
