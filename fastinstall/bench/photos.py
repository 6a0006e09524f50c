"""Photos for a measurement where the user has named none: generated, by the target's own PIL, in a given directory."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from fastinstall.bench.loading import NotLoadedError, explain_end
from fastinstall.model.loading import Outcome
from fastinstall.system import process

WORKLOADS: Mapping[str, str] = {
    "500px": "500 px JPEG (generated)",
    "12mp": "12 MP JPEG (generated)",
    "png": "800 px PNG (generated)",
}
"""By name, for people. 500 x 375 JPEG of quality 90, 4000 x 3000 JPEG of quality 92, both 4:2:0, and 800 x 600 PNG."""

_MOST = {"500px": 2000, "12mp": 40, "png": 150}
"""A limit that fills nobody's disk: about 100 MB."""

_PROGRAM = Path(__file__).with_name("_photos.py")
_SECONDS = 60.0


def generate_photos(  # noqa: PLR0913 (which photos, where to, and by whose PIL)
    name: str,
    directory: Path,
    python: Path,
    variables: Mapping[str, str],
    count: int | None = None,
    *,
    site: Sequence[Path] = (),
) -> tuple[Path, ...]:
    """Make the photos of a workload: 24 of "500px" (1.1 MB), 4 of "12mp" (9.4 MB), 12 of "png" (8 MB).

    One PIL makes the same files every time, in 0.2 to 0.8 s a workload (measured 2026-11-22).

    Args:
        name: one of WORKLOADS.
        directory: where to write them; it is there.
        python: the target's interpreter.
        variables: the whole environment of the process.
        count: how many; None for the usual number; 2000, 40, 150 at most (100 MB).
        site: directories that go in front of the path, with another PIL.

    Raises:
        NotLoadedError: there is no PIL, it could not do it, it died, or it hung.
    """
    number = min(count or 0, _MOST[name])
    words: tuple[str | Path, ...] = (python, "-I", "-B", _PROGRAM, name, directory, str(number), *site)
    try:
        done = process.run(words, environment={**variables, "FASTINSTALL_GUARD": "0"}, timeout=_SECONDS)
    except process.CommandError as error:
        raise explain_end(error) from error
    answer = json.loads(done.stdout.strip().rpartition("\n")[2])
    if "missing" in answer:
        raise NotLoadedError(Outcome.MISSING, answer["missing"])
    if "error" in answer:
        raise NotLoadedError(Outcome.FAILED, answer["error"])
    return tuple(directory / each for each in answer["files"])
