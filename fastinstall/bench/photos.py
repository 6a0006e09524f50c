"""Generate photos with the target's PIL, which are measured if the user names no images."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from fastinstall.bench.loading import start_target

WORKLOADS: Mapping[str, str] = {
    "500px": "500 px JPEG (generated)",
    "12mp": "12 MP JPEG (generated)",
    "png": "800 px PNG (generated)",
}
"""Titles of the workloads by name.

The pictures are 500 x 375 JPEG of quality 90, 4000 x 3000 JPEG of quality 92 (both 4:2:0), and 800 x 600 PNG.
"""
_MOST = {"500px": 2000, "12mp": 40, "png": 150}
"""Maximum numbers of photos, to protect the disk: about 100 MB each."""
_SECONDS = 60.0


def generate_photos(
    name: str,
    directory: Path,
    python: Path,
    variables: Mapping[str, str],
    count: int | None = None,
    *,
    site: Sequence[Path] = (),
) -> tuple[Path, ...]:
    """Generate the photos of a workload: 24 of "500px" (1.1 MB), 4 of "12mp" (9.4 MB), 12 of "png" (8 MB).

    The same PIL writes the same files every time, in 0.2 to 0.8 s per workload (measured 2026-11-22).

    Args:
        name: the workload, one of `WORKLOADS`.
        directory: an existing directory to write the photos to.
        python: path of the target's interpreter, which writes the photos.
        variables: the complete environment of the process.
        count: number of photos, limited to about 100 MB (2000, 40 or 150, by workload); None for the default number.
        site: directories for the front of `sys.path`, with another PIL.

    Raises:
        NotLoadedError: the interpreter has no PIL, or the process failed, died or hung.
    """
    number = min(count or 0, _MOST[name])
    with start_target(python, variables, site) as target:
        names = target.ask("_photos.write", _SECONDS, name=name, directory=str(directory), count=number)
    return tuple(directory / each for each in names)
