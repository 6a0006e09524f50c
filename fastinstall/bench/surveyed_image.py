"""An image that was found, as a survey knows it; its reader is `survey`."""

from pathlib import Path

from fastinstall.core.values import immutable


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
        reason: why it is not measured; empty if it may be. "unreadable", "not a file", "empty", "not an image",
            "truncated", "corrupt", "CMYK", "LAB", "16 bits per channel", "animated", "several pages", "too large",
            "too small", "vector graphics", "takes too long", "kills the decoder: SIGSEGV",
            "HEIC: Pillow reads it only with pillow-heif".
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
