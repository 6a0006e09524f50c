"""The sizes of a few of somebody's images, within two seconds; headers are read, and nothing is decoded."""

from pathlib import Path

from fastinstall.bench.dimensions import dimensions
from fastinstall.bench.sampling import Bounds, find_images, spread
from fastinstall.rules.loading_promise import Sample

_BOUNDS = Bounds(entries=50_000, seconds=2.0)
_LOOKED_AT = 24


def sampled_sizes(place: Path) -> Sample:
    """Sizes of an even sample of the images below a place.

    Args:
        place: a directory, or one image.
    """
    found = find_images([place], _BOUNDS)
    sizes: dict[str, tuple[float, ...]] = {}
    for path in spread(found.images)[:_LOOKED_AT]:
        size = dimensions(path)
        if size is not None:
            sizes[size.format] = (*sizes.get(size.format, ()), size.megapixels)
    return Sample(files=len(found.images), complete=found.complete, megapixels=sizes)
