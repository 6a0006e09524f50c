"""Images that are loaded, and what is done to each."""

from pathlib import PurePath

from fastinstall.model.immutable import immutable
from fastinstall.model.measured_machine import Filesystem


@immutable
class Pipeline:
    """What is done to every image.

    Attributes:
        shorter: length of the shorter side after the resize, in pixels.
        crop: side of the square that is cut out of the middle, in pixels; 0 cuts nothing.
        filter: of the resize: "bilinear", "bicubic", "lanczos".
    """

    shorter: int = 256
    crop: int = 224
    filter: str = "bilinear"


@immutable
class Unmeasured:
    """Images that were left out, for one reason.

    Attributes:
        reason: "truncated", "corrupt", "not an image", "unreadable", "CMYK", "16 bits a channel", "animated",
            "too large", "kills the decoder", ...
        count: how many.
        examples: some of their paths.
    """

    reason: str
    count: int
    examples: tuple[str, ...]


@immutable
class Workload:
    """The images that are loaded.

    Attributes:
        name: for people: "photos of ./train", "500 px JPEG (generated)".
        directory: where they lie.
        files: how many files were found, up to the bound of the search.
        images: how many of them are measured.
        formats: of the measured ones: "JPEG" to how many.
        mean_bytes: of a file.
        megapixels: of an image, mean.
        width: median, in pixels.
        height: median, in pixels.
        generated: whether they were made for the measurement.
        unmeasured: what was left out and why.
        filesystem: where they lie; None if unknown.
    """

    name: str
    directory: PurePath
    files: int
    images: int
    formats: dict[str, int]
    mean_bytes: int
    megapixels: float
    width: int
    height: int
    generated: bool = False
    unmeasured: tuple[Unmeasured, ...] = ()
    filesystem: Filesystem | None = None
