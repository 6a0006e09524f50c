"""Compare the pictures of two loaders, pixel by pixel, and recognise pictures that cannot show the same image. Pure."""

import operator
from collections.abc import Sequence

from fastinstall.bench.loading import Picture
from fastinstall.bench.report import Difference

_WRONG_LEVELS = 48
"""If the mean levels of two pictures differ by more than this, the pictures show different images.

Decoders, filters and colour profiles change the mean by only a few levels.
"""


def compare_pictures(reference: Sequence[Picture], other: Sequence[Picture]) -> Difference:
    """Compare pictures of the same images, channel by channel.

    Args:
        reference: the pictures that the baseline loaded.
        other: the pictures that a candidate loaded, in the same order.

    Raises:
        ValueError: the numbers of pictures differ.
    """
    total = highest = values = 0
    for one, another in zip(reference, other, strict=True):
        if one.shape != another.shape or len(one.data) != len(another.data):
            return Difference(mean=0.0, highest=0, images=len(reference), same_shape=False)
        values += len(one.data)
        if one.data != another.data:
            steps = bytes(map(abs, map(operator.sub, one.data, another.data)))
            total += sum(steps)
            highest = max(highest, max(steps))  # noqa: PLW3301 (unpacking `steps` would cost more than everything else)
    return Difference(mean=total / values if values else 0.0, highest=highest, images=len(reference))


def explain_wrong_picture(reference: Picture, other: Picture, *, is_same_pipeline: bool) -> str:
    """Explain why two pictures cannot show the same image; empty if they can, or if a result is not a picture.

    Args:
        reference: the picture that the baseline loaded.
        other: the picture that the candidate loaded.
        is_same_pipeline: whether both loaders resize and crop in the same way; False if one is the user's own.
    """
    if not len(reference.shape) > 1 < len(other.shape):
        return ""
    mean, other_mean = (sum(each.data) / len(each.data) for each in (reference, other))
    if len(set(other.data)) == 1 < len(set(reference.data)):
        return f"all of it has one colour ({other_mean:.0f}), Pillow's has the mean {mean:.0f}"
    if not is_same_pipeline:
        return ""
    sizes = sorted(reference.shape[:2]), sorted(other.shape[:2])  # a picture turned by its EXIF orientation is no error
    if any(abs(one - another) > 1 for one, another in zip(*sizes, strict=True)):
        shown, expected = (f"{each.shape[1]}x{each.shape[0]}" for each in (other, reference))
        return f"it has {shown} pixels, Pillow's {expected}"
    is_off = abs(mean - other_mean) > _WRONG_LEVELS
    return f"its mean is {other_mean:.0f}, Pillow's {mean:.0f}" if is_off else ""
