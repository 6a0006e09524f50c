"""What the fast build would bring for the images of a person, in sentences, by what was measured on like ones. Pure."""

from collections.abc import Iterator, Sequence
from statistics import median

from fastinstall.model.immutable import immutable
from fastinstall.rules.figures import LOADING, WHERE, Loading

_LARGE = 3.0


@immutable
class Sample:
    """Images that were looked at.

    Attributes:
        files: how many images were found.
        complete: whether all places were searched before the time for it was over.
        megapixels: of those whose size could be read, by format.
    """

    files: int
    complete: bool
    megapixels: dict[str, tuple[float, ...]]

    @property
    def read(self) -> int:
        """How many sizes could be read."""
        return sum(map(len, self.megapixels.values()))


def promise(sample: Sample) -> tuple[str, ...]:
    """What to expect: what the images are like, what helps with such, and how to know."""
    if not sample.files:
        return ("No images were found there.",)
    if not sample.read:
        return (f"{_found(sample)}; none of those looked at is a JPEG or PNG, for which there are figures.",)
    name = max(sample.megapixels, key=lambda each: len(sample.megapixels[each]))
    sizes = sample.megapixels[name]
    figures = like(name, median(sizes))
    return (
        f"{_found(sample)}; {len(sizes)} of {sample.read} looked at are {name}, {_size(sizes)}.",
        *_helps(figures),
        f"That was measured on {figures.kind} ({WHERE}); on your own: fastinstall bench DIR.",
    )


def like(name: str, megapixels: float) -> Loading:
    """The kind of images that stands for those of a format and a size."""
    return next(each for each in LOADING if each.format == name and megapixels < each.below)


def _helps(figures: Loading) -> Iterator[str]:
    if figures.draft is not None and figures.draft > figures.build:
        yield (
            f"Draft decoding, one line of code (image.draft), loaded such images {figures.draft:g} times as fast, "
            f"the fast build alone {figures.build:g} times."
        )
    else:
        yield f"The fast build loaded such images {figures.build:g} times as fast: decoded, resized and cropped."
    if figures.copies is not None and figures.copies > max(figures.build, figures.draft or 0.0) * _LARGE / 2:
        yield f"Copies that were resized once before loaded {figures.copies:g} times as fast, but are of one size."
    if figures.format == "JPEG":
        yield "Decoding a JPEG is libjpeg-turbo with every build; what is faster is what comes after it."


def _found(sample: Sample) -> str:
    return f"{sample.files}{'' if sample.complete else ' or more'} image{'s' * (sample.files != 1)} found"


def _size(sizes: Sequence[float]) -> str:
    middle = median(sizes)
    return f"typically of {middle:.1f} megapixels" if middle >= 1 else f"typically of {middle:.2f} megapixels"
