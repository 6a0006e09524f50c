"""torchvision's own decoders, and its resize with antialiasing; the tensors have the order channel, row, column.

torchvision requires torch, which takes gigabytes, so it is never fetched; most environments with torch have it. Old
versions lack the Lanczos filter for tensors, and fail at the first picture.
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
"""The end of a LOADER: a function that resizes and crops a decoded tensor."""
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
    """Return why the installed torchvision cannot be used; empty if it can."""
    try:
        from torchvision.io import decode_image  # noqa: F401 (only to see whether it exists)
        from torchvision.transforms.v2 import functional  # noqa: F401 (only to see whether it exists)
    except Exception as error:  # noqa: BLE001 (a torchvision built for another torch raises anything)
        return "torchvision cannot be used: %s" % error
    return ""
