"""What adapters share whose pictures are arrays: sizes, the square in the middle, a finish by Pillow. No adapter."""

from __future__ import annotations

from functools import partial
from typing import Any, Callable, Dict, List, Tuple

from . import pillow

Stages = List[Tuple[str, Callable[[Any], Any]]]


def size_after(height: int, width: int, shorter: int) -> Tuple[int, int]:
    """Height and width after the resize, rounded as Pillow's adapter does."""
    scale = shorter / min(height, width)
    return max(1, round(height * scale)), max(1, round(width * scale))


def cropping(wanted: Dict[str, Any], axes: Tuple[int, int] = (0, 1)) -> Stages:
    """The stage that cuts out the middle, if that is wanted.

    Args:
        wanted: as of `stages`.
        axes: which ones are height and width.
    """
    return [("crop", partial(crop, wanted["crop"], axes))] if wanted["crop"] else []


def crop(side: int, axes: Tuple[int, int], array: Any) -> Any:
    """A view of the square in the middle."""
    top, left = middle(array.shape[axes[0]], array.shape[axes[1]], side)
    rows, columns = slice(top, top + side), slice(left, left + side)
    return array[rows, columns] if axes == (0, 1) else array[:, rows, columns]


def middle(height: int, width: int, side: int) -> Tuple[int, int]:
    """Where the square in the middle begins.

    Raises:
        ValueError: it is larger than the picture; Pillow alone would paint a margin around it.
    """
    if side > min(height, width):
        message = "a square of %d pixels cannot be cut out of %d x %d" % (side, width, height)
        raise ValueError(message)
    return (height - side) // 2, (width - side) // 2


def by_pillow(wanted: Dict[str, Any]) -> Stages:
    """From an array of grey, RGB or RGBA to the end: what decodes only leaves the rest to Pillow."""
    from PIL import Image

    resize = partial(pillow.resize, *pillow.aim(wanted))
    return [("convert", partial(to_image, Image)), ("resize", resize), *pillow.after_resize(wanted)]


def to_image(Image: Any, array: Any) -> Any:  # noqa: N803 (a module's name)
    return pillow.convert(Image.fromarray(array))


def contiguous(array: Any) -> Any:
    """The array in memory of its own, as a tensor or a batch needs it."""
    import numpy as np

    return np.ascontiguousarray(array)
