"""Shared by adapters whose pictures are arrays: sizes, the centre crop, finishing with Pillow. Not an adapter."""

from __future__ import annotations

from functools import partial
from typing import Any, Callable, Dict, List, Tuple

from . import pillow

Stages = List[Tuple[str, Callable[[Any], Any]]]


def size_after(height: int, width: int, shorter: int) -> Tuple[int, int]:
    """Return height and width after the resize, rounded as in Pillow's adapter."""
    scale = shorter / min(height, width)
    return max(1, round(height * scale)), max(1, round(width * scale))


def cropping(wanted: Dict[str, Any], axes: Tuple[int, int] = (0, 1)) -> Stages:
    """Return the stage that crops the centre, if requested.

    Args:
        wanted: what is done to every image, as `stages` gets it.
        axes: of height and width.
    """
    return [("crop", partial(crop, wanted["crop"], axes))] if wanted["crop"] else []


def crop(side: int, axes: Tuple[int, int], array: Any) -> Any:
    """Return a view of the centre square."""
    top, left = middle(array.shape[axes[0]], array.shape[axes[1]], side)
    rows, columns = slice(top, top + side), slice(left, left + side)
    return array[rows, columns] if axes == (0, 1) else array[:, rows, columns]


def middle(height: int, width: int, side: int) -> Tuple[int, int]:
    """Return where the centre square starts.

    Raises:
        ValueError: it is larger than the picture; only Pillow would add a margin.
    """
    if side > min(height, width):
        message = "cannot crop a square of %d pixels from %d x %d" % (side, width, height)
        raise ValueError(message)
    return (height - side) // 2, (width - side) // 2


def by_pillow(wanted: Dict[str, Any]) -> Stages:
    """Return the stages after a decoder: Pillow finishes an array of grey, RGB or RGBA."""
    from PIL import Image

    resize = partial(pillow.resize, *pillow.aim(wanted))
    return [("convert", partial(to_image, Image)), ("resize", resize), *pillow.after_resize(wanted)]


def to_image(Image: Any, array: Any) -> Any:  # noqa: N803 (a module's name)
    return pillow.convert(Image.fromarray(array))


def contiguous(array: Any) -> Any:
    """Return the array in its own memory, as a tensor or a batch needs it."""
    import numpy as np

    return np.ascontiguousarray(array)
