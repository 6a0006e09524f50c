"""torchvision's own decoders, and its resize with antialiasing; always tensors of channel, row, column.

Its wheels require torch, which takes gigabytes, so they are never fetched; most environments with torch have them.
Lanczos for tensors came late: earlier versions report at the first picture that they lack it.
"""

TITLE = "torchvision.io, transforms.v2"
MODULES = ("torch", "torchvision")
BRINGS = ("torchvision",)
BY_HAND = "torch and torchvision take gigabytes"
FORMATS = ("JPEG", "PNG", "WEBP")
CODE = 'resize(torchvision.io.decode_image(path, mode="RGB"), [shorter], antialias=True)'
FINISHED = """

def finished(image):
    scale = SHORTER / min(image.shape[1:])
    size = [max(1, round(length * scale)) for length in image.shape[1:]]
    image = functional.resize(image, size, interpolation=InterpolationMode(FILTER), antialias=True)
    if CROP:
        top, left = (size[0] - CROP) // 2, (size[1] - CROP) // 2
        image = image[:, top : top + CROP, left : left + CROP]
    return image.permute(1, 2, 0).contiguous().cpu().numpy()
"""
"""The end of a LOADER: what it does with a decoded tensor."""
LOADER = f"""
import torch
from torchvision.io import ImageReadMode, decode_image, read_file
from torchvision.transforms import InterpolationMode
from torchvision.transforms.v2 import functional

torch.set_num_threads(1)  # a DataLoader's worker has one CPU


def load(path):
    return finished(decode_image(read_file(str(path)), mode=ImageReadMode.RGB))
{FINISHED}"""


def trouble() -> str:
    """Return why the installed one cannot be used."""
    try:
        from torchvision.io import decode_image  # noqa: F401 (whether it is there)
        from torchvision.transforms.v2 import functional  # noqa: F401 (whether it is there)
    except Exception as error:  # noqa: BLE001 (a torchvision made for another torch raises anything)
        return "torchvision cannot be used: %s" % error
    return ""
