"""Versions of Pillow that changed the pixels of an operation, and the changes between two versions. Pure."""

from collections.abc import Iterable
from datetime import date

from fastinstall.core.values import immutable
from fastinstall.core.version_numbers import base_version, parse_version_number


@immutable
class PixelChange:
    """A change in the pixels that one of Pillow's operations produces.

    Attributes:
        since: the first version of Pillow that produces the new pixels.
        summary: the operation and the size of the change, as part of a sentence.
        source: the wheels between which the change was measured, or the URL of a page.
        demonstration: one line of Python that prints different numbers before and after the change. The line may
            use `Image`, `ImageFilter`, `BytesIO` and `crc32`.
        dated: date of the information in this entry.
    """

    since: str
    summary: str
    source: str
    demonstration: str
    dated: date


def select_pixel_changes(changes: Iterable[PixelChange], one: str, other: str) -> tuple[PixelChange, ...]:
    """Return the pixel changes between two versions of Pillow, given in either order; the latest change comes first.

    >>> change = PixelChange(since="13.0.0", summary="", source="", demonstration="", dated=date(2026, 11, 29))
    >>> [len(select_pixel_changes([change], "12.3.0", other)) for other in ("13.0.0+simd.v3", "12.2.0")]
    [1, 0]
    """
    low, high = sorted(parse_version_number(base_version(each)) for each in (one, other))
    between = [each for each in changes if low < parse_version_number(each.since) <= high]
    return tuple(sorted(between, key=lambda each: parse_version_number(each.since), reverse=True))
