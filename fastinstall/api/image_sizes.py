"""The sizes of a few of somebody's images, within two seconds; headers are read, and nothing is decoded."""

from pathlib import Path

from fastinstall.bench.dimensions import read_dimensions
from fastinstall.bench.sampling import SearchBounds, find_images, spread_evenly
from fastinstall.rules.loading_promise import Sample

_BOUNDS = SearchBounds(entries=50_000, seconds=2.0)
_LOOKED_AT = 24


def sampled_sizes(place: Path) -> Sample:
    """Sizes of an even sample of the images below a place.

    Args:
        place: a directory, or one image.
    """
    found = find_images([place], _BOUNDS)
    sizes: dict[str, tuple[float, ...]] = {}
    for path in spread_evenly(found.images)[:_LOOKED_AT]:
        size = read_dimensions(path)
        if size is not None:
            sizes[size.format] = (*sizes.get(size.format, ()), size.megapixels)
    return Sample(files=len(found.images), complete=found.complete, megapixels=sizes)
