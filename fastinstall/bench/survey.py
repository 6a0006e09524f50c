"""Find out which images can be measured: each is decoded once, in a process that it may kill."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fastinstall.bench.loading import converse, explain_end, refuse
from fastinstall.core import process
from fastinstall.core.values import immutable

_PROGRAM = Path(__file__).with_name("_survey.py")
_START_SECONDS = 30.0
_PATIENCE = 10.0


@immutable
class SurveyedImage:
    """An image, and whether it may be measured.

    Attributes:
        path: as it was given.
        format: Pillow's name, "JPEG" for phones' MPO pictures; empty if unknown.
        mode: Pillow's name of its samples; empty likewise.
        width: in pixels, as stored; the EXIF orientation is never applied.
        height: in pixels, as stored, like `width`.
        size_bytes: size of the file in bytes.
        reason: why it is not measured; empty if it may be. "unreadable", "not a file", "empty", "truncated", "corrupt",
            "not an image that Pillow knows", "CMYK", "I;16", "16 bits per channel", "several pictures", "too large",
            "vector graphics", "takes too long", "kills the decoder: SIGSEGV".
    """

    path: Path
    format: str = ""
    mode: str = ""
    width: int = 0
    height: int = 0
    size_bytes: int = 0
    reason: str = ""

    @property
    def megapixels(self) -> float:
        """Millions of pixels."""
        return self.width * self.height / 1e6


def judge_images(
    images: Sequence[Path],
    python: Path,
    variables: Mapping[str, str],
    site: Sequence[Path] = (),
    patience: float = _PATIENCE,
) -> tuple[SurveyedImage, ...]:
    """Decode each image once, in the target.

    An image that kills the process or takes too long is a result; another process continues.

    Args:
        images: files; anything else is reported, and not opened.
        python: path of the target's interpreter, which decodes.
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
            found.append(SurveyedImage(path=path, reason=reason))
    return tuple(found)


def _judge(images: Sequence[Path], found: list[SurveyedImage], talk: process.Conversation, patience: float) -> str:
    """Judge images until one ends the process; return how, or empty if none did."""
    for path in images[len(found) :]:
        try:
            answer: dict[str, Any] = json.loads(talk.ask(json.dumps(str(path)), patience))
        except process.CommandError as error:
            if error.timed_out:
                return "takes too long"
            return f"kills the decoder: {error.completed.signal_name or f'exit code {error.completed.exit_code}'}"
        found.append(SurveyedImage(path=path, **answer))
    return ""
