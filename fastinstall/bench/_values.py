"""Runs inside a target, for `_loading.py`: what loaders give, as arrays, tensors, bytes. Standard library only, 3.8.

Numpy and torch are imported where something is made of them. What is none of theirs is known by what it can do: a
tensor has `detach`, a Pillow image `getbands`.
"""

from __future__ import annotations

import base64
import sys
from importlib import import_module, metadata
from typing import Any, Callable, Dict, Iterable, Optional, Tuple

CHANNELS = (1, 3, 4)
COLOURS = 3
LARGE_BLOCK = 31 << 20
NAMES = {
    "PIL": "pillow",
    "cv2": "opencv",
    "skimage": "scikit-image",
    "turbojpeg": "PyTurboJPEG",
    "kornia_rs": "kornia-rs",
    "nvidia.dali": "dali",
    "nvidia.nvimgcodec": "nvimgcodec",
}
"""Of packages that are not called like their modules."""


def works(module: str) -> bool:
    """Whether a module can be imported; what is broken is as good as missing."""
    try:
        __import__(module)
    except Exception:  # noqa: BLE001 (a broken package raises anything)
        return False
    return True


def versions_of(modules: Iterable[str]) -> Dict[str, str]:
    """Names and versions of the packages that these modules belong to."""
    return {NAMES.get(each, each): version_of(each) for each in modules}


def version_of(module: str) -> str:
    found = getattr(import_module(module), "__version__", None)
    try:
        return str(found or metadata.version(NAMES.get(module, module)))
    except metadata.PackageNotFoundError:
        return "?"


def torch_works() -> bool:
    """Whether arrays become tensors: a torch built for another numpy imports, and then cannot."""
    try:
        import numpy as np
        import torch

        torch.from_numpy(np.zeros(1))
    except Exception:  # noqa: BLE001 (likewise)
        return False
    return True


def one_thread() -> None:
    """A worker of a DataLoader computes in one thread; so does what is compared with it."""
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)


def one_malloc() -> None:
    """Free a large block, as a program that trains has done long before: glibc keeps what images free from then on.

    Without it, what was imported or asked for earlier decides whether the memory of every image goes back to the kernel
    and is cleared anew, and twins differ by a factor of two (measured 2026-11-22, images of 224 pixels).
    Source: mallopt(3): the dynamic mmap threshold grows to the largest block that was freed, at most 32 MiB.
    """
    bytes(LARGE_BLOCK)  # never touched, so that it takes no memory


def to_tensor() -> Callable[[Any], Any]:
    """What torchvision's ToTensor does: channels first, numbers from 0 to 1. What is no picture is left as it is."""
    import numpy as np
    import torch

    def convert(value: Any) -> Any:
        if not isinstance(value, np.ndarray) or value.ndim != COLOURS or value.dtype != np.uint8:
            return value
        tensor = torch.from_numpy(value) if value.flags.writeable else torch.tensor(value)
        return tensor.permute(2, 0, 1).contiguous().to(torch.float32).div(255)

    return convert


def to_array() -> Callable[[Any], Any]:
    """Pillow images, which may not be decoded yet, become arrays, or bytes without numpy; the rest is left as it is."""
    if works("numpy"):
        import numpy as np

        return lambda value: np.asarray(value) if is_image(value) else value
    return lambda value: value.tobytes() if is_image(value) else value


def described(value: Any) -> Dict[str, Any]:
    """Shape and bytes of a picture. What is none, a batch or normalised numbers, has its length for a shape."""
    shape, data = content(picture_in(value))
    return {"shape": list(shape) if shape else [len(data)], "data": base64.b64encode(data).decode()}


def picture_in(value: Any) -> Any:
    """The picture of a sample: of (image, label), {"image": ...}, or itself."""
    parts = list(value.values()) if isinstance(value, dict) else value
    if isinstance(parts, (tuple, list)):
        return next((each for each in parts if is_image(each) or len(getattr(each, "shape", ())) >= COLOURS - 1), value)
    return value


def content(value: Any) -> Tuple[Optional[Tuple[int, ...]], bytes]:
    if isinstance(value, (bytes, bytearray, memoryview)):
        return None, bytes(value)
    if is_image(value):
        rgb = value.convert("RGB")
        return (rgb.height, rgb.width, COLOURS), rgb.tobytes()
    if not works("numpy"):
        raise TypeError("the loader gives %s, which is no picture" % type(value).__name__)
    import numpy as np

    array = np.asarray(value.detach().cpu().numpy() if hasattr(value, "detach") else value)
    if array.dtype == object:
        raise TypeError("the loader gives %s, which is no picture" % type(value).__name__)
    levels = in_levels(array)
    return (None, array.tobytes()) if levels is None else (levels.shape, levels.tobytes())


def in_levels(array: Any) -> Any:
    """Height x width x channels of 0 to 255, of channels first or numbers from 0 to 1 too; None of others."""
    import numpy as np

    if array.ndim == COLOURS + 1 and len(array) == 1:
        array = array[0]
    if array.ndim == COLOURS and array.shape[0] in CHANNELS and array.shape[2] not in CHANNELS:
        array = array.transpose(1, 2, 0)
    if array.ndim not in (COLOURS - 1, COLOURS) or array.size == 0 or array.min() < 0:
        return None
    if array.dtype.kind == "f":
        array = (array * (255 if array.max() <= 1 else 1)).round()
    return None if array.max() > 255 else array.astype(np.uint8)  # noqa: PLR2004 (the levels of a channel)


def is_image(value: Any) -> bool:
    return hasattr(value, "getbands") and hasattr(value, "tobytes")
