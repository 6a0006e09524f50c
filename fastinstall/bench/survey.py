"""Find out which images can be measured: each is decoded once, in a process that it may kill.

Also generates photos with the target's own PIL, if the user has named none.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fastinstall.bench.image_search import SurveyedImage
from fastinstall.bench.loading import converse, explain_end, refuse, run_program
from fastinstall.core import process

_PROGRAM = Path(__file__).with_name("_survey.py")
_START_SECONDS = 30.0
_PATIENCE = 20.0
_LEAST_PATIENCE = 2.5
_SLOW = "takes too long"


def judge_images(
    images: Sequence[Path],
    python: Path,
    variables: Mapping[str, str],
    site: Sequence[Path] = (),
    patience: float = _PATIENCE,
) -> tuple[SurveyedImage, ...]:
    """Decode each image once, in the target.

    An image that kills the process or takes too long is a result; another process continues. Each slow image halves the
    patience for the next ones, to 2.5 seconds at least.

    Args:
        images: files; anything else is reported, and not opened.
        python: the target's interpreter.
        variables: the complete environment of the process.
        site: directories for the front of the path, with another PIL.
        patience: seconds for an image.

    Raises:
        NotLoadedError: there is no PIL, or it cannot be imported.
    """
    found: list[SurveyedImage] = []
    while len(found) < len(images):
        with converse(_PROGRAM, python, variables, *site) as talk:
            try:
                refuse(json.loads(talk.listen(_START_SECONDS)))
            except process.CommandError as error:
                raise explain_end(error) from error
            reason = _judge(images, found, talk, patience)
        if reason:
            path = images[len(found)]
            found.append(SurveyedImage(path=path, size_bytes=_measure_size(path), reason=reason))
            patience = max(min(patience, _LEAST_PATIENCE), patience / 2) if reason == _SLOW else patience
    return tuple(found)


def _judge(images: Sequence[Path], found: list[SurveyedImage], talk: process.Conversation, patience: float) -> str:
    """Judge images until one ends the process; return how, or empty if none did."""
    for path in images[len(found) :]:
        try:
            answer: dict[str, Any] = json.loads(talk.ask(json.dumps(str(path)), patience))
        except process.CommandError as error:
            if error.timed_out:
                return _SLOW
            return f"kills the decoder: {error.completed.signal_name or f'exit code {error.completed.exit_code}'}"
        found.append(SurveyedImage(path=path, **answer))
    return ""


def _measure_size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


WORKLOADS: Mapping[str, str] = {
    "500px": "500 px JPEG (generated)",
    "12mp": "12 MP JPEG (generated)",
    "png": "800 px PNG (generated)",
}
"""Titles by name. 500 x 375 JPEG of quality 90, 4000 x 3000 JPEG of quality 92, both 4:2:0, and 800 x 600 PNG."""

_MOST = {"500px": 2000, "12mp": 40, "png": 150}
"""A limit that protects the disk: about 100 MB."""

_PHOTOS_PROGRAM = Path(__file__).with_name("_photos.py")
_SECONDS = 60.0


def generate_photos(  # noqa: PLR0913 (the photos, their place, and the PIL)
    name: str,
    directory: Path,
    python: Path,
    variables: Mapping[str, str],
    count: int | None = None,
    *,
    site: Sequence[Path] = (),
) -> tuple[Path, ...]:
    """Generate the photos of a workload: 24 of "500px" (1.1 MB), 4 of "12mp" (9.4 MB), 12 of "png" (8 MB).

    One PIL makes the same files every time, in 0.2 to 0.8 s per workload (measured 2026-11-22).

    Args:
        name: one of WORKLOADS.
        directory: the existing destination.
        python: the target's interpreter.
        variables: the complete environment of the process.
        count: number of photos; None for the default; 2000, 40, 150 at most (100 MB).
        site: directories for the front of the path, with another PIL.

    Raises:
        NotLoadedError: there is no PIL, it failed, died, or hung.
    """
    number = min(count or 0, _MOST[name])
    argv: tuple[str | Path, ...] = (python, _PHOTOS_PROGRAM, name, directory, str(number), *site)
    return tuple(directory / each for each in run_program(argv, variables, _SECONDS)["files"])
