"""Convert loaded pictures to arrays, tensors or bytes; called by `_loading.py` in a target, on Python 3.8 or later.

Numpy and torch are imported only when needed. Values are recognised by their methods, without an import: a tensor has
`detach`, a Pillow image has `getbands`.
"""

import base64
from importlib import import_module, metadata
from typing import Any, Callable, Dict, Iterable

CHANNELS = (1, 3, 4)
COLOURS = 3
NAMES = {"PIL": "pillow", "cv2": "opencv", "skimage": "scikit-image", "nvidia.dali": "dali"}
"""Names of distributions that differ from the names of their modules."""


def works(module: str) -> bool:
    """Return whether a module can be imported; False also for a module that is installed but broken."""
    try:
        import_module(module)
    except Exception:  # noqa: BLE001 (a broken package raises anything)
        return False
    return True


def versions_of(modules: Iterable[str]) -> Dict[str, str]:
    """Import modules, and return the versions of their distributions by name; "?" if a version is unknown."""
    versions = {}
    for module in modules:
        name, version = NAMES.get(module, module), getattr(import_module(module), "__version__", None)
        try:
            versions[name] = str(version or metadata.version(name))
        except metadata.PackageNotFoundError:
            versions[name] = "?"
    return versions


def torch_works() -> bool:
    """Return whether torch can convert arrays; a torch that was built for another numpy can be imported, but fails."""
    try:
        import numpy as np
        import torch

        torch.from_numpy(np.zeros(1))
    except Exception:  # noqa: BLE001 (a broken package raises anything)
        return False
    return True


def to_tensor() -> Callable[[Any], Any]:
    """Return a function that converts pictures as torchvision's ToTensor does: channels first, values 0 to 1.

    The function returns values that are not pictures unchanged.
    """
    import numpy as np
    import torch

    def convert(value: Any) -> Any:
        if not isinstance(value, np.ndarray) or value.ndim != COLOURS or value.dtype != np.uint8:
            return value
        tensor = torch.from_numpy(value) if value.flags.writeable else torch.tensor(value)
        return tensor.permute(2, 0, 1).contiguous().to(torch.float32).div(255)

    return convert


def to_array() -> Callable[[Any], Any]:
    """Return a function that converts Pillow images to arrays, or to bytes if numpy is not installed.

    The function returns other values unchanged. The conversion decodes an image that is not decoded yet.
    """
    if works("numpy"):
        import numpy as np

        return lambda value: np.asarray(value) if is_image(value) else value
    return lambda value: value.tobytes() if is_image(value) else value


def is_image(value: Any) -> bool:
    """Return whether a value is a Pillow image, without importing PIL."""
    return hasattr(value, "getbands") and hasattr(value, "tobytes")


def described(value: Any) -> Dict[str, Any]:
    """Return the shape and base64 data of a picture, which may be in a tuple or dict beside a label.

    For an array that is not a picture, such as a normalised one, the shape is (length in bytes,). Raise TypeError for
    other values.
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
    """Convert a picture to height x width x channels with values 0 to 255; return None if the array is no picture.

    In the given array, channels may come first, and floating-point values may be from 0 to 1.
    """
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
