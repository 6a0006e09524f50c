"""Measured figures that help to choose, as dated data; those of a recipe stand in its file. Pure.

They were measured on other images and another machine than the reader's, and whoever quotes them says so.
"""

from fastinstall.model.immutable import immutable

WHERE = "generated photos, 2 CPUs of an AMD EPYC virtual machine, 2026-11-22"
"""Of `LOADING`. Source: docs/explanation/performance.md, "What came of it", and for 1080p docs/explanation/speed.md."""


@immutable
class Loading:
    """How much faster images of one kind were loaded: decoded, resized to 256 pixels, cropped to 224.

    Attributes:
        kind: for people.
        format: "JPEG" or "PNG".
        below: megapixels up to which it stands for an image; infinite for the largest kind.
        build: times as fast with the fast build.
        draft: times as fast with `Image.draft`, or None if it does not apply.
        copies: times as fast from copies resized beforehand, or None if not measured.
        together: times as fast with the best of each kind; None likewise.
    """

    kind: str
    format: str
    below: float
    build: float
    draft: float | None = None
    copies: float | None = None
    together: float | None = None


LOADING = (
    Loading(kind="JPEG of 500 pixels", format="JPEG", below=1.0, build=1.9, copies=3.6),
    Loading(kind="JPEG of 1080p", format="JPEG", below=6.0, build=2.0),
    Loading(
        kind="JPEG of 12 megapixels",
        format="JPEG",
        below=float("inf"),
        build=1.3,
        draft=5.9,
        copies=220.0,
        together=6.6,
    ),
    Loading(kind="PNG of 800 pixels", format="PNG", below=float("inf"), build=1.3, copies=5.4, together=1.7),
)
