"""Runs inside a target, for `_loading.py`: results of loaders as arrays, tensors, bytes. Standard library only, 3.8.

Numpy and torch are imported only when needed. Other values are recognised by their methods: a tensor has `detach`, a
Pillow image `getbands`.
"""

import base64
import sys
from importlib import import_module, metadata
from typing import Any, Callable, Dict, Iterable

CHANNELS = (1, 3, 4)
COLOURS = 3
LARGE_BLOCK = 31 << 20
NAMES = {"PIL": "pillow", "cv2": "opencv", "skimage": "scikit-image", "nvidia.dali": "dali"}
"""Distributions named differently from their modules."""


def works(module: str) -> bool:
    """Return whether a module can be imported; a broken one counts as missing."""
    try:
        import_module(module)
    except Exception:  # noqa: BLE001 (a broken package raises anything)
        return False
    return True


def versions_of(modules: Iterable[str]) -> Dict[str, str]:
    """Import modules; return names and versions of their distributions, "?" for an unknown version."""
    versions = {}
    for module in modules:
        name, version = NAMES.get(module, module), getattr(import_module(module), "__version__", None)
        try:
            versions[name] = str(version or metadata.version(name))
        except metadata.PackageNotFoundError:
            versions[name] = "?"
    return versions


def torch_works() -> bool:
    """Return whether arrays become tensors: a torch built for another numpy imports, but cannot."""
    try:
        import numpy as np
        import torch

        torch.from_numpy(np.zeros(1))
    except Exception:  # noqa: BLE001 (a broken package raises anything)
        return False
    return True


def use_one_thread() -> None:
    """Use one thread, like a worker of a DataLoader."""
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)


def free_large_block() -> None:
    """Free a large block, as a training program has done long before: glibc then keeps the memory that images free.

    Without it, earlier imports decide whether the memory of every image goes back to the kernel and is cleared again,
    and twins differ by a factor of two (measured 2026-11-22, images of 224 pixels).
    Source: mallopt(3): the dynamic mmap threshold grows to the largest freed block, at most 32 MiB.
    """
    bytes(LARGE_BLOCK)  # never touched, so it takes no memory


def to_tensor() -> Callable[[Any], Any]:
    """Do what torchvision's ToTensor does: channels first, numbers from 0 to 1. Other values stay unchanged."""
    import numpy as np
    import torch

    def convert(value: Any) -> Any:
        if not isinstance(value, np.ndarray) or value.ndim != COLOURS or value.dtype != np.uint8:
            return value
        tensor = torch.from_numpy(value) if value.flags.writeable else torch.tensor(value)
        return tensor.permute(2, 0, 1).contiguous().to(torch.float32).div(255)

    return convert


def to_array() -> Callable[[Any], Any]:
    """Convert Pillow images, even undecoded ones, to arrays, or to bytes without numpy; other values stay unchanged."""
    if works("numpy"):
        import numpy as np

        return lambda value: np.asarray(value) if is_image(value) else value
    return lambda value: value.tobytes() if is_image(value) else value


def is_image(value: Any) -> bool:
    """Return whether a value is an image of Pillow, without importing PIL."""
    return hasattr(value, "getbands") and hasattr(value, "tobytes")


def described(value: Any) -> Dict[str, Any]:
    """Return shape and bytes of a picture: as it is, or in a sample of it and a label.

    Other values, such as normalised numbers, have their length as shape. Raises TypeError if it is no array.
    """
    parts = list(value.values()) if isinstance(value, dict) else value
    if isinstance(parts, (tuple, list)):
        value = next((each for each in parts if is_image(each) or len(getattr(each, "shape", ())) > 1), parts)
    value = value.convert("RGB") if is_image(value) else value
    if works("numpy") and not isinstance(value, (bytes, bytearray, memoryview)):
        import numpy as np

        array = np.asarray(value.detach().cpu().numpy() if hasattr(value, "detach") else value)
        value = in_levels(array)
        if array.dtype == object:
            raise TypeError("the loader gives %s, which is not a picture" % type(parts).__name__)
        value = array.tobytes() if value is None else value
    data = value.tobytes() if hasattr(value, "tobytes") else bytes(value)
    return {"shape": list(getattr(value, "shape", [len(data)])), "data": base64.b64encode(data).decode()}


def in_levels(array: Any) -> Any:
    """Return height x width x channels of 0 to 255, also from channels first or numbers from 0 to 1; else None."""
    import numpy as np

    if array.ndim == COLOURS + 1 and len(array) == 1:
        array = array[0]
    if array.ndim == COLOURS and array.shape[0] in CHANNELS and array.shape[2] not in CHANNELS:
        array = array.transpose(1, 2, 0)
    if array.ndim not in (COLOURS - 1, COLOURS) or array.size == 0 or array.dtype == object or array.min() < 0:
        return None
    if array.dtype.kind == "f":
        array = (array * (255 if array.max() <= 1 else 1)).round()
    return None if array.max() > 255 else array.astype(np.uint8)  # noqa: PLR2004 (the levels of a channel)
